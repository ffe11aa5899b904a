package targets

import (
	"slices"
	"strings"
	"testing"

	"landfall/engine/machine"
	"landfall/engine/spec"
)

// The table of preferences names only guests that VMware has, and each of its rows can be reached.
func TestPreferencesOf(t *testing.T) {
	for _, c := range []struct {
		id        string
		converted spec.Conversion
		want      []string
	}{
		{"rhel9_64Guest", spec.ConvertNone, []string{"rhel.9"}},
		{"rhel10_64Guest", spec.ConvertNone, []string{"rhel.10"}},
		{"centos9_64Guest", spec.ConvertNone, []string{"centos.stream9", "centos.9"}},
		{"oracleLinux8_64Guest", spec.ConvertNone, []string{"oraclelinux"}},
		{"fedora64Guest", spec.ConvertNone, []string{"fedora"}},
		{"ubuntu64Guest", spec.ConvertNone, []string{"ubuntu"}},
		{"debian12_64Guest", spec.ConvertNone, []string{"debian"}},
		{"sles15_64Guest", spec.ConvertNone, []string{"sles"}},
		{"opensuse64Guest", spec.ConvertNone, []string{"opensuse.leap"}},
		{"windows2019srv_64Guest", spec.ConvertNone, []string{"windows.2k19"}},
		{"windows2019srv_64Guest", spec.ConvertVirtV2V, []string{"windows.2k19.virtio"}},
		{"windows2019srvNext_64Guest", spec.ConvertNone, []string{"windows.2k22"}},
		{"windows2022srvNext_64Guest", spec.ConvertNone, []string{"windows.2k25"}},
		{"windows9Server64Guest", spec.ConvertNone, []string{"windows.2k16"}},
		{"windows8Server64Guest", spec.ConvertNone, []string{"windows.2k12"}},
		{"windows7Server64Guest", spec.ConvertNone, []string{"windows.2k8"}},
		{"windows7_64Guest", spec.ConvertNone, []string{"windows.7"}},
		{"windows9_64Guest", spec.ConvertNone, []string{"windows.10"}},
		{"windows11_64Guest", spec.ConvertNone, []string{"windows.11"}},
		{"otherLinux64Guest", spec.ConvertNone, nil},
		{"rhel9_64Guest\n", spec.ConvertNone, nil},
		{"", spec.ConvertNone, nil},
	} {
		if got := PreferencesOf(c.id, c.converted); !slices.Equal(got, c.want) {
			t.Errorf("%q %s: %v, want %v", c.id, c.converted, got, c.want)
		}
	}
}

func TestPreferenceFor(t *testing.T) {
	cluster := map[string]Preference{
		"debian": {CPUs: 2, Memory: 2 << 30}, "windows.11": {TPM: true}, "rhel.9": {Architecture: []string{"s390x"}}, "centos.9": {}, "mine": {CPUs: 64},
	}
	types := map[string]Instancetype{"small": {CPUs: 1, Memory: 1 << 30}, "large": {CPUs: 8, Memory: 32 << 30}}
	for _, c := range []struct {
		what, guest string
		change      func(*machine.VM, *spec.Destination)
		want        Choice
		against     string
	}{
		{"the guest's", "debian12_64Guest", nil, Choice{Name: "debian", Known: true}, ""},
		{"the second nearest, for the cluster has not the first", "centos9_64Guest", nil, Choice{Name: "centos.9", Known: true}, ""},
		{"none of the guest's in the cluster", "sles15_64Guest", nil, Choice{}, ""},
		{"no guest known", "", nil, Choice{}, ""},
		{"auto", "debian12_64Guest", func(_ *machine.VM, d *spec.Destination) { d.Preference = "auto" }, Choice{Name: "debian", Known: true}, ""},
		{"none wanted", "debian12_64Guest", func(_ *machine.VM, d *spec.Destination) { d.Preference = "none" }, Choice{}, ""},
		{"too few CPUs", "debian12_64Guest", func(vm *machine.VM, _ *spec.Destination) { vm.CPUs = 1 }, Choice{}, "requires 2 CPUs"},
		{"too little memory", "debian12_64Guest", func(vm *machine.VM, _ *spec.Destination) { vm.MemoryMiB = 1024 }, Choice{}, "requires 2048 MiB"},
		{"too small an instance type", "debian12_64Guest", func(_ *machine.VM, d *spec.Destination) { d.Instancetype = "small" }, Choice{}, "its instance type has 1"},
		{"an instance type that is large enough", "debian12_64Guest", func(vm *machine.VM, d *spec.Destination) { vm.CPUs, d.Instancetype = 1, "large" }, Choice{Name: "debian", Known: true}, ""},
		{"an instance type that is not known", "debian12_64Guest", func(_ *machine.VM, d *spec.Destination) { d.Instancetype = "?" }, Choice{Name: "debian", Known: true}, ""},
		{"a TPM that the source has not", "windows11_64Guest", nil, Choice{}, "adds a TPM"},
		{"a TPM that the source has", "windows11_64Guest", func(vm *machine.VM, _ *spec.Destination) { vm.TPM = true }, Choice{Name: "windows.11", Known: true}, ""},
		{"for another architecture", "rhel9_64Guest", nil, Choice{}, "another architecture"},
		{"asked for, too large", "debian12_64Guest", func(_ *machine.VM, d *spec.Destination) { d.Preference = "mine" }, Choice{Name: "mine", Asked: true, Known: true, Refused: true}, "requires 64 CPUs"},
		{"asked for, adds a TPM", "debian12_64Guest", func(_ *machine.VM, d *spec.Destination) { d.Preference = "windows.11" }, Choice{Name: "windows.11", Asked: true, Known: true}, "adds a TPM"},
		{"asked for, not there", "debian12_64Guest", func(_ *machine.VM, d *spec.Destination) { d.Preference = "gone" }, Choice{Name: "gone", Asked: true}, ""},
	} {
		t.Run(c.what, func(t *testing.T) {
			vm, s := machine.VM{Summary: machine.Summary{GuestID: c.guest, CPUs: 4, MemoryMiB: 4096}}, spec.Spec{}
			if c.change != nil {
				c.change(&vm, &s.Destination)
			}
			got := PreferenceFor(vm, s, cluster, types)
			if got.Name != c.want.Name || got.Asked != c.want.Asked || got.Known != c.want.Known || got.Refused != c.want.Refused {
				t.Errorf("got %+v, want %+v", got, c.want)
			}
			if a := strings.Join(got.Against, "\n"); (a == "") != (c.against == "") || !strings.Contains(a, c.against) {
				t.Errorf("against it: %q, want %q", a, c.against)
			}
		})
	}
}
