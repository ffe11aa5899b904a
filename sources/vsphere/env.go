package vsphere

import (
	"bufio"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"landfall/engine/fault"
	"landfall/engine/secret"
	"landfall/engine/spec"
)

// FromEnv reads the GOVC_* variables that operators have set for govc. Nothing set gives a zero Source. A password stays
// a reference to its variable: it is never read here. What would weaken the connection is refused with what to do
// instead, and never quietly ignored.
func FromEnv(lookup func(string) (string, bool)) (spec.Source, error) {
	s, err := fromEnv(lookup)
	if err != nil {
		return spec.Source{}, err
	}
	return s, nil
}

func fromEnv(lookup func(string) (string, bool)) (spec.Source, error) {
	get := func(name string) string { v, _ := lookup(name); return strings.TrimSpace(v) }
	var s spec.Source

	if v := get("GOVC_INSECURE"); v != "" {
		if on, err := strconv.ParseBool(v); err != nil || on {
			return s, fault.Hint(fault.Newf(fault.Blocked, fault.Refused, "GOVC_INSECURE is set: a connection that checks no certificate is not made"),
				"unset it, and pin the host's certificate instead by its SHA-256 thumbprint (spec.source.tls.thumbprint)")
		}
	}
	if raw := get("GOVC_URL"); raw != "" {
		address, user, err := splitUser(raw)
		if err != nil {
			return s, err
		}
		u, err := endpoint(address)
		if err != nil {
			return s, err
		}
		s.Type, s.Address, s.Username = "vsphere", u.Host, user
	}
	if user := get("GOVC_USERNAME"); user != "" {
		s.Username = user
	}
	if _, ok := lookup("GOVC_PASSWORD"); ok {
		s.Password = secret.Ref{Env: "GOVC_PASSWORD"}
	}
	if list := get("GOVC_TLS_CA_CERTS"); list != "" {
		files := filepath.SplitList(list)
		if len(files) > 1 {
			return s, fault.Hint(fault.Newf(fault.Blocked, fault.Refused, "GOVC_TLS_CA_CERTS names %d files", len(files)),
				"put the authorities' certificates into one file")
		}
		s.TLS.CAFile = files[0]
	}
	if list := get("GOVC_TLS_KNOWN_HOSTS"); list != "" && s.Address != "" && s.TLS.CAFile == "" {
		pin, err := knownHost(filepath.SplitList(list), s.Address)
		if err != nil {
			return s, err
		}
		s.TLS.Thumbprint = pin
	}
	return s, nil
}

// splitUser takes the user out of a GOVC_URL. No error repeats the text, for it may hold a password.
func splitUser(raw string) (address, user string, err error) {
	if !strings.Contains(raw, "://") {
		raw = "https://" + bracketed(raw)
	}
	u, err := url.Parse(raw)
	if err != nil {
		return "", "", fault.Hint(fault.Newf(fault.Blocked, fault.Refused, "GOVC_URL cannot be read as a host name or URL"),
			"write it as host or https://host, and the user in GOVC_USERNAME")
	}
	if _, ok := u.User.Password(); ok {
		return "", "", fault.Hint(fault.Newf(fault.Blocked, fault.Refused, "GOVC_URL holds a password"),
			"take it out of the URL and set GOVC_PASSWORD, or better a file or command for the password")
	}
	user = u.User.Username()
	u.User = nil
	return u.String(), user, nil
}

// knownHost finds the host's line ("host:port thumbprint") in govc's known-hosts files. No line is no pin.
func knownHost(files []string, host string) (string, error) {
	u, err := endpoint(host)
	if err != nil {
		return "", err
	}
	want := dialAddress(u)
	for _, name := range files {
		f, err := os.Open(filepath.Clean(name))
		if os.IsNotExist(err) {
			continue
		}
		if err != nil {
			return "", fault.New(fault.Blocked, fault.Refused, err)
		}
		lines := bufio.NewScanner(f)
		for lines.Scan() {
			at, pin, ok := strings.Cut(strings.TrimSpace(lines.Text()), " ")
			if !ok || !sameHost(at, want) {
				continue
			}
			_ = f.Close()
			pin = spec.NormalThumbprint(pin)
			if !isThumbprint(pin) {
				return "", fault.Hint(fault.Newf(fault.Blocked, fault.Refused, "%s pins %s by something that is not a SHA-256 thumbprint", name, host),
					"a SHA-1 thumbprint is no longer safe: write the SHA-256 one (64 hex digits), which is shown when connecting without a pin")
			}
			return pin, nil
		}
		err = lines.Err()
		_ = f.Close()
		if err != nil {
			return "", fault.New(fault.Blocked, fault.Refused, err)
		}
	}
	return "", nil
}

func sameHost(line, want string) bool {
	u, err := endpoint(line)
	return err == nil && dialAddress(u) == want
}
