package preflight_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"landfall/engine/machine"
	"landfall/engine/preflight"
	"landfall/engine/spec"
	"landfall/sources"
	"landfall/targets"
)

// fromTheField are situations that people met with tools of this kind, and what must be said of each.
var fromTheField = []struct {
	what  string
	facts func(*preflight.Facts)
	says  string   // rule, level and subject of a finding, "" for a pass
	words []string // in what was found
	not   []string // rules that must say nothing
}{
	// Names.
	{what: "a name with upper case and spaces is changed, and that is shown", facts: func(f *preflight.Facts) { f.VM.Name, f.Name = "Web Server", "web-server" },
		says: "target.name.changed Info vm", words: []string{`"Web Server" becomes "web-server"`}},
	{what: "three names that become one", facts: func(f *preflight.Facts) {
		for i, n := range []string{"Web_01", "web 01"} {
			besides(func(p *preflight.Planned) { p.VM.Name, p.VM.Ref.MoRef = n, fmt.Sprint("vm-", i+2) })(f)
		}
	}, says: "target.name.collision Blocker target", words: []string{"Web_01", "also becomes web"}},
	{what: "the rendered name is taken, whatever the raw one is", facts: both(func(f *preflight.Facts) { f.VM.Name, f.Name = "WEB", "web" }, target(func(f *targets.Facts) { f.NameTaken = "virtualmachine web" })),
		says: "target.name.taken Blocker target", words: []string{"virtualmachine web exists"}},
	{what: "a VM without a name", facts: vm(func(v *machine.VM) { v.Name = "" }), says: "vm.name.missing Blocker vm"},
	{what: "two VMs share a BIOS UUID: each is known by its own id", facts: neighbour(func(v *machine.VM) { v.BIOSUUID = "42AB" }), says: "vm.duplicate.uuid Warning vm", words: []string{"vm-9"}, not: []string{"vm.name.missing"}},
	// Disks.
	{what: "a disk of size 0 is named", facts: disk(func(d *machine.Disk) { d.Capacity, d.Unit = 0, 3 }), says: "disk.capacity.invalid Blocker disk 0 (scsi0:3)", words: []string{"capacity 0"}},
	{what: "a disk without a datastore", facts: disk(func(d *machine.Disk) { d.Datastore, d.Path = "", "" }), says: "disk.datastore.missing Blocker disk 0 (scsi0:0)"},
	{what: "disks on SCSI and SATA: nobody knows which is booted", facts: twoControllers, says: "disk.boot Decision vm", words: []string{"scsi0:0, sata0:0"}},
	{what: "a size that is no whole MiB is rounded up", facts: disk(func(d *machine.Disk) { d.Capacity += 512 }), says: "disk.size.align Info disk 0 (scsi0:0)"},
	{what: "a small disk on a file system gets room for it", facts: both(room("Filesystem", 0.15, 1<<40, none), disk(func(d *machine.Disk) { d.Capacity = 1 << 30 })), says: "storage.overhead Info disk 0 (scsi0:0)"},
	{what: "scratch space does not fit beside the image", facts: both(room("Block", 0, 1<<40, 15<<30), func(f *preflight.Facts) { f.Spec.Strategy.Delivery = spec.DeliverHTTP }), says: "storage.capacity Blocker quota", words: []string{"20.0 GiB is needed"}},
	{what: "a disk that another VM has too, without any flag", facts: neighbour(func(v *machine.VM) { v.DiskList = []machine.Disk{{Path: "[ds1] web/web.vmdk"}} }), says: "disk.shared Blocker disk 0 (scsi0:0)", words: []string{`"db"`}},
	{what: "a delta is left although there are no snapshots", facts: both(vm(func(v *machine.VM) { v.Consolidate = true }), disk(func(d *machine.Disk) { d.Parent, d.Path = true, "[ds1] web/web-000001.vmdk" })),
		says: "source.reader Blocker disk 0 (scsi0:0)", words: []string{"web-000001.vmdk"}},
	{what: "a backing that nobody knows is named, not dropped", facts: disk(func(d *machine.Disk) { d.Backing, d.BackingRaw = machine.BackingUnknown, "LocalPMem" }), says: "disk.backing.unknown Blocker disk 0 (scsi0:0)", words: []string{"LocalPMem"}},
	{what: "a disk whose controller is not in the list", facts: disk(func(d *machine.Disk) { d.Bus = machine.BusUnknown }), says: "disk.controller.unknown Blocker disk 0 (unknown0:0)"},
	{what: "a VM without disks", facts: vm(func(v *machine.VM) { v.DiskList = nil }), says: "disk.none Blocker vm"},
	// Change tracking and snapshots.
	{what: "tracking is set and the VM was not stunned since", facts: both(warm, disk(func(d *machine.Disk) { d.ChangeID = "*" })), says: "disk.cbt.off Decision disk 0 (scsi0:0)"},
	{what: "tracking is off on one of two disks", facts: both(warm, both(disks(2), vm(func(v *machine.VM) { v.DiskList[1].Unit, v.DiskList[1].ChangeID = 1, "" }))), says: "disk.cbt.off Decision disk 1 (scsi0:1)"},
	{what: "hardware version 4 has no tracking", facts: both(warm, vm(func(v *machine.VM) { v.HardwareVersion = 4 })), says: "disk.cbt.hardware Blocker vm"},
	{what: "snapshots are counted before a warm start", facts: both(warm, vm(func(v *machine.VM) { v.SnapshotNames = []string{"a", "b", "c"} })), says: "vm.snapshot Blocker vm", words: []string{"3 snapshots: a, b, c"}},
	{what: "a datastore without room for the delta", facts: both(warm, probe(func(c *sources.Capabilities) { c.Room["ds1"] = 1 << 20 })), says: "source.space.snapshot Warning datastore ds1"},
	// Power.
	{what: "open-vm-tools that run are tools that run", facts: tools(machine.ToolsRunning), not: []string{"vm.tools.missing"}},
	{what: "a VM that is off and has no address may be moved", facts: both(poweredOff, vm(func(v *machine.VM) { v.Addresses, v.HostName, v.Tools = nil, "", machine.ToolsNotRunning })), not: []string{"vm.ip.missing", "vm.tools.missing", "vm.hostname.empty"}},
	{what: "a VM that waits on a question", facts: vm(func(v *machine.VM) { v.Question = "msg.uuid.altered: moved or copied?" }), says: "vm.question Blocker vm", words: []string{"moved or copied?"}},
	// Network.
	{what: "an opaque network without a name is an explicit row", facts: nic(func(n *machine.NIC) { n.Network, n.NetworkID = "", "opaque-7" }), says: "nic.unmapped Blocker nic 0", words: []string{"opaque-7"}},
	{what: "a card without network is an explicit row", facts: nic(func(n *machine.NIC) { n.Network, n.NetworkID = "", "" }), says: "nic.nonetwork Decision nic 0"},
	{what: "two cards on the pod network", facts: second(machine.NIC{Network: "DMZ", MAC: "00:50:56:aa:00:02", StartConnected: true}, spec.NetworkMapping{PortGroup: "DMZ", Type: "Pod", Binding: "masquerade"}), says: "nic.pod.multiple Blocker nic 1"},
	{what: "a card that is not connected at power on", facts: nic(func(n *machine.NIC) { n.StartConnected = false }), says: "nic.disconnected Info nic 0"},
	{what: "two cards with one hardware address", facts: both(multus("lan", map[string]bool{"vms/lan": true}), second(machine.NIC{Network: "DMZ", MAC: "00:50:56:AA:00:01", StartConnected: true}, spec.NetworkMapping{PortGroup: "DMZ", Type: "Pod", Binding: "masquerade"})),
		says: "nic.mac.conflict Blocker nic 1", words: []string{"nic 0 of this VM"}},
	{what: "several static addresses on one card are said one by one", facts: nic(func(n *machine.NIC) { n.Addresses = []string{"192.0.2.7", "192.0.2.8", "2001:db8::7"} }), says: "ip.static.lost Warning nic 0", words: []string{"192.0.2.7, 192.0.2.8, 2001:db8::7"}},
	{what: "a Linux guest's interface gets another name", facts: guest("debian12_64Guest"), says: "nic.rename Warning vm"},
	{what: "the source's address lies among the services", facts: both(sourceAt("10.96.0.20"), target(func(f *targets.Facts) { f.Ranges.Services = []string{"10.96.0.0/12"} })), says: "net.overlap Warning source, services 10.96.0.0/12"},
	// Processors and firmware.
	{what: "6 vCPU at 4 cores per socket", facts: vm(func(v *machine.VM) { v.CPUs, v.CoresPerSocket = 6, 4 }), says: "vm.cpu.topology Warning vm", words: []string{"6 sockets of one core"}},
	{what: "8 vCPU on one socket stay as they are", facts: vm(func(v *machine.VM) { v.CPUs, v.CoresPerSocket = 8, 8 }), not: []string{"vm.cpu.topology"}},
	{what: "the contents of a vTPM are lost", facts: vm(func(v *machine.VM) { v.TPM = true }), says: "vm.tpm Decision vm"},
	{what: "an encrypted VM", facts: vm(func(v *machine.VM) { v.Encrypted = true }), says: "vm.encrypted Blocker vm"},
	// The source and the cluster.
	{what: "a free ESXi, with the VM on", facts: func(f *preflight.Facts) {
		f.Source.ReadOnly = "the free licence prohibits changes by the API"
	}, says: "source.license Blocker source", words: []string{"free licence"}},
	{what: "a privilege that is missing is named", facts: probe(func(c *sources.Capabilities) { c.Missing = []string{"VirtualMachine.Interact.PowerOff"} }), says: "source.privileges Blocker source", words: []string{"VirtualMachine.Interact.PowerOff"}},
	{what: "port 902 of the host is closed", facts: probe(func(c *sources.Capabilities) {
		c.Ports = append(c.Ports, sources.Port{Address: "esx1:902", For: "reader export", Failure: "connection refused"})
	}), says: "source.ports Blocker source, esx1:902"},
	{what: "the certificate changed: both are shown", facts: probe(func(c *sources.Capabilities) {
		c.Certificate = sources.Certificate{Seen: "aa11", Wanted: "bb22", Failure: "it is another than the pinned one"}
	}), says: "source.certificate Blocker source", words: []string{"aa11", "bb22"}},
	{what: "no reader reads the disk, and each says why", facts: both(disk(func(d *machine.Disk) { d.Parent = true }), probe(func(c *sources.Capabilities) {
		c.Readers = []sources.Reading{{Disk: 2000, Reader: "folder", Said: "a chain of files"}, {Disk: 2000, Reader: "export", Said: "the licence forbids it"}}
	})), says: "source.reader Blocker disk 0 (scsi0:0)", words: []string{"folder: a chain", "export: the licence"}},
	{what: "the cluster's own agent VM", facts: vm(func(v *machine.VM) { v.Agent = true }), says: "vm.agent.vcls Blocker vm"},
	{what: "a VM without configuration", facts: vm(func(v *machine.VM) { *v = machine.VM{Summary: machine.Summary{Ref: v.Ref, Connection: "invalid"}} }), says: "vm.connection Blocker vm", words: []string{"invalid"}},
	{what: "a class that waits for its first consumer", facts: class(func(c *targets.StorageClass) { c.WaitForFirstConsumer = true }), says: "storage.wffc Info class fast"},
	{what: "no node has KVM", facts: target(func(f *targets.Facts) { f.KVMNodes = 0 }), says: "target.kvm Decision target"},
	{what: "a guest's root has no room for a conversion", facts: both(guestDisk("/", 20<<20), converts(spec.ConvertVirtV2V, nil)), says: "disk.guest.freespace Decision guest /"},
}

func TestSituationsFromTheField(t *testing.T) {
	for _, c := range fromTheField {
		t.Run(c.what, func(t *testing.T) {
			f := good()
			c.facts(&f)
			var said []string
			found := false
			for _, h := range preflight.Evaluate(f) {
				line := fmt.Sprintf("%s %s %s", h.Rule, h.Level, h.Subject)
				said = append(said, line+": "+h.Found)
				if line == c.says {
					found = true
					for _, w := range c.words {
						if !strings.Contains(h.Found, w) {
							t.Errorf("%q is not in %q", w, h.Found)
						}
					}
				}
				if slices.Contains(c.not, h.Rule) {
					t.Errorf("said: %s", said[len(said)-1])
				}
			}
			if c.says != "" && !found {
				t.Errorf("not said: %s; but %q", c.says, said)
			}
		})
	}
}

// TestCyclicSharing has three VMs of which each shares a disk with the next: every one of the three is stopped.
func TestCyclicSharing(t *testing.T) {
	var plan []preflight.Planned
	for i := range 3 {
		f := good()
		f.VM.Ref.MoRef, f.VM.NICs = fmt.Sprint("vm-", i), nil
		f.VM.DiskList = []machine.Disk{{Path: fmt.Sprintf("[ds1] s/%d.vmdk", i)}, {Unit: 1, Path: fmt.Sprintf("[ds1] s/%d.vmdk", (i+1)%3)}}
		plan = append(plan, preflight.Planned{VM: f.VM, Spec: f.Spec, Name: fmt.Sprint("web-", i)})
	}
	for i, fs := range preflight.Together(plan) {
		if n := len(fs); n != 2 || fs[0].Rule != "disk.shared" || fs[1].Rule != "disk.shared" || fs[0].Level != preflight.Blocker {
			t.Errorf("VM %d: %+v", i, fs)
		}
	}
}

// TestNoTwoVMsOfAPlanShareAnything draws plans, takes the remedies that are offered, and holds that what is left without a
// finding shares no name, no volume and no hardware address.
func TestNoTwoVMsOfAPlanShareAnything(t *testing.T) {
	rnd := rand.New(rand.NewPCG(7, 7))
	names := []string{"web", "WEB", "Web_01", "web 01", "WEB-01", "服务器", "...", strings.Repeat("a", 70), strings.Repeat("a", 69) + "b", "web-01-disk-0"}
	for range 300 {
		var plan []preflight.Planned
		for i := range 2 + rnd.IntN(6) {
			v := machine.VM{Summary: machine.Summary{Name: names[rnd.IntN(len(names))], Ref: machine.Ref{MoRef: fmt.Sprint("vm-", i), InstanceUUID: fmt.Sprintf("52e0f3a%d-0000", i)}}}
			for d := range 1 + rnd.IntN(3) {
				v.DiskList = append(v.DiskList, machine.Disk{Key: int32(2000 + d), Path: fmt.Sprintf("[ds] %d/%d.vmdk", i, d)})
			}
			v.NICs = []machine.NIC{{Network: "n", MAC: fmt.Sprintf("00:50:56:00:00:%02X", rnd.IntN(12))}}
			s := spec.Spec{Destination: spec.Destination{Namespace: "vms"}, Network: spec.Network{Mappings: []spec.NetworkMapping{{PortGroup: "n", Type: "Pod"}}}}.Default()
			plan = append(plan, preflight.Planned{VM: v, Spec: s, Name: targets.VMName(v, s)})
		}
		for i := range plan { // each in turn, as people do
			for _, f := range preflight.Together(plan)[i] {
				if f.Remedy != nil && f.Remedy.ID == preflight.TakeName {
					plan[i].Spec.Destination.VMName = f.Remedy.Choices[0]
					plan[i].Name = targets.VMName(plan[i].VM, plan[i].Spec)
				}
			}
		}
		blocked := map[int]bool{}
		for i, fs := range preflight.Together(plan) {
			for _, f := range fs {
				if f.Rule == "target.name.collision" {
					t.Fatalf("%q still collides after its remedy: %+v", plan[i].Name, f)
				}
				blocked[i] = blocked[i] || f.Level == preflight.Blocker
			}
		}
		var list []targets.Names
		for i, p := range plan {
			if !blocked[i] {
				list = append(list, targets.NamesOf(p.VM, p.Spec))
			}
		}
		for _, c := range targets.Collisions(list) {
			t.Fatalf("nothing was said of %s %s, which %d VMs take: %+v", c.Kind, c.Value, len(c.VMs), list)
		}
	}
}
