package kubevirt

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"landfall/engine/machine"
	"landfall/engine/secret"
	"landfall/engine/spec"
	"landfall/targets"
)

// whole is a VM from its source to its YAML.
type whole struct {
	name, what string // of the file; what it shows
	change     func(*targets.Input)
}

// wholes are the VMs whose YAML is kept. What they do not change is as in plain.
var wholes = []whole{
	{"linux", "Linux with virtio drivers, BIOS, one disk, one NIC, an upper-case hardware address", func(*targets.Input) {}},
	{"linux-efi", "EFI without secure boot", func(in *targets.Input) { in.VM.Firmware = "efi" }},
	{"linux-efi-secureboot", "EFI with secure boot needs SMM", func(in *targets.Input) { in.VM.Firmware, in.VM.SecureBoot = "efi", true }},
	{"linux-tpm", "a vTPM on BIOS", func(in *targets.Input) { in.VM.TPM = true }},
	{"linux-old", "an old Linux that may not start from virtio", func(in *targets.Input) { in.VM.GuestID = "rhel6_64Guest" }},
	{"linux-old-converted", "the same kind, converted: virtio", func(in *targets.Input) {
		in.VM.GuestID, in.Spec.Strategy.Conversion = "rhel5_64Guest", spec.ConvertVirtV2V
	}},
	{"windows-bios", "Windows Server 2016, BIOS: hyperv features, timers, sata and e1000e", func(in *targets.Input) {
		in.VM.Name, in.VM.GuestID = "FILES", "windows9Server64Guest"
	}},
	{"windows-efi-secureboot-tpm", "Windows Server 2019 with everything, and a preference asked for", func(in *targets.Input) {
		in.VM.Name, in.VM.GuestID = "Büro Server", "windows2019srv_64Guest"
		in.VM.Firmware, in.VM.SecureBoot, in.VM.TPM = "efi", true, true
		in.Spec.Destination.Preference = "windows.2k19"
	}},
	{"windows-converted-preference", "Windows Server 2022, converted: virtio, the .virtio preference of the guest, a time zone", func(in *targets.Input) {
		in.VM.Name, in.VM.GuestID, in.Spec.Strategy.Conversion = "SQL 01", "windows2019srvNext_64Guest", spec.ConvertVirtV2V
		in.Preferences = map[string]targets.Preference{"windows.2k22": {}, "windows.2k22.virtio": {}}
		in.Spec.Destination.TimeZone = "Europe/Berlin"
	}},
	{"windows-11-preference-tpm", "Windows 11 with a vTPM takes the preference that has one", func(in *targets.Input) {
		in.VM.Name, in.VM.GuestID, in.VM.Firmware, in.VM.SecureBoot, in.VM.TPM = "desk", "windows11_64Guest", "efi", true, true
		in.Preferences = map[string]targets.Preference{"windows.11": {TPM: true, CPUs: 2, Memory: 4 * gib}}
	}},
	{"unknown-guest", "a guest of which nothing is known", func(in *targets.Input) { in.VM.GuestID = "otherGuest64" }},
	{"preference-of-guest", "Debian: the cluster has its preference", func(in *targets.Input) {
		in.Preferences = map[string]targets.Preference{"debian": {CPUs: 1, Memory: gib}, "fedora": {}}
	}},
	{"preference-of-namespace", "the same, of the namespace", func(in *targets.Input) {
		in.Preferences = map[string]targets.Preference{"debian": {Namespaced: true}}
	}},
	{"preference-not-met", "the VM is smaller than the preference requires: none is taken", func(in *targets.Input) {
		in.Preferences = map[string]targets.Preference{"debian": {CPUs: 8}}
	}},
	{"instancetype", "an instance type and a preference asked for: no CPU, no memory", func(in *targets.Input) {
		in.Spec.Destination.Instancetype, in.Spec.Destination.Preference = "u1.medium", "debian"
	}},
	{"instancetype-of-namespace", "an instance type of the namespace, no preference wanted", func(in *targets.Input) {
		in.Spec.Destination.Instancetype, in.Spec.Destination.Preference = "small", "none"
		in.Instancetypes = map[string]targets.Instancetype{"small": {Namespaced: true, CPUs: 1, Memory: gib}}
		in.Preferences = map[string]targets.Preference{"debian": {}}
	}},
	{"cpus-6-at-4", "six CPUs at four per socket: six sockets", func(in *targets.Input) { in.VM.CPUs, in.VM.CoresPerSocket = 6, 4 }},
	{"cpus-8x1", "eight sockets of one core", func(in *targets.Input) { in.VM.CPUs, in.VM.CoresPerSocket = 8, 1 }},
	{"cpus-1x8", "one socket of eight cores", func(in *targets.Input) { in.VM.CPUs, in.VM.CoresPerSocket = 8, 8 }},
	{"cpus-12-at-6", "two sockets of six cores", func(in *targets.Input) { in.VM.CPUs, in.VM.CoresPerSocket = 12, 6 }},
	{"odd-cpus-asked-efi", "EFI asked for a BIOS source", func(in *targets.Input) {
		in.VM.CPUs, in.VM.CoresPerSocket = 6, 4
		in.Spec.Destination.Firmware = "efi"
	}},
	{"three-disks", "three disks, two classes, a size that is not whole MiB", func(in *targets.Input) {
		in.VM.DiskList = append(in.VM.DiskList,
			machine.Disk{Key: 2001, Bus: machine.SCSI, Unit: 1, Capacity: 40*gib + 512, Datastore: "nfs", UUID: "6000C29a-1b2c-3d4e-5f60-718200000001"},
			machine.Disk{Key: 15000, Bus: machine.SATA, Capacity: 1 * gib, Datastore: "nfs"})
		in.Digests = append(in.Digests, "", "")
	}},
	{"no-disks", "no disk at all", func(in *targets.Input) { in.VM.DiskList = nil }},
	{"nvme", "an NVMe disk", func(in *targets.Input) {
		in.VM.DiskList[0].Bus, in.VM.DiskList[0].Key = machine.NVMe, 31000
	}},
	{"disks-12-mixed", "twelve disks over SCSI, SATA, IDE and NVMe", func(in *targets.Input) { in.VM.DiskList = mixed(12) }},
	{"disks-60-mixed", "sixty disks over mixed controllers", func(in *targets.Input) { in.VM.DiskList = mixed(60) }},
	{"filesystem-1-10-1000", "Filesystem volumes of 1, 10 and 1000 GiB with room for the overhead, WaitForFirstConsumer", func(in *targets.Input) {
		in.VM.DiskList = nil
		for i, n := range []int64{1, 10, 1000} {
			in.VM.DiskList = append(in.VM.DiskList, machine.Disk{Key: 2000 + int32(i), Bus: machine.SCSI, Unit: int32(i), Capacity: n * gib, Datastore: "nfs"})
		}
	}},
	{"block-1-10-1000", "the same as Block volumes", func(in *targets.Input) {
		in.VM.DiskList = nil
		for i, n := range []int64{1, 10, 1000} {
			in.VM.DiskList = append(in.VM.DiskList, machine.Disk{Key: 2000 + int32(i), Bus: machine.SCSI, Unit: int32(i), Capacity: n * gib, Datastore: "datastore1"})
		}
	}},
	{"class-unknown-to-cdi", "a class of which CDI knows no modes", func(in *targets.Input) { in.Classes["fast"] = targets.StorageClass{Overhead: 0.06} }},
	{"pull-qcow2", "delivery HTTP of a converted image", func(in *targets.Input) {
		in.Formats = []string{"qcow2"}
		in.Spec.Strategy.Delivery, in.Spec.Destination.ServeAddress = spec.DeliverHTTP, "10.0.0.5:8443"
		in.Pull = []*targets.Pull{{URL: "https://10.0.0.5:8443/a/disk-0", Username: "u", Password: secret.New("hidden"), CA: []byte("ca")}}
	}},
	{"pull-not-served-yet", "delivery HTTP before the disk is served", func(in *targets.Input) {
		in.Spec.Strategy.Delivery, in.Spec.Destination.ServeAddress = spec.DeliverHTTP, "10.0.0.5:8443"
	}},
	{"checks", "checks by HTTP make a Service for each port", func(in *targets.Input) {
		in.Spec.Validation.Checks = []spec.Check{{Type: "HTTP", Port: 80}, {Type: "HTTP", Port: 8080}, {Type: "HTTP", Port: 80}, {Type: "GuestAgent"}}
	}},
	{"no-nics", "no NIC: none is added either", func(in *targets.Input) { in.VM.NICs = nil }},
	{"nic-disconnected", "a NIC that is not connected at power-on", func(in *targets.Input) { in.VM.NICs[0].StartConnected = false }},
	{"nic-disconnected-old-kubevirt", "the same where KubeVirt cannot keep a link down", func(in *targets.Input) {
		in.VM.NICs[0].StartConnected, in.Lacks = false, virtFeatures
	}},
	{"two-nics-one-down-no-macs", "two NICs, new hardware addresses wanted", func(in *targets.Input) {
		no := false
		in.Spec.PreserveMACAddress = &no
		in.VM.NICs = append(in.VM.NICs, machine.NIC{Key: 4001, MAC: "00:50:56:00:00:02", Network: "Backup"})
	}},
	{"nics-shared-network", "three NICs, two of them on one network", func(in *targets.Input) {
		for i, n := range []string{"Backup", "Backup"} {
			in.VM.NICs = append(in.VM.NICs, machine.NIC{Key: 4001 + int32(i), Label: fmt.Sprintf("Network adapter %d", 2+i), MAC: fmt.Sprintf("00:50:56:00:00:0%d", i), Network: n, StartConnected: true})
		}
	}},
	{"nics-one-mac", "two NICs with one hardware address in different writing, and two with none of a card", func(in *targets.Input) {
		for i, m := range []string{"00-50-56-aa-bb-cc", "01:00:5e:00:00:01", "00:00:00:00:00:00"} {
			in.VM.NICs = append(in.VM.NICs, machine.NIC{Key: 4001 + int32(i), MAC: m, Network: "Backup", StartConnected: true})
		}
	}},
	{"name-non-ascii", "a name of which nothing is left", func(in *targets.Input) { in.VM.Name = "服务器" }},
	{"name-emoji", "a name with an emoji", func(in *targets.Input) { in.VM.Name = "🚀 Launch 🚀" }},
	{"name-dots", "a name of dots", func(in *targets.Input) { in.VM.Name = "....." }},
	{"name-digits-dashes", "leading digits and dashes", func(in *targets.Input) { in.VM.Name = "--007-Bond--" }},
	{"name-controls", "control characters and a path", func(in *targets.Input) { in.VM.Name = "../a\x00b\x1b[31m\r\nc%2fd" }},
	{"name-80", "eighty characters", func(in *targets.Input) { in.VM.Name = strings.Repeat("Very-Long_Name.", 6)[:80] }},
	{"long-non-ascii-hostile", "everything hostile at once", func(in *targets.Input) {
		in.VM.Name = "\x1b[31m服务器\u202e" + strings.Repeat("x", 80)
		in.VM.BIOSUUID = "not a uuid"
		in.VM.Devices = []machine.Device{{Kind: "serial", Label: "port\r\n1"}}
		in.VM.Pinned = []string{"CPU affinity 0-3"}
		in.VM.NICs = append(in.VM.NICs, machine.NIC{Label: "Network adapter 2"})
	}},
}

// mixed gives n disks over mixed controllers, in their order.
func mixed(n int) []machine.Disk {
	list := make([]machine.Disk, n)
	for i := range list {
		d := machine.Disk{
			Key: 2000 + int32(i), Capacity: int64(1+i) * gib, Datastore: []string{"datastore1", "nfs"}[i%2],
			UUID: fmt.Sprintf("6000C29a-1b2c-3d4e-5f60-7182%08x", i),
		}
		d.Bus = []machine.Bus{machine.SCSI, machine.SATA, machine.IDE, machine.NVMe}[i*4/n]
		d.BusNumber, d.Unit = int32(i%(n/4))/15, int32(i%(n/4))%15
		list[i] = d
	}
	return list
}

func (w whole) input() targets.Input {
	in := plain()
	w.change(&in)
	return in
}

func TestRenderWhole(t *testing.T) {
	for _, w := range wholes {
		t.Run(w.name, func(t *testing.T) {
			in := w.input()
			p, err := Render(in)
			if err != nil {
				t.Fatal(err)
			}
			again, err := Render(w.input())
			if err != nil || again.Manifest != p.Manifest || again.Fingerprint != p.Fingerprint {
				t.Errorf("rendered twice, it differs (%v)", err)
			}
			docs, err := Documents(in.Owner, p)
			if err != nil {
				t.Fatal(err)
			}
			if strings.Contains(docs, "hidden") {
				t.Error("a secret is among the documents")
			}
			head, err := yaml.Marshal(struct {
				Notes []string `json:"notes"`
			}{p.Notes})
			if err != nil {
				t.Fatal(err)
			}
			golden(t, "golden/"+w.name+".yaml", "# "+w.what+".\n#\n# "+strings.ReplaceAll(strings.TrimSpace(string(head)), "\n", "\n# ")+"\n---\n"+docs)
		})
	}
}

// TestGoldenIndex keeps the list of what the files show.
func TestGoldenIndex(t *testing.T) {
	var b strings.Builder
	b.WriteString("# Whole VMs as they are made\n\nEach file is everything that is created for one VM, with the notes for the operator at its head. Written by\n`go test ./targets/kubevirt -run 'TestRenderWhole|TestGoldenIndex' -update`.\n\n| file | shows |\n|---|---|\n")
	known := map[string]bool{"README.md": true}
	for _, w := range wholes {
		fmt.Fprintf(&b, "| [%s](%s.yaml) | %s |\n", w.name, w.name, w.what)
		if known[w.name+".yaml"] {
			t.Errorf("%s is there twice", w.name)
		}
		known[w.name+".yaml"] = true
	}
	golden(t, "golden/README.md", b.String())
	files, err := os.ReadDir("testdata/golden")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if !known[f.Name()] {
			t.Errorf("testdata/golden/%s belongs to no VM of the test", f.Name())
		}
	}
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
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
