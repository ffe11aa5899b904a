package vsphere_test

import (
	"context"
	"crypto/tls"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"landfall/engine/fault"
	"landfall/engine/machine"
	"landfall/engine/spec"
	"landfall/sources"
	"landfall/sources/esxsim"
	"landfall/sources/vsphere"
)

func probe(t *testing.T, src sources.Source, name string) sources.Capabilities {
	t.Helper()
	vm, err := src.Inspect(context.Background(), ref(t, src, name))
	if err != nil {
		t.Fatal(err)
	}
	c, err := src.(sources.Prober).Probe(context.Background(), vm)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestProbe(t *testing.T) {
	one := []esxsim.Disk{{Size: 1 << 20}}
	for _, c := range []struct {
		name   string
		config esxsim.Config
		vm     esxsim.VM
		check  func(*testing.T, sources.Capabilities)
	}{
		{"nothing is wrong", esxsim.Config{}, esxsim.VM{}, func(t *testing.T, c sources.Capabilities) {
			if len(c.Unknown)+len(c.Missing)+len(c.MissingWarm) > 0 || c.Maintenance || c.Status != "green" {
				t.Errorf("%+v", c)
			}
			if c.Certificate.Seen == "" || c.Certificate.Seen != c.Certificate.Wanted || c.Certificate.Failure != "" || !c.Certificate.Expires.After(time.Now()) {
				t.Errorf("%+v", c.Certificate)
			}
			if r := c.Readers[0]; r.Reader != "folder" || !r.Works || r.Said != "" {
				t.Errorf("%+v", r)
			}
			if c.Ports[0].Failure != "" || c.Taken.IsZero() {
				t.Errorf("%+v", c)
			}
		}},
		{"nothing is wrong, vCenter", esxsim.Config{VCenter: true}, esxsim.VM{}, func(t *testing.T, c sources.Capabilities) {
			if len(c.Unknown)+len(c.Missing)+len(c.MissingWarm) > 0 || c.Status != "green" || !c.Readers[0].Works {
				t.Errorf("%+v", c)
			}
		}},
		{"privileges missing", esxsim.Config{Denied: []string{"Datastore.FileManagement", "VApp.Export"}}, esxsim.VM{}, func(t *testing.T, c sources.Capabilities) {
			if len(c.Missing) != 1 || !strings.HasPrefix(c.Missing[0], "Datastore.FileManagement (to ") || len(c.MissingWarm) != 1 || !strings.HasPrefix(c.MissingWarm[0], "VApp.Export (to ") {
				t.Errorf("%q, %q", c.Missing, c.MissingWarm)
			}
		}},
		{"power is asked about only where the VM is on", esxsim.Config{Denied: []string{"VirtualMachine.Interact.PowerOff"}}, esxsim.VM{}, func(t *testing.T, c sources.Capabilities) {
			if len(c.Missing) > 0 {
				t.Errorf("%q", c.Missing)
			}
		}},
		{"power missing", esxsim.Config{Denied: []string{"VirtualMachine.Interact.PowerOff"}}, esxsim.VM{Power: esxsim.On}, func(t *testing.T, c sources.Capabilities) {
			if len(c.Missing) != 1 {
				t.Errorf("%q", c.Missing)
			}
			if r := c.Readers[0]; !r.Works || r.Said != "once the VM is off" {
				t.Errorf("%+v", r)
			}
		}},
		{"privilege that the endpoint does not know", esxsim.Config{UnknownPrivileges: []string{"VApp.Export"}}, esxsim.VM{}, func(t *testing.T, c sources.Capabilities) {
			if why := c.Unknown[sources.KnownPrivileges]; !strings.Contains(why, "does not know VApp.Export") {
				t.Errorf("%q, %q", why, c.Missing)
			}
		}},
		{"host in maintenance", esxsim.Config{Host: esxsim.HostState{Maintenance: true, Status: "yellow", Issues: []string{"SSH is enabled"}}}, esxsim.VM{}, func(t *testing.T, c sources.Capabilities) {
			if !c.Maintenance || c.Status != "yellow" || !slices.Equal(c.StatusWhy, []string{"SSH is enabled"}) {
				t.Errorf("%+v", c)
			}
		}},
		{"room", esxsim.Config{Datastores: []esxsim.Datastore{{Name: "a/b", Capacity: 10 << 20, Taken: 9 << 20}}}, esxsim.VM{Disks: []esxsim.Disk{}}, func(t *testing.T, c sources.Capabilities) {
			if free, ok := c.Room["a/b"]; !ok || free > 1<<20 || free < 1<<19 {
				t.Errorf("%v", c.Room)
			}
		}},
		{"chain", esxsim.Config{}, esxsim.VM{Snapshots: []esxsim.Snapshot{{Name: "old"}}}, func(t *testing.T, c sources.Capabilities) {
			if r := c.Readers[0]; r.Works || !strings.Contains(r.Said, "delta on another disk") {
				t.Errorf("%+v", r)
			}
			if r := c.Readers[1]; r.Reader != "export" || !r.Warm {
				t.Errorf("%+v", r)
			}
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.vm.Name = "web"
			if c.vm.Disks == nil {
				c.vm.Disks = one
			}
			c.config.VMs = []esxsim.VM{c.vm}
			sim, doc := start(t, c.config)
			src := dial(t, doc, vsphere.Options{})
			vm, err := src.Inspect(context.Background(), ref(t, src, "web"))
			if err != nil {
				t.Fatal(err)
			}
			before := changes(sim.Counters())
			got, err := src.(sources.Prober).Probe(context.Background(), vm)
			if err != nil {
				t.Fatal(err)
			}
			if n := changes(sim.Counters()); n != before {
				t.Errorf("the probe made %d calls that are no look: %v", n-before, sim.Counters().Calls)
			}
			c.check(t, got)
		})
	}
}

func TestProbePartThatFails(t *testing.T) {
	sim, doc := start(t, esxsim.Config{VMs: []esxsim.VM{{Name: "web", Disks: []esxsim.Disk{{Size: 1 << 20}}}}})
	src := dial(t, doc, vsphere.Options{})
	if err := sim.FailSOAP(esxsim.SOAPFault{Method: "HasPrivilegeOnEntities", Fault: "GenericVmConfigFault"}); err != nil {
		t.Fatal(err)
	}
	c := probe(t, src, "web")
	if len(c.Unknown) != 1 || c.Unknown[sources.KnownPrivileges] == "" || len(c.Missing) > 0 || !c.Readers[0].Works {
		t.Errorf("%+v", c)
	}
}

// What nothing that is used needs may be closed; what is needed may not.
func TestProbePorts(t *testing.T) {
	_, doc := start(t, esxsim.Config{VMs: []esxsim.VM{{Name: "web", Disks: []esxsim.Disk{{Size: 1 << 20}}}}})
	c := probe(t, dial(t, doc, vsphere.Options{}), "web")
	for _, p := range c.Ports {
		conn, err := net.DialTimeout("tcp", p.Address, time.Second)
		if err == nil {
			_ = conn.Close()
		}
		needed := p.Address == doc.Address
		if (err == nil) != (p.Failure == "" && p.Closed == "") || p.Failure != "" && !needed {
			t.Errorf("%+v, dialled: %v", p, err)
		}
	}
	if len(c.Ports) != 3 {
		t.Errorf("%+v", c.Ports)
	}
}

func TestProbeGone(t *testing.T) {
	_, doc := start(t, esxsim.Config{})
	src := dial(t, doc, vsphere.Options{})
	_, err := src.(sources.Prober).Probe(context.Background(), machine.VM{Summary: machine.Summary{Ref: machine.Ref{MoRef: "vm-9"}}})
	expect(t, err, fault.Blocked, fault.NotFound)
}

// An endpoint that is replaced by another while the session's connections live on.
func TestProbeCertificateThatChanged(t *testing.T) {
	sim, doc := start(t, esxsim.Config{VMs: []esxsim.VM{{Name: "web", Disks: []esxsim.Disk{{Size: 1 << 20}}}}})
	src := dial(t, doc, vsphere.Options{})
	vm, err := src.Inspect(context.Background(), ref(t, src, "web"))
	if err != nil {
		t.Fatal(err)
	}
	old := spec.NormalThumbprint(doc.TLS.Thumbprint)
	if err := sim.SwapCertificate(); err != nil {
		t.Fatal(err)
	}
	c, _ := src.(sources.Prober).Probe(context.Background(), vm)
	if c.Certificate.Failure == "" || c.Certificate.Seen == old || c.Certificate.Wanted != old {
		t.Errorf("%+v", c.Certificate)
	}
	conn, err := tls.DialWithDialer(&net.Dialer{Timeout: 5 * time.Second}, "tcp", sim.URL().Host, &tls.Config{InsecureSkipVerify: true})
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if seen := vsphere.Thumbprint(conn.ConnectionState().PeerCertificates[0]); seen != c.Certificate.Seen {
		t.Errorf("%s, shown %s", c.Certificate.Seen, seen)
	}
}

func TestWhatBindsToTheHost(t *testing.T) {
	for _, c := range []struct {
		name   string
		config esxsim.Config
		vm     esxsim.VM
		auto   bool
		pinned []string
		models []string
	}{
		{"nothing", esxsim.Config{}, esxsim.VM{NICs: []esxsim.NIC{{}}}, false, nil, []string{"vmxnet3"}},
		{"started with the host", esxsim.Config{}, esxsim.VM{Autostart: true}, true, nil, nil},
		{"kept on hosts by a rule", esxsim.Config{VCenter: true}, esxsim.VM{HostRule: "licensed"}, false, []string{"host rule licensed"}, nil},
		{"no rule of the cluster's", esxsim.Config{VCenter: true}, esxsim.VM{}, false, nil, nil},
		{"cards of the host", esxsim.Config{}, esxsim.VM{NICs: []esxsim.NIC{{Model: "sriov"}, {Direct: true}, {}}}, false, nil, []string{"sriov", "passthrough", "vmxnet3"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.vm.Name = "web"
			c.config.VMs = []esxsim.VM{c.vm, {Name: "other", Autostart: false}}
			_, doc := start(t, c.config)
			src := dial(t, doc, vsphere.Options{})
			vm, err := src.Inspect(context.Background(), ref(t, src, "web"))
			if err != nil {
				t.Fatal(err)
			}
			var models []string
			for _, n := range vm.NICs {
				models = append(models, n.Model)
			}
			if vm.Autostart != c.auto || !slices.Equal(vm.Pinned, c.pinned) || !slices.Equal(models, c.models) {
				t.Errorf("autostart %v, pinned %q, cards %q", vm.Autostart, vm.Pinned, models)
			}
		})
	}
}
