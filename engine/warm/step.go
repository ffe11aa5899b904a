package warm

import (
	"slices"
	"time"
)

// Seen is what was observed for one step. What a task brought is recorded in the state before.
type Seen struct {
	Now time.Time
	// Ready: what Initializing asks for is true and the workers are hired.
	Ready bool
	// Target: the target is as PreparingTarget asks for; Waiting says what is missing.
	Target  bool
	Waiting string
	// Note is what is not as usual about a target that is ready, as the operator reads it beside what is waited for.
	Note string
	// Word: a person wants the cutover.
	Word string
	// Off: the source is off and nothing holds its disks, looked at for this step.
	Off bool
	// Clean: no snapshot of ours is on the source, and in Completing, what was to be switched back is. It is looked at from
	// CatchingUp on.
	Clean bool
	// Permit tells whether a worker holds a copy permit, or its place in the line; it is asked only of those that need one.
	Permit func(worker int) (bool, int)
	// Busy tells whether something is under way for a worker: it gets no task meanwhile. nil: nothing is.
	Busy func(worker int) bool
}

// Task is what is to be done next for a worker, or with Worker -1 for the coordinator.
type Task struct {
	Worker int
	Do     Do
}

// Do is a kind of task. Each may be begun again after any interruption.
type Do string

const (
	Initialize Do = "initialize" // look at the source, switch tracking on, hire
	TakeLease  Do = "take lease" // take the snapshot of State.Generation
	DropLease  Do = "drop lease" // remove the worker's snapshot and see it gone
	Backfill   Do = "backfill"   // copy all of the disk as the lease froze it
	Replay     Do = "replay"     // ask what changed between Base and the lease, and apply it
	Catch      Do = "catch up"   // ask what changed since Base, now that the source is off, and apply it
	Finish     Do = "finish"     // record the digest
	Prepare    Do = "prepare the target"
	Stop       Do = "stop the source"
	Sweep      Do = "sweep"   // remove a snapshot of ours that was taken and could not be recorded
	Release    Do = "release" // see that nothing of ours is left on the source
)

// Step leaves the phases whose goal was seen, at most one of the coordinator and one of each worker, and gives what is to
// be done then. The state is to be committed before any of it is done; the same tasks are given until they have brought
// something.
func (s *State) Step(seen Seen) []Task {
	if s.Ended() || s.Phase == Cancelling || s.Phase == Failing {
		return nil
	}
	for i := range s.Workers {
		s.advance(&s.Workers[i], seen)
	}
	s.Forecast = s.forecast(seen.Now)
	s.coordinate(seen)
	return s.tasks(seen)
}

func (s *State) coordinate(seen Seen) {
	switch s.Phase {
	case Initializing:
		if seen.Ready && len(s.Workers) > 0 {
			s.enter(Active, seen.Now, "")
		}
	case Active:
		if s.all(WorkerConverged) {
			s.enter(PreparingTarget, seen.Now, "")
		}
	case PreparingTarget:
		if !seen.Target {
			if seen.Waiting != "" { // else the target was not looked at
				s.Waiting, s.Closing = seen.Waiting, false
			}
			return
		}
		word, waiting := s.mayCut(seen)
		s.Closing = word != "" && s.busy(seen)
		switch {
		case s.Closing:
			s.Waiting = "the round under way ends while the source still runs; then it is stopped"
			return
		case word == "":
			if s.Waiting = waiting; seen.Note != "" {
				s.Waiting += "; " + seen.Note
			}
			return
		}
		s.Waiting = ""
		promised := s.Forecast
		s.Word, s.Promised = word, &promised
		s.enter(CuttingOver, seen.Now, word)
	case CuttingOver:
		if seen.Off {
			s.enter(CatchingUp, seen.Now, "")
		}
	case CatchingUp:
		if s.all(WorkerCompleting, WorkerCompleted) {
			s.enter(Completing, seen.Now, "")
		}
	case Completing:
		if seen.Clean && !s.Snapshots() && s.all(WorkerCompleted) {
			s.enter(Completed, seen.Now, "")
		}
	}
}

// mayCut gives on whose word the source may be stopped now, or what is waited for.
func (s *State) mayCut(seen Seen) (word, waiting string) {
	o := s.Options
	inside := !o.From.IsZero() && !seen.Now.Before(o.From) && seen.Now.Before(o.Until)
	switch {
	case o.Hold:
		return "", "the cutover is held by a person"
	case o.Paused:
		return "", "paused by a person"
	case !s.all(WorkerConverged), slices.ContainsFunc(s.Workers, func(w Disk) bool { return w.Full != "" || w.Base == "" }):
		return "", "a disk is being copied anew"
	case seen.Word != "":
		return seen.Word, ""
	case o.From.IsZero():
		return "", "ready: waiting for the word to cut over"
	case seen.Now.Before(o.From):
		return "", "ready: waiting for the window, which opens " + o.From.UTC().Format(time.RFC3339)
	case !inside:
		return "", "the window has closed: waiting for the word to cut over"
	}
	total, known := s.Forecast.Total()
	switch {
	case !known:
		return "", "in the window, but the downtime cannot be forecast: waiting for the word to cut over"
	case total > o.Budget:
		return "", "in the window, but the projected downtime of " + total.Round(time.Second).String() + " is beyond the budget of " + o.Budget.String()
	}
	return "window " + o.From.UTC().Format(time.RFC3339) + " – " + o.Until.UTC().Format(time.RFC3339), ""
}

// busy tells whether a round is under way for any disk.
func (s *State) busy(seen Seen) bool {
	return seen.Busy != nil && slices.ContainsFunc(s.Workers, func(w Disk) bool { return seen.Busy(w.Index) })
}

func (s *State) all(phases ...WorkerPhase) bool {
	return len(s.Workers) > 0 && !slices.ContainsFunc(s.Workers, func(w Disk) bool { return !slices.Contains(phases, w.Phase) })
}

// advance leaves a worker's phase when its goal is recorded.
func (s *State) advance(w *Disk, seen Seen) {
	switch w.Phase {
	case WorkerPending:
		if s.Phase == Active && s.permitted(w, seen) {
			s.move(w, WorkerAcquiringLease, seen.Now, "")
		}
	case WorkerAcquiringLease:
		if w.Lease != nil && w.Lease.ChangeID != "" {
			s.move(w, WorkerBackfilling, seen.Now, "")
		}
	case WorkerBackfilling:
		if w.Base != "" && w.Full == "" {
			s.move(w, WorkerReplaying, seen.Now, "")
		}
	case WorkerReplaying:
		if n := len(w.Rounds); n > 0 && w.Rounds[n-1].Kind != KindFull && w.Full == "" {
			s.move(w, WorkerConverging, seen.Now, "")
		}
	case WorkerConverging:
		if why := s.converged(w, seen.Now); why != "" {
			s.move(w, WorkerConverged, seen.Now, why)
		}
	case WorkerConverged:
		if s.Phase == CatchingUp {
			s.move(w, WorkerCatchingUp, seen.Now, "")
		}
	case WorkerCatchingUp:
		if w.CaughtUp {
			s.move(w, WorkerCompleting, seen.Now, "")
		}
	case WorkerCompleting:
		// All complete at once, at the end: until then a source that was written again can be caught up with again.
		if w.Lease == nil && seen.Clean && s.finished() {
			s.move(w, WorkerCompleted, seen.Now, "")
		}
	}
}

// finished tells whether the digest of every disk is recorded.
func (s *State) finished() bool {
	return s.Phase == Completing && !slices.ContainsFunc(s.Workers, func(w Disk) bool { return !w.Final || !w.CaughtUp })
}

// permitted asks for a permit and records the place in the line.
func (s *State) permitted(w *Disk, seen Seen) bool {
	if s.Options.Paused || seen.Permit == nil {
		return false
	}
	ok, place := seen.Permit(w.Index)
	if w.Queue = place; ok {
		w.Queue = 0
	}
	return ok
}

// converged says why the gap of a disk is small enough, or "".
func (s *State) converged(w *Disk, now time.Time) string {
	switch {
	case w.Full != "" || w.Gap < 0:
		return ""
	case w.Accepted:
		return "a person takes the gap as it is"
	case w.Gap <= s.Options.Threshold:
		return "the gap is below the threshold"
	case s.Options.Budget > 0:
		if total, known := s.forecast(now).Total(); known && total <= s.Options.Budget {
			return "the projected downtime is within the budget"
		}
	}
	return ""
}

// Undecided gives the workers that have made too many rounds without converging: a person is to be asked.
func (s *State) Undecided() (workers []int) {
	for _, w := range s.Workers {
		if w.Phase == WorkerConverging && w.Count-w.Asked > s.Options.MaxRounds && !w.Accepted {
			workers = append(workers, w.Index)
		}
	}
	return workers
}

// Answer takes what a person said to that: as many rounds again, or the gap as it is.
func (s *State) Answer(worker int, accept bool) {
	w := &s.Workers[worker]
	w.Asked, w.Accepted = w.Count, accept
}

func (s *State) tasks(seen Seen) (tasks []Task) {
	coordinator := func(do Do) { tasks = append(tasks, Task{-1, do}) }
	switch s.Phase {
	case Initializing:
		coordinator(Initialize)
	case PreparingTarget:
		if !seen.Target {
			coordinator(Prepare)
		}
	case CuttingOver:
		coordinator(Stop)
	case CatchingUp:
		if !seen.Clean && !slices.ContainsFunc(s.Workers, func(w Disk) bool { return w.Lease != nil }) {
			coordinator(Sweep)
		}
	case Completing:
		if s.finished() {
			coordinator(Release)
		}
	}
	for i := range s.Workers {
		if seen.Busy != nil && seen.Busy(i) {
			continue
		}
		if do := s.task(&s.Workers[i], seen); do != "" {
			tasks = append(tasks, Task{i, do})
		}
	}
	return tasks
}

// task says what is to be done for a worker. Bytes move only with a permit, until the disk has converged.
func (s *State) task(w *Disk, seen Seen) Do {
	live := s.Phase == Active || s.Phase == PreparingTarget
	switch w.Phase {
	case WorkerAcquiringLease:
		return s.lease(w)
	case WorkerBackfilling, WorkerReplaying, WorkerConverging:
		if live && s.permitted(w, seen) {
			return s.pass(w)
		}
	case WorkerConverged:
		// The source is about to be stopped, or is: what is under way is taken, nothing is begun.
		if live && !s.Closing && !s.Options.Paused && s.due(w, seen.Now) {
			return s.pass(w)
		}
	case WorkerCatchingUp:
		switch {
		case w.Lease != nil:
			return s.drop(w)
		case seen.Clean && !s.Snapshots() && !s.Options.Paused: // the disk is one file again only when the last snapshot is gone
			return Catch
		}
	case WorkerCompleting:
		switch {
		case w.Lease != nil:
			return s.drop(w)
		case !w.CaughtUp && !s.Snapshots() && !s.Options.Paused: // the source was written once more
			return Catch
		case w.CaughtUp && !w.Final && s.Phase == Completing:
			return Finish
		}
	}
	return ""
}

// due tells whether a converged disk is to be brought up to date again. A round that was begun is gone on with.
func (s *State) due(w *Disk, now time.Time) bool {
	if w.Full != "" || w.Lease == nil || !w.Lease.Used || w.Lease.Dropping || len(w.Rounds) == 0 {
		return true
	}
	r := w.Rounds[len(w.Rounds)-1]
	ended := r.Started.Add(time.Duration(r.Seconds * float64(time.Second)))
	return now.Sub(ended) >= s.Options.Every || now.Before(r.Started) // a clock that was set back delays nothing
}

// pass is the next part of a round: the change id is recorded, so the old snapshot is removed, a new one is taken, and what
// changed between them is asked for.
func (s *State) pass(w *Disk) Do {
	switch {
	case w.Lease != nil && (w.Lease.Used || w.Lease.Dropping):
		if s.drop(w) == DropLease {
			return DropLease
		}
		return s.lease(w)
	case w.Lease == nil:
		return s.lease(w)
	case w.Full != "" || w.Base == "":
		return Backfill
	}
	return Replay
}

// drop gives up a worker's lease. The snapshot itself is removed by the last worker that holds it.
func (s *State) drop(w *Disk) Do {
	if slices.ContainsFunc(s.Workers, func(o Disk) bool {
		return o.Index != w.Index && o.Lease != nil && o.Lease.Generation == w.Lease.Generation
	}) && !w.Lease.Dropping {
		w.Last, w.Lease = max(w.Last, w.Lease.Generation), nil
		return ""
	}
	w.Lease.Dropping = true
	return DropLease
}

// lease gets a worker a snapshot that is newer than what it has read: another's, or one of its own.
func (s *State) lease(w *Disk) Do {
	if w.Lease != nil {
		return s.drop(w) // it has no change id
	}
	if l := s.Latest; l != nil && l.Generation > w.Last && l.ChangeIDs[w.Key] != "" && slices.ContainsFunc(s.Workers, func(o Disk) bool {
		return o.Lease != nil && o.Lease.Generation == l.Generation && !o.Lease.Dropping
	}) {
		s.hand(w, *l)
		return ""
	}
	return TakeLease
}

// hand gives a worker the lease as its own.
func (s *State) hand(w *Disk, l Lease) {
	l.ChangeID, l.ChangeIDs, l.Used, l.Dropping = l.ChangeIDs[w.Key], nil, false, false
	w.Lease = &l
}
