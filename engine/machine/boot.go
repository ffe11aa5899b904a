package machine

import "slices"

// Boot gives the index of the disk that is booted: the one at the place that was chosen, else the first of the VM's own boot
// order, else the first of all. Candidates are the places of those that it may be; more than one: nobody knows. An index of
// -1 is a place that has no disk.
func (v VM) Boot(chosen string) (index int, candidates []string) {
	if chosen != "" {
		i := slices.IndexFunc(v.DiskList, func(d Disk) bool { return d.Where() == chosen })
		return i, []string{chosen}
	}
	for _, key := range v.BootDisks {
		if i := slices.IndexFunc(v.DiskList, func(d Disk) bool { return d.Key == key }); i >= 0 {
			return i, []string{v.DiskList[i].Where()}
		}
	}
	// The firmware tries the first disk of a controller; which controller goes first, only it knows.
	type controller struct {
		bus    Bus
		number int32
	}
	seen := map[controller]bool{}
	for _, d := range v.DiskList {
		if c := (controller{d.Bus, d.BusNumber}); !seen[c] {
			seen[c] = true
			candidates = append(candidates, d.Where())
		}
	}
	return 0, candidates
}
