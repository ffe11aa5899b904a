package engine

import (
	"context"
	"fmt"

	"landfall/engine/fault"
	"landfall/engine/spec"
	"landfall/targets"
)

// makeMachine is the move that makes the virtual machine, halted.
const makeMachine = "machine"

// unbound is what is to be known of delivery HTTP: a volume that fetches its image is made when there is one, so that beforehand
// only the rules tell whether it will bind.
const unbound = "with delivery HTTP the volumes are made and bound only after the source is off"

// seeTarget looks whether the target is ready before the source is stopped: volumes bound and ready to take their images,
// the virtual machine rendered and halted. It says what is missing and what is to be done about it, and what is not as usual.
func (t *turn) seeTarget(ctx context.Context) (waiting, note string, moves []importMove, err error) {
	st := &t.m.Status
	target, err := t.target(ctx)
	if err != nil {
		return "", "", nil, err
	}
	if err := t.planWarm(ctx, target); err != nil {
		return "", "", nil, err
	}
	if t.options().Strategy.Delivery == spec.DeliverHTTP {
		note = unbound
	} else {
		for i, v := range st.Plan.Volumes {
			s, err := target.Volume(ctx, t.owner(), v)
			if err != nil {
				return "", "", nil, fmt.Errorf("volume %s: %w", v.Name, err)
			}
			st.Disks[i].VolumePhase = s.Phase
			switch {
			case !s.Exists:
				moves = append(moves, importMove{i, "create"})
				waiting = v.Name + " is to be made"
			case !s.Ours:
				return "", "", nil, notOurs("volume", v.Name)
			case s.Deleting:
				waiting = v.Name + " is being deleted; what uses it has to end first"
			case !s.Matches || s.Failed || s.Done:
				moves = append(moves, importMove{i, "remove"})
				waiting = fmt.Sprintf("%s is %s and is made anew %v", v.Name, s.Phase, s.Diff)
			case !s.Ready:
				waiting = fmt.Sprintf("%s: %s %s", v.Name, s.Phase, s.Waiting)
			}
		}
	}
	m, err := target.Machine(ctx, t.owner(), *st.Plan)
	switch {
	case err != nil:
		return "", "", nil, fmt.Errorf("virtual machine %s: %w", st.Plan.Name, err)
	case m.Exists && !m.Ours:
		return "", "", nil, notOurs("virtual machine", st.Plan.Name)
	case !m.Exists || !m.Matches:
		moves = append(moves, importMove{-1, makeMachine})
		waiting = "the virtual machine " + st.Plan.Name + " is to be made"
	}
	return waiting, note, moves, nil
}

func notOurs(what, name string) error {
	return fault.Hint(fault.Newf(fault.Blocked, fault.NotOurs, "the %s %s exists and was not made by this migration", what, name), "rename or remove it yourself, then retry; or cancel")
}

// planWarm renders what is to be made before there is an image: the digests are not known yet.
func (t *turn) planWarm(ctx context.Context, target targets.Target) error {
	st := &t.m.Status
	if st.Plan != nil {
		return nil
	}
	c := t.candidate(*st.Inventory)
	facts, err := target.Facts(ctx, c.question())
	if err != nil {
		return err
	}
	in := c.input(facts)
	format := "raw"
	if t.options().Strategy.Conversion != spec.ConvertNone && t.e.Convert != nil {
		format = t.e.Convert.Format()
	}
	for range st.Disks {
		in.Digests, in.Formats = append(in.Digests, ""), append(in.Formats, format)
	}
	p, err := target.Render(in)
	if err != nil {
		return err
	}
	if len(p.Volumes) != len(st.Disks) {
		return fault.Newf(fault.Permanent, "Render", "render: %d volumes for %d disks", len(p.Volumes), len(st.Disks))
	}
	st.Plan = &p
	return nil
}

// markVolume writes the digest on a volume that was made before there was one. Who may not does without: the mark only tells what
// the volume is should the workspace be lost.
func (t *turn) markVolume(ctx context.Context, target targets.Target, v targets.Volume, d *Disk) error {
	err := target.MarkVolume(ctx, t.owner(), v)
	if fault.Is(err, fault.NoPermission) {
		d.Unmarked = true
		t.event("warn", "Unmarked", "%s", err)
		return nil
	}
	return err
}

// prepareTarget makes what seeTarget missed.
func (t *turn) prepareTarget(ctx context.Context, moves []importMove) error {
	var volumes []importMove
	machine := false
	for _, m := range moves {
		if m.do == makeMachine {
			machine = true
		} else {
			volumes = append(volumes, m)
		}
	}
	if len(volumes) > 0 {
		if err := (importing{}).act(ctx, t, Observation{next: volumes}); err != nil {
			return err
		}
	}
	if machine {
		return creatingVM{}.act(ctx, t, Observation{})
	}
	return nil
}
