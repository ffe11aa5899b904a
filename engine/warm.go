package engine

import (
	"context"
	"fmt"
	"strings"

	"landfall/engine/fault"
	"landfall/engine/machine"
	"landfall/engine/spec"
	"landfall/engine/warm"
	"landfall/sources"
)

// warmWork is what a turn does next for an online migration: tasks of the machine, and moves on the target.
type warmWork struct {
	tasks []warm.Task
	moves []importMove
}

// seeWarm looks at an online migration, lets its machine step, and says what is to be done.
func (t *turn) seeWarm(ctx context.Context) (Observation, error) {
	st := &t.m.Status
	if st.Warm == nil {
		st.Warm = warm.New(t.warmOptions(), t.now)
	}
	w := st.Warm
	w.Options = t.warmOptions()
	if w.Phase == warm.Completed {
		once(&st.Times.DisksAcquired, t.now)
		t.condition(DiskAcquired, true, "Acquired", fmt.Sprintf("%d disks", len(st.Disks)))
		return Observation{Sight: Complete, Seen: "the source is off and every disk is up to date"}, nil
	}
	if err := t.takePasses(); err != nil {
		return Observation{}, err
	}
	t.watchPasses()
	seen := warm.Seen{Now: t.now, Permit: t.warmPermit, Busy: func(i int) bool { return t.e.jobs.running(t.jobKey("warm", i)) }}
	if t.options().Strategy.Warm.CutOver {
		seen.Word = "the operator's word"
	}
	work, o, err := t.lookWarm(ctx, &seen)
	if err != nil || o != nil {
		if o == nil {
			o = &Observation{}
		}
		return *o, err
	}
	before := len(w.History)
	tasks := w.Step(seen)
	t.tellWarm(before)
	t.askAboutRounds()
	for _, task := range tasks {
		if t.mayBegin(task, work.tasks) {
			work.tasks = append(work.tasks, task)
		}
	}
	text := t.warmText()
	if len(work.tasks)+len(work.moves) > 0 {
		return Observation{Sight: Partial, Seen: text, next: work, again: watchEvery}, nil
	}
	again := t.e.Poll
	switch {
	case len(w.History) > before:
		again = 0 // what the new phase wants is seen at once: it may be downtime
	case t.passing():
		again = watchEvery
	}
	return Observation{Sight: Running, Seen: text, again: min(again, t.e.Poll)}, nil
}

func (t *turn) warmOptions() warm.Options {
	o := t.options()
	w := o.Strategy.Warm.Default()
	r := warm.Options{Threshold: w.ThresholdBytes, Budget: seconds(w.DowntimeBudgetSeconds), MaxRounds: w.MaxRounds, Every: seconds(w.RoundSeconds),
		Hold: w.Hold, Quiesce: *w.Quiesce, Proved: o.Strategy.Verify == "proved", Paused: o.Strategy.Paused,
		ConvertRate: float64(w.Assume.ConversionBytesPerSecond), DeliverRate: float64(w.Assume.DeliveryBytesPerSecond), Boot: seconds(w.Assume.BootSeconds),
		NoConversion: o.Strategy.Conversion == spec.ConvertNone, Restore: w.ChangeTracking == spec.EnableAndRestoreTracking}
	if w.Window != nil {
		r.From, r.Until = w.Window.From, w.Window.Until
	}
	return r
}

// lookWarm looks at the source and the target as far as the coordinator's phase asks for. An Observation is given where
// the source's power decides alone.
func (t *turn) lookWarm(ctx context.Context, seen *warm.Seen) (work warmWork, o *Observation, err error) {
	w := t.m.Status.Warm
	// While something is under way the source is not asked in every turn: it finds out by itself when the VM changes.
	if t.passing() && w.Phase != warm.CuttingOver && t.now.Sub(t.r.looked) < t.e.Poll && !t.now.Before(t.r.looked) {
		return work, nil, nil
	}
	t.r.looked = t.now
	src, err := t.live(ctx)
	if err != nil {
		return work, nil, err
	}
	vm, err := src.Inspect(ctx, t.m.Status.Inventory.Ref)
	if err != nil {
		return work, nil, err
	}
	t.m.Status.Power = vm.Power
	if err := t.sameWarm(vm); err != nil {
		return work, nil, err
	}
	all, err := src.Snapshots(ctx, vm.Ref)
	if err != nil {
		return work, nil, err
	}
	ours, err := t.ownSnapshots(all)
	if err != nil {
		return work, nil, err
	}
	switch w.Phase {
	case warm.Initializing:
		seen.Ready, o, err = t.readyWarm(vm, all)
	case warm.PreparingTarget:
		t.lostLeases(ours)
		seen.Waiting, seen.Note, work.moves, err = t.seeTarget(ctx)
		if seen.Target = err == nil && seen.Waiting == ""; err == nil && !seen.Target {
			err = t.lateTarget(seen.Waiting)
		}
	case warm.Active:
		t.lostLeases(ours)
	case warm.CuttingOver:
		o, err = t.seeOff(ctx, src, vm)
		seen.Off = o == nil && err == nil
	case warm.CatchingUp, warm.Completing:
		if vm.Power != machine.Off {
			return work, nil, t.startedAgain(vm)
		}
		if !t.m.Status.Has(SourcePoweredOff) {
			if o, err = t.seeOff(ctx, src, vm); o != nil || err != nil {
				return work, o, err
			}
		}
		seen.Clean = len(ours) == 0
		if w.Phase == warm.Completing {
			if err = t.seeUnwritten(ctx, src); err == nil && seen.Clean {
				seen.Clean, err = t.nothingHeld(ctx)
			}
		}
	}
	return work, o, err
}

// live gives the source as one whose VMs can be copied while they run.
func (t *turn) live(ctx context.Context) (sources.Live, error) {
	src, err := t.source(ctx)
	if err != nil {
		return nil, err
	}
	live, ok := src.(sources.Live)
	if !ok {
		return nil, fault.Hint(fault.Newf(fault.Blocked, fault.Unsupported, "the source cannot be copied while its VMs run"), "cancel, and migrate the VM with strategy Cold")
	}
	return live, nil
}

// tellWarm makes events of what the machine did.
func (t *turn) tellWarm(before int) {
	h := t.m.Status.Warm.History
	for _, c := range h[min(before, len(h)):] {
		who := "coordinator"
		if c.Worker >= 0 {
			who = fmt.Sprintf("disk %d", c.Worker)
		}
		line := fmt.Sprintf("%s: %s → %s", who, c.From, c.To)
		if c.Reason != "" {
			line += ": " + c.Reason
		}
		t.event("info", "Warm", "%s", line)
	}
	for _, d := range t.m.Status.Warm.Workers { // a copy permit ends where bytes stop having to be waited for
		if d.Phase != warm.WorkerPending && d.Phase != warm.WorkerAcquiringLease && d.Phase != warm.WorkerBackfilling && d.Phase != warm.WorkerReplaying && d.Phase != warm.WorkerConverging {
			t.e.permits.free(t.m.UID, t.jobKey("warm", d.Index))
		}
	}
}

// warmPermit asks for a permit of the ESXi host and of the target.
func (t *turn) warmPermit(i int) (bool, int) {
	return t.e.permits.askAll([]string{t.permitHost(), "target " + targetKey(t.options().Destination)}, t.m.UID, t.jobKey("warm", i))
}

// roundsKind is the kind of decision about a disk that does not converge.
const roundsKind = "rounds"

// askAboutRounds asks a person about the disks that do not converge, while their rounds go on, and takes the answers.
func (t *turn) askAboutRounds() {
	w := t.m.Status.Warm
	var asked []Question
	for _, i := range w.Undecided() {
		d, disk := w.Workers[i], fmt.Sprintf("disk %d", i)
		if a := t.answer(roundsKind, disk); a != nil {
			t.settle(a)
			w.Answer(i, a.Answer == "accept")
			continue
		}
		q := Question{Kind: roundsKind, Subject: disk,
			Question: fmt.Sprintf("%s has not converged after %d rounds. Go on?", disk, d.Count),
			Why:      fmt.Sprintf("the last round found %d bytes changed, the threshold is %d; the guest writes about %.0f bytes a second, and %.0f are read.", d.Gap, w.Options.Threshold, d.Written, d.Rate),
			Options: []Option{
				{ID: "more", Label: "Go on", Effect: fmt.Sprintf("up to %d rounds more before you are asked again", w.Options.MaxRounds)},
				{ID: "accept", Label: "Take the gap as it is", Effect: "the disk counts as converged; the downtime is longer by what it takes to read the gap"},
				{ID: cancelAnswer, Label: "Cancel the migration", Effect: "our snapshots are removed; the VM goes on running", Dangerous: true},
			}}
		asked = append(asked, q)
		t.pose(q)
	}
	t.keepOnlySubjects(roundsKind, asked)
}

// keepOnlySubjects is keepOnly for questions that stay the same whatever their figures are.
func (t *turn) keepOnlySubjects(kind string, asked []Question) {
	for i := range t.decided {
		d := &t.decided[i]
		gone := true
		for _, q := range asked {
			gone = gone && q.Subject != d.Subject
		}
		if d.Kind == kind && d.Open() && gone {
			t.settle(d)
		}
	}
}

// warmText says in a line where coordinator and workers are.
func (t *turn) warmText() string {
	w := t.m.Status.Warm
	lines := []string{string(w.Phase)}
	if w.Waiting != "" {
		lines = append(lines, w.Waiting)
	}
	t.m.Status.Queue = 0
	for _, d := range w.Workers {
		line := fmt.Sprintf("disk %d %s", d.Index, d.Phase)
		if d.Queue > 0 {
			line += fmt.Sprintf(", place %d in the line for a permit", d.Queue)
			if q := t.m.Status.Queue; q == 0 || d.Queue < q {
				t.m.Status.Queue = d.Queue
			}
		}
		if d.Whole && (d.Phase == warm.WorkerReplaying || d.Phase == warm.WorkerConverging) {
			line += " (no ranges while the VM runs: the gap is measured, and read when the source is off)"
		}
		if t.e.jobs.running(t.jobKey("warm", d.Index)) {
			t.e.jobs.with(t.jobKey("warm", d.Index), func(state any) { line += ": " + string(state.(*warmJob).do) })
		} else if d.Lease != nil {
			line += fmt.Sprintf(" round %d", d.Count)
		}
		lines = append(lines, line)
	}
	if t.passing() {
		t.m.Status.Queue = 0
	}
	return strings.Join(lines, "; ")
}
