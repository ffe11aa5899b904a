package targets

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"landfall/engine/machine"
	"landfall/engine/spec"
)

// Architecture of every VM that runs on VMware's x86 hosts.
const Architecture = "amd64"

// preferenceRows are the preferences that KubeVirt's common set has for VMware's guest ids, the nearest first. $1 is what
// the id says in its first group.
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

// PreferencesOf gives the names of those that would suit a guest, the best first. Windows that was given virtio drivers takes
// the one for them.
func PreferencesOf(guestID string, c spec.Conversion) []string {
	for _, row := range preferenceRows {
		m := row.guest.FindStringSubmatchIndex(guestID)
		if m == nil {
			continue
		}
		var names []string
		for _, n := range row.names {
			name := string(row.guest.ExpandString(nil, n, guestID, m))
			if c == spec.ConvertVirtV2V && strings.HasPrefix(name, "windows.") {
				name += ".virtio"
			}
			names = append(names, name)
		}
		return names
	}
	return nil
}

// Choice is the preference that a VM gets.
type Choice struct {
	Name  string // "" is none
	Asked bool   // by the spec's name, else chosen by the guest
	// Known tells that the cluster has one of the name that the spec asks for.
	Known bool
	// Against says what speaks against the one asked for, or against the one that the guest would have got.
	Against []string
	// Refused tells that the cluster would refuse the VM for what speaks against the one asked for.
	Refused bool
}

// PreferenceFor is the preference that the spec asks for, else, unless the spec asks for none, the one for the guest that
// the cluster has and the VM satisfies. What a VM says itself goes before what a preference prefers; only its requirements
// can make the cluster refuse the VM.
func PreferenceFor(vm machine.VM, s spec.Spec, preferences map[string]Preference, types map[string]Instancetype) Choice {
	switch asked := s.Destination.Preference; asked {
	case "none":
		return Choice{}
	case "", "auto":
	default:
		p, known := preferences[asked]
		c := Choice{Name: asked, Asked: true, Known: known}
		if known {
			c.Against, c.Refused = against(p, vm, s, types)
		}
		return c
	}
	var c Choice
	for _, name := range PreferencesOf(vm.GuestID, s.Strategy.Conversion) {
		p, known := preferences[name]
		if !known {
			continue
		}
		why, _ := against(p, vm, s, types)
		if len(why) == 0 {
			return Choice{Name: name, Known: true}
		}
		for _, w := range why {
			c.Against = append(c.Against, "preference "+name+" would suit the guest, but "+w)
		}
	}
	return c
}

// against says why a preference does not suit the VM as it is rendered, and whether the cluster would refuse it therefore.
func against(p Preference, vm machine.VM, s spec.Spec, types map[string]Instancetype) (why []string, refused bool) {
	cpus, memory, from := uint32(max(vm.CPUs, 0)), vm.MemoryMiB*mib, "the VM"
	if name := s.Destination.Instancetype; name != "" {
		t, known := types[name]
		if !known {
			t = Instancetype{CPUs: p.CPUs, Memory: p.Memory} // nothing is known against it
		}
		cpus, memory, from = t.CPUs, t.Memory, "its instance type"
	}
	if p.CPUs > cpus {
		why = append(why, fmt.Sprintf("it requires %d CPUs and %s has %d: the cluster would refuse it", p.CPUs, from, cpus))
	}
	if p.Memory > memory {
		why = append(why, fmt.Sprintf("it requires %d MiB of memory and %s has %d: the cluster would refuse it", p.Memory/mib, from, memory/mib))
	}
	if len(p.Architecture) > 0 && !slices.Contains(p.Architecture, Architecture) {
		why = append(why, "it is for another architecture than "+Architecture+": the cluster would refuse it")
	}
	refused = len(why) > 0
	if p.TPM && !vm.TPM {
		why = append(why, "it adds a TPM that the source does not have")
	}
	return why, refused
}
