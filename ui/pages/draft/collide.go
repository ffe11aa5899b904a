package draft

import (
	"landfall/engine/preflight"
)

// comparedAtMost bounds how many VMs that share something are compared by the rules at once: each is held against all.
const comparedAtMost = 100

// compare finds what VMs of the plan share. Most share nothing: the rules are asked only about those that do.
func (d *Set) compare() {
	seen := make(map[string]int, 4*len(d.Items))
	both := map[int]bool{}
	for i := range d.Items {
		it := &d.Items[i]
		it.shared = nil
		note := func(key string) {
			if first, ok := seen[key]; ok && first != i {
				both[first], both[i] = true, true
				return
			}
			seen[key] = i
		}
		to := it.Document.Spec.Destination
		note("n " + to.Context + "\x00" + to.Namespace + "/" + it.Name())
		for _, n := range it.VM.VM.NICs {
			if n.MAC != "" && it.Document.Spec.KeepMAC() {
				note("m " + preflight.HardwareAddress(n.MAC))
			}
		}
		for _, k := range it.VM.VM.DiskList {
			if k.Path != "" {
				note("f " + it.VM.Endpoint + " " + k.Path)
			}
		}
	}
	var plan []preflight.Planned
	var at []int
	for i := range d.Items {
		if it := &d.Items[i]; both[i] && len(at) < comparedAtMost {
			plan = append(plan, preflight.Planned{VM: it.VM.VM, Spec: it.Document.Spec.Default(), Name: it.Name()})
			at = append(at, i)
		}
	}
	for n, fs := range preflight.Together(plan) {
		d.Items[at[n]].shared = fs
	}
}
