package engine

import (
	"context"
	"fmt"

	"landfall/engine/fault"
	"landfall/engine/machine"
)

// starting has the instance of the virtual machine running.
type starting struct{}

func errSourceRuns(vm machine.VM) error {
	return fault.Hint(fault.Newf(fault.Blocked, "SourceRuns", "the source %s is %s: the target must not be started beside it", vm.Ref, vm.Power),
		"find out who started it; what it has written since is not in the copy. Cancel, or shut it down and migrate again")
}

func (starting) observe(ctx context.Context, t *turn) (Observation, error) {
	st := &t.m.Status
	target, err := t.target(ctx)
	if err != nil {
		return Observation{}, err
	}
	m, err := target.Machine(ctx, t.owner(), *st.Plan)
	switch {
	case err != nil:
		return Observation{}, err
	case !m.Exists || !m.Ours:
		return Observation{}, fault.Hint(fault.Newf(fault.Blocked, fault.NotFound, "virtual machine %s is gone, or another's", st.Plan.Name), "somebody removed it: cancel, and migrate again")
	}
	want := t.options().Destination.RunStrategy
	if t.intent(actStart) == nil || m.RunStrategy != want {
		if err := t.mayStart(ctx); err != nil {
			return Observation{}, err
		}
		t.intend(actStart, "runStrategy "+want)
		return Observation{Sight: Absent, Seen: "run strategy is " + m.RunStrategy}, nil
	}
	i, err := target.Instance(ctx, t.owner(), *st.Plan)
	if err != nil {
		return Observation{}, err
	}
	st.Instance = orAbsent(i.Phase)
	switch {
	case i.Phase == "Running":
		once(&st.Times.VMStarted, t.now)
		t.achieved(actStart)
		t.condition(VMStarted, true, "Running", "on "+i.Node)
		return Observation{Sight: Complete, Seen: "the instance runs on " + i.Node}, nil
	case i.NoKVM:
		return Observation{}, fault.Hint(fault.Newf(fault.Blocked, fault.NoKVM, "%s", i.Unschedulable), "no node offers /dev/kvm: enable it on a node, then retry")
	case i.Failure != "" || i.Phase == "Failed":
		return Observation{}, fault.Hint(fault.Newf(fault.Blocked, "InstanceFailed", "instance %s: %s %s", st.Plan.Name, i.Phase, i.Failure),
			"look at the guest's console (virtctl console) and the events of the instance; then retry")
	case t.late(actStart) && i.Unschedulable != "":
		return Observation{}, fault.Newf(fault.Transient, fault.Capacity, "%s", i.Unschedulable)
	case t.late(actStart):
		return Observation{}, fault.Newf(fault.Transient, "StartTimeout", "instance %s is %s after %s", st.Plan.Name, orAbsent(i.Phase), t.options().Validation.BootTimeout())
	}
	return Observation{Sight: Running, Seen: fmt.Sprintf("instance %s %s", orAbsent(i.Phase), i.Unschedulable)}, nil
}

func (starting) act(ctx context.Context, t *turn, _ Observation) error {
	target, err := t.target(ctx)
	if err != nil {
		return err
	}
	if err := t.mayStart(ctx); err != nil { // the intent's commit took time: look again
		return err
	}
	return target.SetRunStrategy(ctx, t.owner(), *t.m.Status.Plan, t.options().Destination.RunStrategy)
}

// late tells whether the boot timeout has passed since an act was intended, or since its checkpoint was resumed.
func (t *turn) late(act string) bool {
	since := t.m.Status.History[len(t.m.Status.History)-1].Time
	if i := t.intent(act); i != nil && i.Time.After(since) {
		since = i.Time
	}
	return t.now.Sub(since) > t.options().Validation.BootTimeout()
}

// noInstance stands for the phase of an instance that is not there.
const noInstance = "absent"

func orAbsent(phase string) string {
	if phase == "" {
		return noInstance
	}
	return phase
}
