package kubevirt

import (
	"fmt"
	"regexp"
	"slices"

	virt "kubevirt.io/api/core/v1"

	"landfall/targets"
)

// preferenceRows are the preferences that KubeVirt's common set has for VMware's guest ids, the nearest first. $1 is what
// the id says in its first group. A guest with virtio drivers takes the ".virtio" one of a Windows row.
var preferenceRows = []struct {
	guest *regexp.Regexp
	names []string
}{
	{regexp.MustCompile(`^rhel(\d+)_64Guest$`), []string{"rhel.$1"}},
	{regexp.MustCompile(`^centos(\d+)_64Guest$`), []string{"centos.stream$1", "centos.$1"}},
	{regexp.MustCompile(`^oracleLinux\d*_64Guest$`), []string{"oraclelinux"}},
	{regexp.MustCompile(`^fedora64Guest$`), []string{"fedora"}},
	{regexp.MustCompile(`^ubuntu64Guest$`), []string{"ubuntu"}},
	{regexp.MustCompile(`^debian\d*_64Guest$`), []string{"debian"}},
	{regexp.MustCompile(`^sles\d*_64Guest$`), []string{"sles"}},
	{regexp.MustCompile(`^opensuse64Guest$`), []string{"opensuse.leap"}},
	{regexp.MustCompile(`^windows7Server64Guest$`), []string{"windows.2k8"}},
	{regexp.MustCompile(`^windows8Server64Guest$`), []string{"windows.2k12"}},
	{regexp.MustCompile(`^windows9Server64Guest$`), []string{"windows.2k16"}},
	{regexp.MustCompile(`^windows2019srv_64Guest$`), []string{"windows.2k19"}},
	{regexp.MustCompile(`^windows2019srvNext_64Guest$`), []string{"windows.2k22"}},
	{regexp.MustCompile(`^windows2022srvNext_64Guest$`), []string{"windows.2k25"}},
	{regexp.MustCompile(`^windows7_64Guest$`), []string{"windows.7"}},
	{regexp.MustCompile(`^windows9_64Guest$`), []string{"windows.10"}},
	{regexp.MustCompile(`^windows11_64Guest$`), []string{"windows.11"}},
}

// preferencesFor gives the names that would suit a guest, the best first.
func preferencesFor(guestID string, g guest) []string {
	for _, row := range preferenceRows {
		m := row.guest.FindStringSubmatchIndex(guestID)
		if m == nil {
			continue
		}
		var names []string
		for _, n := range row.names {
			name := string(row.guest.ExpandString(nil, n, guestID, m))
			if g.kind == windowsGuest && g.virtio {
				names = append(names, name+".virtio")
				continue
			}
			names = append(names, name)
		}
		return names
	}
	return nil
}

// sizing is what KubeVirt compares with a preference's requirements.
type sizing struct {
	cpus   uint32
	memory int64
	from   string
}

func (r *rendering) sizing() sizing {
	if name := r.in.Spec.Destination.Instancetype; name != "" {
		t := r.in.Instancetypes[name]
		return sizing{t.CPUs, t.Memory, "instancetype " + bounded(name, 63)}
	}
	return sizing{uint32(max(r.in.VM.CPUs, 0)), r.in.VM.MemoryMiB * mib, "the VM"}
}

// preference is the one that the spec asks for, else, unless the spec asks for none, the one for the guest that the cluster
// has. What is rendered goes before what a preference prefers; only its requirements can make the cluster refuse the VM, so
// one whose requirements are not met is not chosen.
func (r *rendering) preference(vm *virt.VirtualMachine) {
	asked := r.in.Spec.Destination.Preference
	switch asked {
	case "none":
		return
	case "", "auto":
		asked = r.choose()
	default:
		if p, known := r.in.Preferences[asked]; known {
			for _, why := range r.unfit(p) {
				r.note("preference %s is taken as asked, but %s", bounded(asked, 63), why)
			}
		}
	}
	if asked == "" {
		return
	}
	r.chosen = asked
	vm.Spec.Preference = &virt.PreferenceMatcher{Name: asked}
	if r.in.Preferences[asked].Namespaced {
		vm.Spec.Preference.Kind = "VirtualMachinePreference"
	}
}

func (r *rendering) choose() string {
	for _, name := range preferencesFor(r.in.VM.GuestID, r.guest) {
		p, ok := r.in.Preferences[name]
		if !ok {
			continue
		}
		unfit := r.unfit(p)
		if len(unfit) == 0 {
			r.note("preference %s is chosen for the guest %s", name, bounded(r.in.VM.GuestID, 63))
			return name
		}
		r.note("preference %s would suit the guest, but %s", name, unfit[0])
	}
	return ""
}

// unfit says why a preference does not suit the VM as it is rendered.
func (r *rendering) unfit(p targets.Preference) (why []string) {
	has := r.sizing()
	if p.CPUs > has.cpus {
		why = append(why, fmt.Sprintf("it requires %d CPUs and %s has %d: the cluster would refuse it", p.CPUs, has.from, has.cpus))
	}
	if p.Memory > has.memory {
		why = append(why, fmt.Sprintf("it requires %d MiB of memory and %s has %d: the cluster would refuse it", p.Memory/mib, has.from, has.memory/mib))
	}
	if len(p.Architecture) > 0 && !slices.Contains(p.Architecture, architecture) {
		why = append(why, fmt.Sprintf("it is for %s", bounded(p.Architecture[0], 63)))
	}
	if p.TPM && !r.in.VM.TPM {
		why = append(why, "it adds a TPM that the source does not have")
	}
	return why
}
