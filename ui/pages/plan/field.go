package plan

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"landfall/engine/machine"
	"landfall/engine/spec"
	"landfall/ui/pages/draft"
)

// differs is shown where not all VMs have one value.
const differs = "(differs)"

// field is one row of the form: a value that all VMs that it concerns have together.
type field struct {
	label, help string
	unit        string // of a number, "" for none
	value       string // as it is shown, but for the unit
	typed       string // as it is typed
	options     []option
	get         func(spec.Spec) string
	set         func(*spec.Spec, string)
	check       func(string) string // why a value cannot be taken, ""
	concerns    func(*draft.Item) bool
}

type option struct{ value, effect string }

func (o option) String() string { return o.value }

var policies = []option{
	{string(spec.GracefulThenAsk), "the guest is shut down; if it does not in time, you are asked"},
	{string(spec.Graceful), "the guest is shut down, never by force"},
	{string(spec.GracefulThenForce), "the guest is shut down; if it does not in time, it is powered off hard"},
	{string(spec.Never), "the VM must be off already"},
}

var strategies = []option{
	{"Cold", "the VM is off while its disks are copied"},
	{"Warm", "the disks are copied while the VM runs, and what changed after it is off"},
}

var conversions = []option{
	{string(spec.ConvertNone), "disks are copied as they are"},
	{string(spec.ConvertQemuImg), "disks are read and written anew as QCOW2 by qemu-img of this host"},
}

var deliveries = []option{
	{string(spec.Upload), "this host sends the disks to CDI's upload proxy"},
	{string(spec.DeliverHTTP), "the cluster fetches the disks from this host: it needs an address that the cluster reaches"},
}

var proofs = []option{
	{"fast", "what was sent is proved by its digest as it is written"},
	{"proved", "what is in the cluster is read back and compared"},
}

var strategiesOfRunning = []option{
	{"Always", "the VM runs, and is started anew when it ends"}, {"RerunOnFailure", "the VM is started anew when it failed"},
	{"Manual", "it is started and stopped by a person"}, {"Halted", "it is not started"},
}

func anything(string) string { return "" }

func general() []field {
	return []field{
		{label: "namespace", help: "The namespace that the VMs go to.", check: required,
			get: func(s spec.Spec) string { return s.Destination.Namespace }, set: func(s *spec.Spec, v string) { s.Destination.Namespace = v }},
		{label: "strategy", help: "How the VMs are moved.", options: strategies,
			get: func(s spec.Spec) string { return s.Strategy.Type }, set: func(s *spec.Spec, v string) {
				if s.Strategy.Type = v; v != "Warm" {
					s.Strategy.Warm = spec.Warm{} // it contradicts every other strategy
				}
			}},
		{label: "power-off", help: "How far the engine may go to power a source off.", options: policies,
			get: func(s spec.Spec) string { return string(s.Source.PowerOffPolicy) }, set: func(s *spec.Spec, v string) {
				s.Source.PowerOffPolicy = spec.PowerPolicy(v)
				if s.Source.PowerOffPolicy == spec.Never {
					s.Source.ShutdownSeconds = 0 // it is for policies that shut down
				}
			}},
		{label: "shut down in", unit: "s", help: "Seconds that a guest may take to shut down.", check: number(0, 86400),
			get: func(s spec.Spec) string { return strconv.Itoa(s.Source.ShutdownSeconds) }, set: func(s *spec.Spec, v string) { s.Source.ShutdownSeconds, _ = strconv.Atoi(v) }},
		{label: "conversion", help: "What is done to the disks on the way.", options: conversions,
			get: func(s spec.Spec) string { return string(s.Strategy.Conversion) }, set: func(s *spec.Spec, v string) { s.Strategy.Conversion = spec.Conversion(v) }},
		{label: "delivery", help: "How the disks reach the cluster.", options: deliveries,
			get: func(s spec.Spec) string { return string(s.Strategy.Delivery) }, set: func(s *spec.Spec, v string) {
				if s.Strategy.Delivery = spec.Delivery(v); s.Strategy.Delivery != spec.DeliverHTTP {
					s.Destination.ServeAddress = "" // it contradicts every other delivery
				}
			}},
		{label: "serve on", help: "host:port on which the cluster reaches this host, for delivery HTTP.", check: anything,
			get: func(s spec.Spec) string { return s.Destination.ServeAddress }, set: func(s *spec.Spec, v string) { s.Destination.ServeAddress = v }},
		{label: "verify", help: "How the copies are proved.", options: proofs,
			get: func(s spec.Spec) string { return s.Strategy.Verify }, set: func(s *spec.Spec, v string) { s.Strategy.Verify = v }},
		{label: "run strategy", help: "How the VM is kept running in the cluster.", options: strategiesOfRunning,
			get: func(s spec.Spec) string { return s.Destination.RunStrategy }, set: func(s *spec.Spec, v string) { s.Destination.RunStrategy = v }},
		{label: "checks", help: "What must hold at the end, by commas: agent, IP, HTTP:port/path, HTTP:port/path=text. Empty: that it runs.", check: checkable,
			get: func(s spec.Spec) string { return checks(s.Validation) }, set: setChecks},
	}
}

// fields gives the form of a set. Mappings are asked for once for each datastore and network of all VMs.
func fields(set *draft.Set) []field {
	all := general()
	if slices.ContainsFunc(set.Items, func(it draft.Item) bool { return warm(&it) }) {
		all = append(all, follow()...)
	}
	stores, nets := distinct(set)
	for _, ds := range stores {
		all = append(all, storage(ds))
	}
	for _, n := range nets {
		all = append(all, network(n))
	}
	for i := range all {
		f := &all[i]
		if f.check == nil {
			f.check = anything
			if f.options != nil {
				f.check = f.oneOf
			}
		}
		first := true
		for n := range set.Items {
			it := &set.Items[n]
			if f.concerns != nil && !f.concerns(it) {
				continue
			}
			v := f.get(it.Document.Spec.Default())
			if first {
				f.value, first = v, false
			} else if f.value != v {
				f.value = differs
				break
			}
		}
		if f.typed = f.value; f.value == differs {
			f.typed = ""
		}
	}
	return slices.DeleteFunc(all, func(f field) bool { return f.label == "serve on" && f.value == "" && !delivers(set) })
}

// delivers tells whether a VM is fetched from this host.
func delivers(set *draft.Set) bool {
	return slices.ContainsFunc(set.Items, func(it draft.Item) bool { return it.Document.Spec.Strategy.Delivery == spec.DeliverHTTP })
}

func (f *field) oneOf(v string) string {
	if slices.ContainsFunc(f.options, func(o option) bool { return o.value == v }) {
		return ""
	}
	return "is one of " + fmt.Sprint(f.options)
}

func distinct(set *draft.Set) (stores []string, nets []machine.NIC) {
	seen := map[string]bool{}
	for i := range set.Items {
		vm := &set.Items[i].VM.VM
		for _, d := range vm.DiskList {
			if k := "d" + d.Datastore; !seen[k] {
				seen[k] = true
				stores = append(stores, d.Datastore)
			}
		}
		for _, n := range vm.NICs {
			if k := "n" + n.Network + "\x00" + n.NetworkID; n.Network+n.NetworkID != "" && !seen[k] {
				seen[k] = true
				nets = append(nets, n)
			}
		}
	}
	slices.Sort(stores)
	return stores, nets
}

func required(v string) string {
	if v == "" {
		return "is required"
	}
	return ""
}

func number(low, high int) func(string) string {
	return func(v string) string {
		if n, err := strconv.Atoi(v); err != nil || n < low || n > high {
			return fmt.Sprintf("is a number from %d to %d", low, high)
		}
		return ""
	}
}

func checks(v spec.Validation) string {
	var out []string
	if v.RequireGuestAgent {
		out = append(out, "agent")
	}
	for _, c := range v.Checks {
		s := c.Type
		if c.Port > 0 {
			s = fmt.Sprintf("%s:%d%s", c.Type, c.Port, c.Path)
		}
		if c.ExpectBodyContains != "" {
			s += "=" + c.ExpectBodyContains
		}
		out = append(out, s)
	}
	return strings.Join(out, ", ")
}

func checkable(v string) string {
	_, _, problem := parseChecks(v)
	return problem
}

func setChecks(s *spec.Spec, v string) {
	s.Validation.RequireGuestAgent, s.Validation.Checks, _ = parseChecks(v)
}

func parseChecks(v string) (agent bool, out []spec.Check, problem string) {
	for part := range strings.SplitSeq(v, ",") {
		part = strings.TrimSpace(part)
		kind, rest, addressed := strings.Cut(part, ":")
		switch strings.ToLower(kind) {
		case "":
		case "agent":
			agent = true
		case "guestagent":
			out = append(out, spec.Check{Type: "GuestAgent"})
		case "ip":
			out = append(out, spec.Check{Type: "IP"})
		case "http":
			at, text, _ := strings.Cut(rest, "=")
			port, path, _ := strings.Cut(at, "/")
			n, err := strconv.Atoi(port)
			if !addressed || err != nil || n < 1 || n > 65535 {
				return false, nil, part + " names no port"
			}
			out = append(out, spec.Check{Type: "HTTP", Port: n, Path: "/" + path, ExpectBodyContains: text})
		default:
			return false, nil, part + " is no check"
		}
	}
	return agent, out, ""
}
