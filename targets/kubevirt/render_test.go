package kubevirt

import (
	"flag"
	"strings"
	"testing"

	"landfall/engine/fault"
	"landfall/engine/machine"
	"landfall/engine/spec"
	"landfall/targets"
)

var update = flag.Bool("update", false, "write the golden files anew")

const gib = 1 << 30

// plain is a Linux VM with one disk and one NIC, as most are.
func plain() targets.Input {
	keep := true
	return targets.Input{
		Owner: targets.Owner{UID: "0197b3c4-7d11-7abc-8def-001122334455", Name: "web", Namespace: "vms"},
		Spec: spec.Spec{
			Destination:        spec.Destination{Namespace: "vms", Firmware: "auto", RunStrategy: "Always"},
			Strategy:           spec.Strategy{Conversion: spec.ConvertNone, Delivery: spec.Upload},
			PreserveMACAddress: &keep,
			Storage: spec.Storage{Mappings: []spec.StorageMapping{
				{Datastore: "datastore1", StorageClass: "fast"}, {Datastore: "nfs", StorageClass: "files"},
			}},
			Network: spec.Network{Mappings: []spec.NetworkMapping{
				{PortGroup: "VM Network", Type: "Pod", Binding: "masquerade"},
				{PortGroup: "Backup", Type: "Multus", Name: "infra/backup", Binding: "bridge"},
			}},
		},
		VM: machine.VM{
			Summary: machine.Summary{
				Ref:  machine.Ref{MoRef: "vm-42", InstanceUUID: "52e0f3a1-9c4b-11aa-2233-445566778899"},
				Name: "Web_01", GuestID: "debian12_64Guest", CPUs: 4, MemoryMiB: 4096,
			},
			BIOSUUID: "423EFD65-a73d-e159-a56d-dd25289f8b0c", CoresPerSocket: 2, Firmware: "bios",
			DiskList: []machine.Disk{{
				Key: 2000, Bus: machine.SCSI, Capacity: 10 * gib, Datastore: "datastore1", UUID: "6000C29a-1b2c-3d4e-5f60-718293a4b5c6",
			}},
			NICs: []machine.NIC{{Key: 4000, Label: "Network adapter 1", MAC: "00:50:56:AA:BB:CC", Network: "VM Network", StartConnected: true}},
		},
		Classes: map[string]targets.StorageClass{
			"fast":  {VolumeMode: "Block", AccessModes: []string{"ReadWriteMany"}},
			"files": {VolumeMode: "Filesystem", AccessModes: []string{"ReadWriteOnce"}, Overhead: 0.06, WaitForFirstConsumer: true},
		},
		Digests: []string{"sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"},
	}
}

func TestRenderRefuses(t *testing.T) {
	for _, c := range []struct {
		what   string
		change func(*targets.Input)
		words  string
	}{
		{"no UID", func(in *targets.Input) { in.Owner.UID = "" }, "UID"},
		{"UID no label", func(in *targets.Input) { in.Owner.UID = "a b" }, "label"},
		{"no CPUs", func(in *targets.Input) { in.VM.CPUs = 0 }, "0 CPUs"},
		{"empty disk", func(in *targets.Input) { in.VM.DiskList[0].Capacity = 0 }, "scsi0:0"},
		{"datastore without class", func(in *targets.Input) { in.VM.DiskList[0].Datastore = "other" }, `"other"`},
		{"network without mapping", func(in *targets.Input) { in.VM.NICs[0].Network = "DMZ" }, `"DMZ"`},
		{"overhead of everything", func(in *targets.Input) {
			in.Classes["fast"] = targets.StorageClass{VolumeMode: "Filesystem", Overhead: 1}
		}, "overhead"},
	} {
		t.Run(c.what, func(t *testing.T) {
			in := plain()
			c.change(&in)
			_, err := Render(in)
			if fault.ClassOf(err) != fault.Blocked || !strings.Contains(err.Error(), c.words) {
				t.Errorf("got %v, want Blocked with %q", err, c.words)
			}
		})
	}
}

func TestGuestOf(t *testing.T) {
	for _, c := range []struct {
		id        string
		convert   spec.Conversion
		bus, card string
	}{
		{"debian12_64Guest", spec.ConvertNone, "virtio", "virtio"},
		{"debian12_64Guest", spec.ConvertQemuImg, "virtio", "virtio"},
		{"debian7_64Guest", spec.ConvertNone, "sata", "e1000e"},
		{"rhel9_64Guest", spec.ConvertNone, "virtio", "virtio"},
		{"rhel6_64Guest", spec.ConvertNone, "sata", "e1000e"},
		{"centos7_64Guest", spec.ConvertNone, "virtio", "virtio"},
		{"sles15_64Guest", spec.ConvertNone, "virtio", "virtio"},
		{"sles11_64Guest", spec.ConvertNone, "sata", "e1000e"},
		{"ubuntu64Guest", spec.ConvertNone, "virtio", "virtio"},
		{"other3xLinux64Guest", spec.ConvertNone, "virtio", "virtio"},
		{"other6xLinux64Guest", spec.ConvertNone, "virtio", "virtio"},
		{"other26xLinux64Guest", spec.ConvertNone, "sata", "e1000e"},
		{"otherLinux64Guest", spec.ConvertNone, "sata", "e1000e"},
		{"windows2019srv_64Guest", spec.ConvertNone, "sata", "e1000e"},
		{"windows2019srv_64Guest", spec.ConvertVirtV2V, "virtio", "virtio"},
		{"freebsd13_64Guest", spec.ConvertNone, "sata", "e1000e"},
		{"", spec.ConvertNone, "sata", "e1000e"},
	} {
		t.Run(c.id+" "+string(c.convert), func(t *testing.T) {
			if g := guestOf(c.id, c.convert); g.diskBus() != c.bus || g.nicModel() != c.card {
				t.Errorf("%s: %s and %s, want %s and %s", c.id, g.diskBus(), g.nicModel(), c.bus, c.card)
			}
		})
	}
	if kindOf("rhel5_64Guest") != linuxGuest || kindOf("win31Guest") != windowsGuest || kindOf("darwin20_64Guest") != otherGuest {
		t.Error("kind of guest misjudged")
	}
}

func TestIdentity(t *testing.T) {
	id, serial, ok := identity("423EFD65-a73d-e159-a56d-dd25289f8b0c")
	if !ok || id != "423efd65-a73d-e159-a56d-dd25289f8b0c" || serial != "VMware-42 3e fd 65 a7 3d e1 59-a5 6d dd 25 28 9f 8b 0c" {
		t.Errorf("identity = %q, %q, %v", id, serial, ok)
	}
	if _, _, ok := identity("423efd65"); ok {
		t.Error("half a UUID passed")
	}
}

func TestSerialsDiffer(t *testing.T) {
	taken := map[string]bool{}
	a := serial(machine.Disk{UUID: "6000C29a-1b2c-3d4e-5f60-718293a4b5c6"}, 0, taken)
	b := serial(machine.Disk{UUID: "6000C29a-1b2c-3d4e-5f60-000000000001"}, 1, taken)
	c := serial(machine.Disk{UUID: "6000C29a-1b2c-3d4e-5f60-000000000001"}, 2, taken)
	d := serial(machine.Disk{}, 3, taken)
	seen := map[string]bool{}
	for _, s := range []string{a, b, c, d} {
		if len(s) == 0 || len(s) > 20 || seen[s] {
			t.Errorf("serial %q among %v", s, []string{a, b, c, d})
		}
		seen[s] = true
	}
}
