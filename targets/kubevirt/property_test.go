package kubevirt

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/util/validation"

	"landfall/engine/machine"
	"landfall/engine/spec"
	"landfall/targets"
)

// dice makes VMs of every kind, hostile ones among them, from a seed.
type dice struct{ *rand.Rand }

func roll(t *testing.T) dice {
	t.Helper()
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	return dice{rand.New(rand.NewPCG(seed, 1))}
}

func pick[T any](d dice, list ...T) T { return list[d.IntN(len(list))] }

// name is drawn from little, so that names meet.
func (d dice) name() string {
	switch d.IntN(6) {
	case 0:
		return pick(d, "Web_01", "WEB-01", "web 01", "web.01", "web01", "服务器", "数据库", "....", "", "-", "🚀", "db-202401", "db-202402", "a/b", "a%2fb", "../x")
	case 1:
		return strings.Repeat(pick(d, "a", "Very-Long_", "ü", "-", "x."), 1+d.IntN(80)) + pick(d, "", "1", "2")
	}
	var b strings.Builder
	for range d.IntN(90) {
		b.WriteRune(pick(d, 'a', 'b', '1', '-', '_', '.', ' ', 'Z', 'é', '\x00', '\u202e', '\n', '服', '🚀', '%', '/'))
	}
	return b.String()
}

func (d dice) input() targets.Input {
	in := plain()
	in.VM.Name = d.name()
	in.VM.Ref.InstanceUUID = pick(d, "", "not a uuid", fmt.Sprintf("52e0f3a1-9c4b-11aa-2233-%012x", d.IntN(4)), fmt.Sprintf("%08x-9c4b-11aa-2233-445566778899", d.Uint32()))
	in.VM.BIOSUUID = pick(d, "", in.VM.BIOSUUID, "x", strings.Repeat("z", 300))
	in.VM.GuestID = pick(d, "debian12_64Guest", "windows2019srv_64Guest", "rhel6_64Guest", "otherGuest64", "\x1b]0;x\x07", "windows11_64Guest")
	in.VM.CPUs, in.VM.CoresPerSocket, in.VM.MemoryMiB = 1+d.Int32N(128), d.Int32N(20), 1+d.Int64N(1<<20)
	in.VM.Firmware, in.VM.SecureBoot, in.VM.TPM = pick(d, "", "bios", "efi"), d.IntN(2) == 0, d.IntN(2) == 0
	in.Spec.Destination.Firmware = pick(d, "", "auto", "bios", "efi")
	in.Spec.Strategy.Conversion = pick(d, spec.ConvertNone, spec.ConvertQemuImg, spec.ConvertVirtV2V)
	in.VM.DiskList = nil
	for i := range d.IntN(20) {
		in.VM.DiskList = append(in.VM.DiskList, machine.Disk{
			Key: int32(i), Bus: pick(d, machine.SCSI, machine.SATA, machine.IDE, machine.NVMe, machine.BusUnknown), Unit: int32(i), Capacity: 1 + d.Int64N(16<<40),
			Datastore: pick(d, "datastore1", "nfs"), UUID: pick(d, "", "6000C29a-1b2c-3d4e-5f60-718293a4b5c6", d.name(), fmt.Sprintf("6000c29a-%08x-%08x-%08x", d.Uint32(), d.Uint32(), d.Uint32())),
		})
	}
	in.VM.NICs = nil
	for i := range d.IntN(5) {
		in.VM.NICs = append(in.VM.NICs, machine.NIC{
			Key: int32(i), Label: d.name(), Network: pick(d, "VM Network", "Backup"), StartConnected: d.IntN(2) == 0,
			MAC: pick(d, "", "00:50:56:AA:BB:0"+fmt.Sprint(d.IntN(4)), "00-50-56-aa-bb-0"+fmt.Sprint(d.IntN(4)), "x", "ff:ff:ff:ff:ff:ff", fmt.Sprintf("00:50:56:%02x:%02x:%02x", d.IntN(256), d.IntN(256), d.IntN(256))),
		})
	}
	in.Digests = []string{pick(d, "", d.name(), "sha256:"+strings.Repeat("ab", 32))}
	if d.IntN(2) == 0 {
		in.Preferences = map[string]targets.Preference{"debian": {CPUs: d.Uint32N(8)}, "windows.2k19": {}, "windows.11": {TPM: true}}
	}
	if d.IntN(3) == 0 {
		in.Lacks = virtFeatures
	}
	return in
}

func TestWhateverIsRenderedIsSound(t *testing.T) {
	d := roll(t)
	for range 150 {
		in := d.input()
		m := render(t, in)
		if again, err := Render(in); err != nil || again.Manifest != m.plan.Manifest {
			t.Fatalf("rendered twice, it differs (%v)", err)
		}
		if c := m.domain().CPU; int64(c.Sockets)*int64(c.Cores)*int64(c.Threads) != int64(in.VM.CPUs) {
			t.Errorf("%d CPUs at %d per socket become %+v", in.VM.CPUs, in.VM.CoresPerSocket, c)
		}
		serials, macs := map[string]bool{}, map[string]bool{}
		for i, disk := range m.domain().Devices.Disks {
			if s := disk.Serial; s == "" || len(s) > 20 || serials[s] {
				t.Errorf("disk %d of %d has serial %q", i, len(m.disks), s)
			}
			serials[disk.Serial] = true
		}
		for i, v := range m.plan.Volumes {
			usable := v.Size
			if v.VolumeMode == "Filesystem" {
				usable = targets.Usable(v.Size, in.Classes[v.StorageClass].Overhead)
			}
			if want := in.VM.DiskList[i].Capacity; usable < want || usable >= want+mib || v.Size%mib != 0 {
				t.Errorf("a disk of %d gets %d, %d of it usable", want, v.Size, usable)
			}
		}
		for _, n := range m.domain().Devices.Interfaces {
			if n.MacAddress != "" && macs[n.MacAddress] {
				t.Errorf("%s is there twice", n.MacAddress)
			}
			macs[n.MacAddress] = true
		}
		for _, l := range []map[string]string{m.vm.Labels, m.vm.Spec.Template.ObjectMeta.Labels} {
			valid(t, l)
		}
		for _, dv := range m.disks {
			valid(t, dv.Labels)
			if e := validation.IsDNS1123Label(dv.Name); len(e) > 0 {
				t.Errorf("DataVolume %q: %v", dv.Name, e)
			}
		}
		if e := validation.IsDNS1123Label(m.vm.Name); len(e) > 0 {
			t.Errorf("VirtualMachine %q from %q: %v", m.vm.Name, in.VM.Name, e)
		}
	}
}

func valid(t *testing.T, labels map[string]string) {
	t.Helper()
	for k, v := range labels {
		if e := validation.IsValidLabelValue(v); len(e) > 0 {
			t.Errorf("label %s=%q: %v", k, v, e)
		}
	}
}

// No two VMs of one plan share a name, a volume or a hardware address, unless it is said that they do.
func TestPlansShareNothingUnsaid(t *testing.T) {
	d := roll(t)
	said := map[string]int{}
	all := func() bool { return said["name"] > 0 && said["volume"] > 0 && said["mac"] > 0 }
	for round := 0; round < 25 || !all() && round < 1000; round++ {
		var names, foretold []targets.Names
		for range 2 + d.IntN(15) {
			in := d.input()
			names, foretold = append(names, render(t, in).plan.Names()), append(foretold, targets.NamesOf(in.VM, in.Spec))
			if d := cmp.Diff(foretold[len(foretold)-1], names[len(names)-1]); d != "" {
				t.Errorf("foretold (-) and rendered (+) differ:\n%s", d)
			}
		}
		told := map[string]bool{}
		for _, c := range targets.Collisions(names) {
			told[c.Kind+" "+c.Value] = true
			said[c.Kind]++
		}
		for i := range names {
			for j := range i {
				for _, shared := range shared(names[i], names[j]) {
					if !told[shared] {
						t.Errorf("%q and %q both take %s, and nobody says so", names[j].VM, names[i].VM, shared)
					}
				}
			}
		}
	}
	if !all() {
		t.Errorf("the dice made no collision of some kind: %v", said)
	}
}

// shared compares two VMs' names one by one, as a cluster would.
func shared(a, b targets.Names) (list []string) {
	if a.VM == b.VM {
		list = append(list, "name "+a.Namespace+"/"+a.VM)
	}
	for _, v := range a.Volumes {
		for _, w := range b.Volumes {
			if v == w {
				list = append(list, "volume "+a.Namespace+"/"+v)
			}
		}
	}
	for _, m := range a.MACs {
		for _, n := range b.MACs {
			if m == n {
				list = append(list, "mac "+m)
			}
		}
	}
	return list
}
