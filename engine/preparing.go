package engine

import (
	"context"
	"fmt"

	"landfall/engine/fault"
	"landfall/engine/machine"
)

// preparing has the source off and every disk acquired.
type preparing struct{}

// The acts that cannot be undone, by the name of their intent.
const (
	actShutdown = "graceful shutdown of the source"
	actPowerOff = "hard power-off of the source"
	actStart    = "start of the target"
)

func (preparing) observe(ctx context.Context, t *turn) (Observation, error) {
	st := &t.m.Status
	if t.options().Strategy.Type == "Warm" {
		return t.seeWarm(ctx)
	}
	if t.acquired() {
		once(&st.Times.DisksAcquired, t.now)
		t.condition(DiskAcquired, true, "Acquired", fmt.Sprintf("%d disks", len(st.Disks)))
		return Observation{Sight: Complete, Seen: "the source is off and every disk is acquired"}, nil
	}
	if t.copying() {
		return t.watchCopies()
	}
	src, err := t.source(ctx)
	if err != nil {
		return Observation{}, err
	}
	vm, err := src.Inspect(ctx, st.Inventory.Ref)
	if err != nil {
		return Observation{}, err
	}
	if st.Power = vm.Power; st.Power != machine.Off {
		st.Inventory.Tools = vm.Tools
		return t.seePower()
	}
	if err := t.sameDisks(vm); err != nil {
		return Observation{}, err
	}
	if err := src.ProveOff(ctx, vm); err != nil {
		if fault.Is(err, fault.VMRuns) {
			return Observation{Sight: Running, Seen: "off, but still held: " + err.Error(), again: t.e.Poll}, nil
		}
		return Observation{}, err
	}
	t.isOff()
	return t.seeDisks()
}

func (preparing) act(ctx context.Context, t *turn, o Observation) error {
	switch next := o.next.(type) {
	case powerMove:
		return t.power(ctx, next)
	case []int:
		return t.copyDisks(ctx, next)
	case warmWork:
		return t.workWarm(ctx, next)
	}
	return nil
}

// isOff records that the source was seen off, and closes what was asked about it.
func (t *turn) isOff() {
	st := &t.m.Status
	once(&st.Times.SourcePoweredOff, t.now)
	t.achieved(actShutdown)
	t.achieved(actPowerOff)
	st.Shutdown = nil
	for i := range t.decided {
		if d := &t.decided[i]; d.Kind == powerKind {
			t.settle(d)
		}
	}
	t.condition(SourcePoweredOff, true, "Off", "power state off, no lock and no swap file")
}

// sameDisks looks whether the disks are still those that were judged.
func (t *turn) sameDisks(vm machine.VM) error {
	old := *t.m.Status.Inventory
	lines := drift(old, vm)
	if len(vm.DiskList) != len(old.DiskList) {
		return fault.Hint(fault.Newf(fault.Blocked, fault.SizeChanged, "the disks of %s have changed: %v", vm.Ref, lines), "cancel, and migrate the VM again as it is now")
	}
	for i, d := range vm.DiskList {
		o := old.DiskList[i]
		switch {
		case d.Key != o.Key || d.Capacity != o.Capacity:
			return fault.Hint(fault.Newf(fault.Blocked, fault.SizeChanged, "disk %d (%s) of %s was %d bytes (key %d), is %d bytes (key %d)", i, o.Where(), vm.Ref, o.Capacity, o.Key, d.Capacity, d.Key),
				"cancel, and migrate the VM again as it is now")
		case d.Parent && !o.Parent:
			return fault.Hint(fault.Newf(fault.Blocked, "SnapshotAppeared", "disk %d (%s) of %s became a chain: somebody took a snapshot (%s)", i, o.Where(), vm.Ref, d.Path),
				"remove the snapshot, then retry")
		}
	}
	t.inventory(vm)
	return nil
}

func (t *turn) acquired() bool {
	proved := t.options().Strategy.Verify == "proved"
	for _, d := range t.m.Status.Disks {
		if !d.Acquired || (proved && !d.Proved) {
			return false
		}
	}
	return len(t.m.Status.Disks) > 0
}
