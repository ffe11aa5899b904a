package spec

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"regexp"
	"slices"
	"strings"
)

var (
	dnsLabel   = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$`)
	place      = regexp.MustCompile(`^(scsi|sata|ide|nvme)[0-9]{1,4}:[0-9]{1,4}$`)
	timeZone   = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_+-]{0,31}(/[A-Za-z0-9_+-]{1,32}){0,2}$`)
	thumbprint = regexp.MustCompile(`^[0-9a-f]{64}$`)
)

// Validate tells everything that is wrong with the document itself, each with the field's path. What only the source
// or the cluster can tell is left to the rules.
func (d Document) Validate() error {
	var v checker
	v.oneOf("apiVersion", d.APIVersion, APIVersion)
	v.oneOf("kind", d.Kind, Kind)
	v.need("metadata.name", d.Metadata.Name)
	s := d.Spec
	v.source(s.Source)
	v.destination(s.Destination)
	v.strategy(s.Strategy, s.Source, s.Destination)
	for i, m := range s.Storage.Mappings {
		at := fmt.Sprintf("spec.storage.mappings[%d].", i)
		v.need(at+"datastore", m.Datastore)
		v.need(at+"storageClassName", m.StorageClass)
		v.oneOf(at+"volumeMode", m.VolumeMode, "", "Block", "Filesystem")
		for _, a := range m.AccessModes {
			v.oneOf(at+"accessModes", a, "ReadWriteOnce", "ReadWriteMany", "ReadWriteOncePod")
		}
		if slices.ContainsFunc(s.Storage.Mappings[:i], func(o StorageMapping) bool { return o.Datastore == m.Datastore }) {
			v.say(at+"datastore", "%q is mapped twice", m.Datastore)
		}
	}
	for i, m := range s.Network.Mappings {
		v.network(fmt.Sprintf("spec.network.mappings[%d].", i), m)
		if slices.ContainsFunc(s.Network.Mappings[:i], func(o NetworkMapping) bool { return o.PortGroup == m.PortGroup }) {
			v.say(fmt.Sprintf("spec.network.mappings[%d].portGroup", i), "%q is mapped twice", m.PortGroup)
		}
	}
	v.validation(s.Validation)
	v.oneOf("spec.cleanupPolicy", s.CleanupPolicy, "", "DeleteStaging", "KeepStaging")
	for i, a := range s.Answers {
		at := fmt.Sprintf("spec.answers[%d].", i)
		v.need(at+"finding", a.Finding)
		v.need(at+"value", a.Value)
		v.oneOf(at+"answer", a.Answer, Accept, Fix)
		if a.Answer == Accept && a.Choice != "" {
			v.say(at+"choice", "is for the answer %s", Fix)
		}
		if slices.ContainsFunc(s.Answers[:i], func(o Answer) bool { return o.Finding == a.Finding && o.Value == a.Value }) {
			v.say(at+"finding", "%q is answered twice", a.Finding)
		}
	}
	return errors.Join(v.errs...)
}

type checker struct{ errs []error }

func (c *checker) say(field, format string, args ...any) {
	c.errs = append(c.errs, fmt.Errorf("%s: %s", field, fmt.Sprintf(format, args...)))
}

func (c *checker) need(field, value string) {
	if strings.TrimSpace(value) == "" {
		c.say(field, "is required")
	}
}

func (c *checker) oneOf(field, value string, allowed ...string) {
	if !slices.Contains(allowed, value) {
		names := slices.DeleteFunc(slices.Clone(allowed), func(s string) bool { return s == "" })
		c.say(field, "%q is not one of %s", value, strings.Join(names, ", "))
	}
}

func (c *checker) tls(field string, t TLS) {
	if t.CAFile != "" && t.Thumbprint != "" {
		c.say(field, "give caFile or thumbprint, not both")
	}
	if t.Thumbprint != "" && !thumbprint.MatchString(NormalThumbprint(t.Thumbprint)) {
		c.say(field+".thumbprint", "is not a SHA-256 fingerprint (64 hex digits)")
	}
}

// NormalThumbprint gives a fingerprint in lower case without colons.
func NormalThumbprint(s string) string {
	return strings.ToLower(strings.ReplaceAll(strings.TrimSpace(s), ":", ""))
}

func (c *checker) source(s Source) {
	c.oneOf("spec.source.type", s.Type, "", "vsphere")
	c.need("spec.source.address", s.Address)
	if strings.Contains(s.Address, "://") {
		u, err := url.Parse(s.Address)
		switch {
		case err != nil || u.Host == "":
			c.say("spec.source.address", "is not a host or an https URL")
		case u.User != nil:
			c.say("spec.source.address", "must not hold a user or password: use username and password.env, .file or .command")
		case u.Scheme != "https":
			c.say("spec.source.address", "%q is not https", u.Scheme)
		}
	}
	if s.VM.Zero() && s.VM.Name == "" {
		c.say("spec.source.vm", "give moref or instanceUUID, or a name that is unique")
	}
	if err := s.Password.Validate(); err != nil {
		c.say("spec.source.password", "%v", err)
	}
	c.tls("spec.source.tls", s.TLS)
	c.oneOf("spec.source.powerOffPolicy", string(s.PowerOffPolicy), "", string(GracefulThenAsk), string(Graceful), string(GracefulThenForce), string(Never))
	c.bounds("spec.source.shutdownTimeoutSeconds", s.ShutdownSeconds, 0, 86400)
	c.bounds("spec.source.maxConnections", s.MaxConnections, 0, 64)
	c.nbd("spec.source.nbd", s.NBD)
}

func (c *checker) bounds(field string, v, low, high int) {
	if v < low || v > high {
		c.say(field, "%d is not between %d and %d", v, low, high)
	}
}

func (c *checker) destination(d Destination) {
	if !dnsLabel.MatchString(d.Namespace) {
		c.say("spec.destination.namespace", "%q is not a namespace name", d.Namespace)
	}
	if d.VMName != "" && !dnsLabel.MatchString(d.VMName) {
		c.say("spec.destination.vmName", "%q is not a name of at most 63 lower-case letters, digits and dashes", d.VMName)
	}
	if d.BootDisk != "" && !place.MatchString(d.BootDisk) {
		c.say("spec.destination.bootDisk", "%q is not a place such as scsi0:0", d.BootDisk)
	}
	c.oneOf("spec.destination.runStrategy", d.RunStrategy, "", "Always", "RerunOnFailure", "Manual", "Once")
	c.oneOf("spec.destination.firmware", d.Firmware, "", "auto", "bios", "efi")
	if d.TimeZone != "" && !timeZone.MatchString(d.TimeZone) {
		c.say("spec.destination.timeZone", "%q is not a time zone such as Europe/Berlin", d.TimeZone)
	}
	c.tls("spec.destination.uploadProxy.tls", d.UploadProxy.TLS)
	if u := d.UploadProxy.URL; u != "" && !strings.HasPrefix(u, "https://") {
		c.say("spec.destination.uploadProxy.url", "%q is not an https URL", u)
	}
	if d.ServeAddress != "" {
		if _, _, err := net.SplitHostPort(d.ServeAddress); err != nil {
			c.say("spec.destination.serveAddress", "%q is not host:port", d.ServeAddress)
		}
	}
}

func (c *checker) strategy(s Strategy, src Source, dst Destination) {
	c.oneOf("spec.strategy.type", s.Type, "", "Cold", "Warm")
	c.warm(s)
	c.oneOf("spec.strategy.conversion", string(s.Conversion), "", string(ConvertNone), string(ConvertQemuImg), string(ConvertVirtV2V))
	if s.Conversion == ConvertVirtV2V {
		c.say("spec.strategy.conversion", "VirtV2V is not available yet: use None, or QemuImg, and prepare the guest's drivers before the migration")
	}
	c.oneOf("spec.strategy.delivery", string(s.Delivery), "", string(Upload), string(DeliverHTTP))
	c.oneOf("spec.strategy.verify", s.Verify, "", "fast", "proved")
	if s.RetryLimit != nil {
		c.bounds("spec.strategy.retryLimit", *s.RetryLimit, 0, 100)
	}
	if s.Throttle < 0 {
		c.say("spec.strategy.throttleBytesPerSecond", "must not be negative")
	}
	if s.Delivery == DeliverHTTP && dst.ServeAddress == "" {
		c.say("spec.destination.serveAddress", "is required for delivery HTTP: the address on which the cluster reaches this host")
	}
	if s.Delivery != DeliverHTTP && dst.ServeAddress != "" {
		c.say("spec.destination.serveAddress", "contradicts delivery %s: it is for delivery HTTP", orDefault(string(s.Delivery), "Upload"))
	}
	if src.PowerOffPolicy == Never && src.ShutdownSeconds != 0 {
		c.say("spec.source.shutdownTimeoutSeconds", "contradicts powerOffPolicy Never: nothing is shut down")
	}
}

func (c *checker) network(at string, m NetworkMapping) {
	c.need(at+"portGroup", m.PortGroup)
	c.oneOf(at+"type", m.Type, "Pod", "Multus")
	c.oneOf(at+"binding", m.Binding, "", "masquerade", "bridge")
	switch {
	case m.Type == "Multus" && m.Name == "":
		c.say(at+"name", "is required for Multus: the network attachment definition")
	case m.Type == "Pod" && m.Name != "":
		c.say(at+"name", "contradicts type Pod")
	case m.Type == "Multus" && m.Binding == "masquerade":
		c.say(at+"binding", "masquerade is for the pod network only")
	}
}

func (c *checker) validation(v Validation) {
	c.bounds("spec.validation.bootTimeoutSeconds", v.BootTimeoutSeconds, 0, 86400)
	for i, k := range v.Checks {
		at := fmt.Sprintf("spec.validation.checks[%d].", i)
		c.oneOf(at+"type", k.Type, "HTTP", "IP", "GuestAgent")
		if k.Type != "HTTP" && (k.Port != 0 || k.Path != "" || k.ExpectStatus != 0 || k.ExpectBodyContains != "") {
			c.say(at+"type", "port, path and expectations are for HTTP, not for %s", k.Type)
		}
		c.bounds(at+"port", k.Port, 0, 65535)
		if k.Path != "" && !strings.HasPrefix(k.Path, "/") {
			c.say(at+"path", "%q does not start with /", k.Path)
		}
	}
}

func orDefault(s, d string) string {
	if s == "" {
		return d
	}
	return s
}
