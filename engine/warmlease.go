package engine

import (
	"context"
	"fmt"
	"slices"
	"time"

	"landfall/engine/fault"
	"landfall/engine/machine"
	"landfall/engine/warm"
	"landfall/sources"
)

// takeTimeout bounds the taking of a snapshot. It is not cut short when work is stopped: a snapshot that is being taken comes,
// and must be known before it is cleaned up.
const takeTimeout = 10 * time.Minute

func (t *turn) snapshotRow(name string) Held {
	return Held{Migration: t.m.UID, Kind: heldSnapshot, Where: t.options().Source.Address, Name: name, Since: t.now}
}

// takeLease takes our next snapshot. It is on the list of held things before it is made.
func (t *turn) takeLease(ctx context.Context, src sources.Live, i int) error {
	w := t.m.Status.Warm
	generation := w.Ask()
	wanted := sources.SnapshotSpec{Name: warm.Name(t.m.UID, generation), Description: warm.Description(t.m.UID),
		Quiesce: w.Options.Quiesce && t.m.Status.Power == machine.On && t.m.Status.Inventory.Tools == machine.ToolsRunning}
	t.hold = append(t.hold, t.snapshotRow(wanted.Name))
	if err := t.record(ctx); err != nil {
		return err
	}
	ref := t.m.Status.Inventory.Ref
	t.startWarm(i, warm.TakeLease, func(ctx context.Context, _ *warmJob) (p passed, err error) {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), takeTimeout)
		defer cancel()
		s, err := src.TakeSnapshot(ctx, ref, wanted)
		if fault.Is(err, fault.QuiesceFailed) {
			p.note = fmt.Sprintf("the guest could not be brought to rest (%v): the snapshot is taken without; the disks are as after a power cut until the cutover", err)
			wanted.Quiesce = false
			s, err = src.TakeSnapshot(ctx, ref, wanted)
		}
		p.lease = warm.Lease{Generation: generation, ID: s.ID, Name: s.Name, Taken: s.Taken, Quiesced: wanted.Quiesce, ChangeIDs: s.ChangeIDs}
		return p, err
	})
	return nil
}

// dropLease removes a worker's snapshot and sees it gone.
func (t *turn) dropLease(src sources.Live, i int) {
	l, ref, description := *t.m.Status.Warm.Workers[i].Lease, t.m.Status.Inventory.Ref, warm.Description(t.m.UID)
	t.startWarm(i, warm.DropLease, func(ctx context.Context, _ *warmJob) (passed, error) {
		return passed{}, removeOwn(ctx, src, ref, description, func(s sources.Snapshot) bool { return s.ID == l.ID })
	})
}

// removeOwn removes those of our snapshots that are wanted gone, the newest first, and sees them gone. One that is still being
// taken, for an engine that has died since, is not gone for not being seen.
func removeOwn(ctx context.Context, src sources.Live, ref machine.Ref, description string, which func(sources.Snapshot) bool) error {
	if err := src.Settled(ctx, ref); err != nil {
		return err
	}
	all, err := src.Snapshots(ctx, ref)
	if err != nil {
		return err
	}
	ours := func(s sources.Snapshot) bool { return s.Description == description && which(s) }
	for _, s := range slices.Backward(all) {
		if !ours(s) {
			continue
		}
		if err := src.RemoveSnapshot(ctx, ref, s); err != nil {
			return err
		}
	}
	if all, err = src.Snapshots(ctx, ref); err != nil {
		return err
	}
	if i := slices.IndexFunc(all, ours); i >= 0 {
		return fault.Newf(fault.Transient, "SnapshotStays", "snapshot %q was removed and is still there", all[i].Name)
	}
	return nil
}

// releaseSource removes everything of ours from the source, also what could not be recorded.
func (t *turn) releaseSource(ctx context.Context) error {
	src, err := t.live(ctx)
	if err != nil {
		return err
	}
	if err := removeOwn(ctx, src, t.m.Status.Inventory.Ref, warm.Description(t.m.UID), func(sources.Snapshot) bool { return true }); err != nil {
		return err
	}
	w := t.m.Status.Warm
	w.Swept()
	if w.Phase == warm.Completing && w.Options.Restore { // what a person consented to may not stay on after all
		defer func() {
			t.gone = append(t.gone, Held{Migration: t.m.UID, Kind: heldTracking, Where: t.options().Source.Address, Name: t.m.Status.Inventory.Ref.String()})
		}()
	}
	_, err = t.cleanUp(ctx, func(h Held) bool {
		return h.Kind != heldSnapshot && (h.Kind != heldSwitch || w.Phase != warm.Completing)
	})
	return err
}

// removeSnapshots releases a held snapshot. A VM that is gone has none.
func (e *Engine) removeSnapshots(ctx context.Context, m Migration, name string) (bool, error) {
	src, err := e.sources.get(ctx, m.options().Source)
	if err != nil {
		return false, err
	}
	live, ok := src.(sources.Live)
	if !ok || m.Status.Inventory == nil {
		return true, nil // none can have been taken
	}
	err = removeOwn(ctx, live, m.Status.Inventory.Ref, warm.Description(m.UID), func(s sources.Snapshot) bool { return s.Name == name })
	if fault.Is(err, fault.NotFound) {
		return true, nil
	}
	return err == nil, err
}

// restoreTracking switches change tracking off again, and sees it off.
func (e *Engine) restoreTracking(ctx context.Context, m Migration) (bool, error) {
	src, err := e.sources.get(ctx, m.options().Source)
	if err != nil {
		return false, err
	}
	live, ok := src.(sources.Live)
	if !ok || m.Status.Inventory == nil {
		return true, nil
	}
	ref := m.Status.Inventory.Ref
	switch err := live.SetChangeTracking(ctx, ref, false); {
	case fault.Is(err, fault.NotFound):
		return true, nil
	case err != nil:
		return false, err
	}
	vm, err := live.Inspect(ctx, ref)
	return err == nil && !vm.ChangeTracking, err
}

// interruptWarm takes cancelling or failing into the online migration; the first reason is kept.
func (t *turn) interruptWarm() {
	st := &t.m.Status
	if st.Warm == nil {
		return
	}
	before, reason := len(st.Warm.History), "a person cancelled"
	failing := st.Phase == Failing
	if n := len(st.Errors); failing && n > 0 {
		reason = st.Errors[n-1].Message
	}
	if st.Warm.Interrupt(failing, reason, t.now) {
		t.tellWarm(before)
	}
}

// closeWarm ends the online migration with the whole one. left is how many things could not be cleaned up.
func (t *turn) closeWarm(left int) {
	if w := t.m.Status.Warm; w != nil {
		before := len(w.History)
		w.Close(left, t.now)
		t.tellWarm(before)
	}
}
