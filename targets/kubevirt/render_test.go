package kubevirt

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"landfall/engine/fault"
	"landfall/engine/machine"
	"landfall/engine/secret"
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

func TestRenderWhole(t *testing.T) {
	with := func(change func(*targets.Input)) targets.Input {
		in := plain()
		change(&in)
		return in
	}
	for _, c := range []struct {
		name string
		in   targets.Input
	}{
		{"linux", plain()},
		{"windows-efi-secureboot-tpm", with(func(in *targets.Input) {
			in.VM.Name, in.VM.GuestID = "Büro Server", "windows2019srv_64Guest"
			in.VM.Firmware, in.VM.SecureBoot, in.VM.TPM = "efi", true, true
			in.Spec.Destination.Preference = "windows.2k19"
		})},
		{"three-disks", with(func(in *targets.Input) {
			in.VM.DiskList = append(in.VM.DiskList,
				machine.Disk{Key: 2001, Bus: machine.SCSI, Unit: 1, Capacity: 40*gib + 512, Datastore: "nfs", UUID: "6000C29a-1b2c-3d4e-5f60-718200000001"},
				machine.Disk{Key: 15000, Bus: machine.SATA, Capacity: 1 * gib, Datastore: "nfs"})
			in.Digests = append(in.Digests, "", "")
		})},
		{"unknown-guest", with(func(in *targets.Input) { in.VM.GuestID = "otherGuest64" })},
		{"old-linux-converted", with(func(in *targets.Input) {
			in.VM.GuestID, in.Spec.Strategy.Conversion = "rhel5_64Guest", spec.ConvertVirtV2V
		})},
		{"no-nics", with(func(in *targets.Input) { in.VM.NICs = nil })},
		{"two-nics-one-down-no-macs", with(func(in *targets.Input) {
			no := false
			in.Spec.PreserveMACAddress = &no
			in.VM.NICs = append(in.VM.NICs, machine.NIC{Key: 4001, MAC: "00:50:56:00:00:02", Network: "Backup"})
		})},
		{"odd-cpus-asked-efi", with(func(in *targets.Input) {
			in.VM.CPUs, in.VM.CoresPerSocket = 6, 4
			in.Spec.Destination.Firmware = "efi"
		})},
		{"instancetype", with(func(in *targets.Input) {
			in.Spec.Destination.Instancetype, in.Spec.Destination.Preference = "u1.medium", "debian"
		})},
		{"long-non-ascii-hostile", with(func(in *targets.Input) {
			in.VM.Name = "\x1b[31m服务器\u202e" + strings.Repeat("x", 80)
			in.VM.BIOSUUID = "not a uuid"
			in.VM.Devices = []machine.Device{{Kind: "serial", Label: "port\r\n1"}}
			in.VM.Pinned = []string{"CPU affinity 0-3"}
			in.VM.NICs = append(in.VM.NICs, machine.NIC{Label: "Network adapter 2"})
		})},
		{"pull-qcow2", with(func(in *targets.Input) {
			in.Formats = []string{"qcow2"}
			in.Pull = []*targets.Pull{{URL: "https://10.0.0.5:8443/a/disk-0", Username: "u", Password: secret.New("hidden"), CA: []byte("ca")}}
		})},
	} {
		t.Run(c.name, func(t *testing.T) {
			p, err := Render(c.in)
			if err != nil {
				t.Fatal(err)
			}
			again, err := Render(c.in)
			if err != nil || again.Manifest != p.Manifest || again.Fingerprint != p.Fingerprint {
				t.Errorf("rendered twice, it differs (%v)", err)
			}
			head, err := yaml.Marshal(struct {
				Volumes []targets.Volume `json:"volumes"`
				Notes   []string         `json:"notes"`
			}{p.Volumes, p.Notes})
			if err != nil {
				t.Fatal(err)
			}
			golden(t, c.name+".yaml", p.Manifest+"---\n"+string(head))
		})
	}
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.MkdirAll("testdata", 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(string(want), got); d != "" {
		t.Errorf("%s (-want +got):\n%s", path, d)
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
