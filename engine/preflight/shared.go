package preflight

import (
	"cmp"
	"fmt"
	"strings"

	"landfall/engine/machine"
)

// sharedDisks finds disks that another VM has too: by the flags of the disk and its controller, and by its file in another VM,
// whether that says so or not.
func sharedDisks(f Facts) (hits []hit) {
	users := map[string][]string{}
	unseen := 0
	use := func(o machine.VM) {
		if sameVM(o, f.VM) {
			return
		}
		if len(o.DiskList) == 0 && o.Disks > 0 {
			unseen++
		}
		for _, d := range o.DiskList {
			if d.Path != "" {
				users[d.Path] = append(users[d.Path], fmt.Sprintf("%q (%s)", cmp.Or(o.Name, "no name"), o.Ref))
			}
		}
	}
	seen := map[machine.Ref]bool{}
	for _, o := range f.Neighbours {
		seen[o.Ref] = true
		use(o)
	}
	for _, o := range f.Beside {
		if !seen[o.VM.Ref] && o.Spec.Source.Address == f.Spec.Source.Address {
			use(o.VM)
		}
	}
	for i, d := range f.VM.DiskList {
		switch by := users[d.Path]; {
		case d.Path != "" && len(by) > 0:
			hits = append(hits, hit{subject: diskName(i, d), found: d.Path + " is also a disk of " + strings.Join(by, ", ")})
		case d.Shared:
			hits = append(hits, hit{subject: diskName(i, d), found: "shared with other VMs"})
		}
	}
	if unseen > 0 && len(hits) == 0 {
		hits = cannot("vm", fmt.Sprintf("no sharing is flagged, but the files were not compared with those of %d VMs that the list does not look into", unseen))
	}
	return hits
}
