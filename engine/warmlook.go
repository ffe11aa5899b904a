package engine

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"landfall/engine/fault"
	"landfall/engine/machine"
	"landfall/engine/plaintext"
	"landfall/engine/preflight"
	"landfall/engine/spec"
	"landfall/engine/warm"
	"landfall/sources"
)

func seconds(n int) time.Duration { return time.Duration(n) * time.Second }

// sameWarm looks whether the VM is still the one that was judged. Its paths change with every snapshot and are not compared.
func (t *turn) sameWarm(vm machine.VM) error {
	old := t.m.Status.Inventory
	if changed := diskChanges(old.DiskList, vm.DiskList); len(changed) > 0 {
		return fault.Hint(fault.Newf(fault.Blocked, fault.SizeChanged, "%s has changed while it was being moved: %s", vm.Ref, strings.Join(changed, "; ")),
			"cancel, and migrate the VM again as it is now")
	}
	if old.Host != vm.Host {
		t.event("warn", "Drift", "%s moved from host %s to %s", vm.Ref, old.Host, vm.Host)
		old.Host = vm.Host
	}
	old.Tools = vm.Tools
	if w := t.m.Status.Warm.Phase; w == warm.Initializing || w == warm.Active || w == warm.PreparingTarget {
		old.Power = vm.Power
	}
	return nil
}

// diskChanges says which disks have another size than the one that was judged, came or went.
func diskChanges(old, now []machine.Disk) (lines []string) {
	at := func(list []machine.Disk, key int32) int {
		return slices.IndexFunc(list, func(d machine.Disk) bool { return d.Key == key })
	}
	for i, o := range old {
		name := fmt.Sprintf("disk %d (%s, %s)", i, plaintext.Label(o.Label), o.Where())
		switch n := at(now, o.Key); {
		case n < 0:
			lines = append(lines, fmt.Sprintf("%s of %d bytes was removed", name, o.Capacity))
		case now[n].Capacity != o.Capacity:
			lines = append(lines, fmt.Sprintf("%s had %d bytes and has %d", name, o.Capacity, now[n].Capacity))
		}
	}
	for _, n := range now {
		if at(old, n.Key) < 0 {
			lines = append(lines, fmt.Sprintf("a disk (%s, %s) of %d bytes was added", plaintext.Label(n.Label), n.Where(), n.Capacity))
		}
	}
	return lines
}

// ownSnapshots gives our snapshots. One of another's is never touched, and nothing is done beside it.
func (t *turn) ownSnapshots(all []sources.Snapshot) (ours []sources.Snapshot, err error) {
	for _, s := range all {
		if s.Description != warm.Description(t.m.UID) {
			return nil, fault.Hint(fault.Newf(fault.Blocked, "SnapshotAppeared", "%s has a snapshot that is not ours (%q): a warm migration needs it without any", t.m.Status.Inventory.Ref, s.Name),
				"remove it, then retry; or cancel, and migrate the VM with strategy Cold")
		}
		ours = append(ours, s)
	}
	return ours, nil
}

// lostLeases finds our snapshots that somebody else removed: their disks are read whole again.
func (t *turn) lostLeases(ours []sources.Snapshot) {
	alive := func(id string) bool {
		return slices.ContainsFunc(ours, func(s sources.Snapshot) bool { return s.ID == id })
	}
	for _, i := range t.m.Status.Warm.Lost(alive) {
		t.reread(i, t.m.Status.Warm.Workers[i].Full)
	}
}

// reread makes a disk be read whole, with the reason shown.
func (t *turn) reread(i int, why string) {
	t.m.Status.Warm.Reread(i, why)
	d := &t.m.Status.Disks[i]
	*d = Disk{Index: d.Index, Key: d.Key, Label: d.Label, Size: d.Size, Volume: d.Volume, VolumePhase: d.VolumePhase, Forget: true}
	t.event("warn", "FullPass", "disk %d is read whole again: %s", i, why)
}

// maxChain is how many snapshots a VM can have on ESXi.
const maxChain = 32

// trackingKind is the kind of decision about switching change tracking on.
const trackingKind = "change-tracking"

// readyWarm says whether everything that Initializing asks for is true.
func (t *turn) readyWarm(vm machine.VM, all []sources.Snapshot) (bool, *Observation, error) {
	st := &t.m.Status
	cold := "cancel, and migrate the VM with strategy Cold"
	refuse := func(format string, args ...any) (bool, *Observation, error) {
		return false, nil, fault.Hint(fault.Newf(fault.Blocked, "NotWarm", format, args...), "%s", cold)
	}
	switch {
	case vm.HardwareVersion > 0 && vm.HardwareVersion < 7:
		return refuse("%s has hardware version %d: change tracking begins with 7", vm.Ref, vm.HardwareVersion)
	case vm.Consolidate:
		return refuse("the disks of %s need consolidation: a snapshot left files behind", vm.Ref)
	case vm.FaultTolerance:
		return refuse("%s is protected by fault tolerance: it takes no snapshots", vm.Ref)
	case len(all) >= maxChain-1:
		return refuse("%s has %d snapshots: there is no room for one of ours", vm.Ref, len(all))
	}
	keys, sizes := make([]int32, len(vm.DiskList)), make([]int64, len(vm.DiskList))
	for i, d := range vm.DiskList {
		switch {
		case d.Independent, d.Backing == machine.RDMPhysical, d.Shared:
			return refuse("disk %d (%s) of %s takes no part in snapshots", i, d.Where(), vm.Ref)
		case d.Parent && len(all) == 0:
			return refuse("disk %d (%s) of %s is a chain without a snapshot", i, d.Where(), vm.Ref)
		}
		keys[i], sizes[i] = d.Key, d.Capacity
	}
	st.Warm.Hire(keys, sizes, t.now)
	if i := t.intent("fix: " + preflight.EnableTracking); i != nil {
		st.Warm.Tracking = true
	}
	switch {
	case vm.ChangeTracking:
		if st.Warm.Tracking && st.Warm.Options.Restore {
			t.holdSwitch(vm.Ref)
		}
		return true, nil, nil
	case t.options().Strategy.Warm.ChangeTracking != "", st.Warm.Tracking:
		return false, nil, nil // consent was given
	}
	if d := t.answer(trackingKind, "source"); d != nil {
		t.settle(d)
		st.Warm.Tracking = true
		return false, nil, nil
	}
	return false, &Observation{Sight: Foreign, Seen: "change tracking is off", Questions: []Question{{Kind: trackingKind, Subject: "source",
		Question: fmt.Sprintf("Change tracking of %s is off. Switch it on?", t.m.VMName()),
		Why:      "A warm migration follows what the guest writes by it. It changes the VM's configuration, and becomes active with our first snapshot.",
		Options: []Option{
			{ID: string(spec.EnableTracking), Label: "Switch it on", Effect: "it stays on after the migration unless the document says EnableAndRestore"},
			{ID: cancelAnswer, Label: "Cancel the migration", Effect: "nothing was touched; migrate the VM with strategy Cold", Dangerous: true},
		}}}}, nil
}

// initialize switches change tracking on; the consent was given and is on record.
func (t *turn) initialize(ctx context.Context, src sources.Live) error {
	st := &t.m.Status
	vm, err := src.Inspect(ctx, st.Inventory.Ref)
	if err != nil || vm.ChangeTracking {
		return err
	}
	st.Warm.Tracking = true
	if st.Warm.Options.Restore {
		t.holdSwitch(vm.Ref)
	}
	t.event("warn", "ChangeTracking", "change tracking of %s is switched on", vm.Ref)
	if err := t.record(ctx); err != nil {
		return err
	}
	return src.SetChangeTracking(ctx, vm.Ref, true)
}

// holdSwitch writes down that change tracking is to be switched off again.
func (t *turn) holdSwitch(ref machine.Ref) {
	t.hold = append(t.hold, Held{Migration: t.m.UID, Kind: heldSwitch, Where: t.options().Source.Address, Name: ref.String(), Since: t.now,
		Note: "switched on by us, to be switched off again"})
}

// lateTarget is an error when the target was not ready for longer than it is waited for.
func (t *turn) lateTarget(waiting string) error {
	w := t.m.Status.Warm
	row, _ := warm.Coordinator.Row(w.Phase)
	since := w.Since
	if h := t.m.Status.History; len(h) > 0 && h[len(h)-1].Time.After(since) {
		since = h[len(h)-1].Time // a person said to go on
	}
	if t.now.Sub(since) <= row.Patience {
		return nil
	}
	return fault.Hint(fault.Newf(fault.Blocked, "TargetNotReady", "the target is not ready after %s: %s", row.Patience, waiting), "%s", row.Stuck)
}

// seeOff has the source off: nil, nil when it is, and nothing holds its disks.
func (t *turn) seeOff(ctx context.Context, src sources.Live, vm machine.VM) (*Observation, error) {
	if vm.Power != machine.Off {
		o, err := t.seePower()
		return &o, err
	}
	if err := src.ProveOff(ctx, vm); err != nil {
		if fault.Is(err, fault.VMRuns) {
			return &Observation{Sight: Running, Seen: "off, but still held: " + err.Error(), again: t.e.Poll}, nil
		}
		return nil, err
	}
	t.isOff()
	t.m.Status.Inventory.Power = machine.Off
	return nil, nil
}

// startedAgain is when the source runs although it was seen off. What was caught up with is caught up with again; a disk that
// was finished cannot be.
func (t *turn) startedAgain(vm machine.VM) error {
	st := &t.m.Status
	t.e.jobs.stop(t.m.UID) // what a pass brings that was begun before is not what the source holds now
	for i := range st.Warm.Workers {
		if !t.writtenAgain(i) {
			return fault.Newf(fault.Permanent, "PoweredOnAgain", "%s is %s after its disk %d was finished: what it writes is in no copy", vm.Ref, vm.Power, i)
		}
	}
	st.Times.SourcePoweredOff = time.Time{}
	t.condition(SourcePoweredOff, false, "PoweredOn", "the source was powered on again")
	return fault.Hint(fault.Newf(fault.Blocked, "PoweredOnAgain", "%s was powered on again after it had been seen off", vm.Ref),
		"find out who started it; shut it down and retry: what it wrote meanwhile is caught up with; or cancel")
}

// writtenAgain has a disk caught up with once more, and tells whether that can be.
func (t *turn) writtenAgain(i int) bool {
	t.m.Status.Disks[i].Acquired = false
	return t.m.Status.Warm.Written(i)
}

// seeUnwritten looks whether the source's disks are as they were caught up with: it may have run between two looks at its power.
func (t *turn) seeUnwritten(ctx context.Context, src sources.Source) error {
	for i, w := range t.m.Status.Warm.Workers {
		if d := t.m.Status.Disks[i]; w.CaughtUp && d.Stamp != "" {
			disk, stamp, err := t.openDisk(ctx, src, i)
			if err == nil {
				err = disk.Close()
			}
			if err != nil {
				return err
			}
			if stamp != d.Stamp {
				t.event("warn", "SourceWritten", "disk %d was written after it was caught up with (%s, now %s): what changed is read once more", i, d.Stamp, stamp)
				t.writtenAgain(i)
			}
		}
	}
	return nil
}

// nothingHeld tells whether all that was on the source is struck off.
func (t *turn) nothingHeld(ctx context.Context) (bool, error) {
	held, err := t.e.Store.Held(ctx, t.m.UID)
	return !slices.ContainsFunc(held, onSource), err
}

func onSource(h Held) bool { return h.Kind == heldSnapshot || h.Kind == heldSwitch }
