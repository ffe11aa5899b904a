package preflight

import (
	"slices"

	"landfall/engine/machine"
	"landfall/engine/spec"
)

// Planned is one VM that is to be moved, or is being moved.
type Planned struct {
	VM   machine.VM
	Spec spec.Spec // resolved
	Name string    // rendered
	// Migration is the UID of the migration that moves it, "" where there is none yet.
	Migration string
}

// Together judges the VMs of one plan by what none of them tells alone: two that get one name, one hardware address, or
// that hang on one disk. It gives the findings of each, in the order of the plan.
func Together(plan []Planned) [][]Finding {
	out := make([][]Finding, len(plan))
	for i, p := range plan {
		beside := make([]Planned, 0, len(plan)-1)
		beside = append(append(beside, plan[:i]...), plan[i+1:]...)
		out[i] = evaluate(mutual(), Facts{VM: p.VM, Spec: p.Spec, Name: p.Name, Beside: beside})
	}
	return out
}

// mutual are the rules that compare a VM with the others of its plan.
func mutual() []Rule {
	ids := []string{"vm.migrating.elsewhere", "disk.shared", "nic.mac.conflict", "target.name.collision"}
	return slices.DeleteFunc(Rules(), func(r Rule) bool { return !slices.Contains(ids, r.ID) })
}
