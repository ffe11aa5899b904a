package engine

import (
	"context"
	"fmt"
	"strings"

	"landfall/engine/fault"
	"landfall/engine/machine"
	"landfall/sources"
)

// creatingVM has a virtual machine of ours, as rendered, halted.
type creatingVM struct{}

func (creatingVM) observe(ctx context.Context, t *turn) (Observation, error) {
	st := &t.m.Status
	target, err := t.target(ctx)
	if err != nil {
		return Observation{}, err
	}
	s, err := target.Machine(ctx, t.owner(), *st.Plan)
	switch {
	case err != nil:
		return Observation{}, fmt.Errorf("virtual machine %s: %w", st.Plan.Name, err)
	case !s.Exists:
		return Observation{Sight: Absent, Seen: st.Plan.Name + " is not there"}, nil
	case !s.Ours:
		return Observation{Sight: Foreign, Seen: st.Plan.Name + " is not ours", Questions: []Question{foreign("virtual machine", st.Plan.Name, strings.Join(s.Diff, "; "))}}, nil
	case !s.Matches:
		return Observation{Sight: Broken, Seen: "differs from what was rendered: " + strings.Join(s.Diff, "; ")}, nil
	}
	st.Machine = &MachineRef{Namespace: st.Plan.Namespace, Name: st.Plan.Name, UID: s.UID}
	t.condition(VMCreated, true, "Created", st.Plan.Namespace+"/"+st.Plan.Name)
	return Observation{Sight: Complete, Seen: st.Plan.Name + " is as rendered, halted"}, nil
}

func (creatingVM) act(ctx context.Context, t *turn, _ Observation) error {
	target, err := t.target(ctx)
	if err != nil {
		return err
	}
	p := *t.m.Status.Plan
	for _, r := range target.MakesMachine(t.owner(), p, t.options().Validation.Checks) {
		t.holdRef(r, r.Kind == "virtualmachine")
	}
	if err := t.record(ctx); err != nil {
		return err
	}
	return target.ApplyMachine(ctx, t.owner(), p)
}

// mayStart looks, right before the target is started, whether the source is off and nothing holds its disks.
func (t *turn) mayStart(ctx context.Context) error {
	src, err := t.source(ctx)
	if err != nil {
		return err
	}
	vm, err := src.Inspect(ctx, t.m.Status.Inventory.Ref)
	if err != nil {
		return err
	}
	t.m.Status.Power = vm.Power
	if vm.Power != machine.Off {
		return errSourceRuns(vm)
	}
	if err := src.ProveOff(ctx, vm); err != nil {
		return err
	}
	return t.unwritten(ctx, src)
}

// unwritten looks whether every source disk is still as it was when its copy was begun: a VM that ran in between, and was
// shut down again, has written what the copy lacks.
func (t *turn) unwritten(ctx context.Context, src sources.Source) error {
	for i, d := range t.m.Status.Disks {
		if d.Stamp == "" {
			continue
		}
		disk, stamp, err := t.openDisk(ctx, src, i)
		if err != nil {
			return err
		}
		if err := disk.Close(); err != nil {
			return err
		}
		if stamp != d.Stamp {
			return fault.Hint(fault.Newf(fault.Blocked, "SourceWritten", "disk %d of %s was written after it was copied (%s, now %s): the copy is not what the source is", i, t.m.Status.Inventory.Ref, d.Stamp, stamp),
				"somebody ran the source meanwhile: cancel, and migrate it again")
		}
	}
	return nil
}
