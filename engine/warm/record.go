package warm

import (
	"fmt"
	"time"
)

// Name is how a snapshot of ours is called: the same whenever the same one is asked for again.
func Name(uid string, generation int) string { return fmt.Sprintf("landfall-%s-%d", uid, generation) }

// Description marks every snapshot of a migration as its own.
func Description(uid string) string { return "landfall migration " + uid }

// Ask gives the generation of the snapshot that is to be taken. One that was asked for and not seen yet is asked for again,
// under the same name.
func (s *State) Ask() int {
	if s.Wanted == 0 {
		s.Generation++
		s.Wanted = s.Generation
	}
	return s.Wanted
}

// Leased records a snapshot that was taken for a worker. ok is false when tracking has given no change ids too often.
func (s *State) Leased(worker int, l Lease) (ok bool) {
	w := &s.Workers[worker]
	s.Latest, s.Wanted = &l, 0
	s.hand(w, l)
	if w.Lease.ChangeID != "" {
		w.Empty = 0
		return true
	}
	w.Empty++
	return w.Empty < maxEmpty
}

// Dropped records that a worker's snapshot was seen gone.
func (s *State) Dropped(worker int) {
	w := &s.Workers[worker]
	if w.Lease == nil {
		return
	}
	gone := w.Lease.Generation
	if s.Latest != nil && s.Latest.Generation == gone {
		s.Latest = nil
	}
	w.Last, w.Lease = max(w.Last, gone), nil
}

// Swept records that no snapshot of ours is on the source.
func (s *State) Swept() {
	s.Latest, s.Wanted = nil, 0
	for i := range s.Workers {
		s.Dropped(i)
	}
}

// Lost records that snapshots were removed by somebody else: their workers read the whole disk again. alive tells whether a
// snapshot is there.
func (s *State) Lost(alive func(id string) bool) (workers []int) {
	for i := range s.Workers {
		w := &s.Workers[i]
		if w.Lease == nil || w.Lease.Dropping || alive(w.Lease.ID) {
			continue
		}
		name := w.Lease.Name
		s.Dropped(i)
		s.Reread(i, "our snapshot "+name+" was removed by somebody else")
		workers = append(workers, i)
	}
	return workers
}

// Reread has the whole disk read again, because its changes cannot be trusted.
func (s *State) Reread(worker int, why string) {
	w := &s.Workers[worker]
	w.Full, w.Base, w.Gap, w.Accepted = why, "", -1, false
	s.Written(worker)
}

// Written records that the source was written after its disk was caught up with, or may have been: what changed is read once
// more. It tells whether that can be: a worker that has completed is never begun again.
func (s *State) Written(worker int) bool {
	w := &s.Workers[worker]
	w.CaughtUp, w.Final = false, false
	return w.Phase != WorkerCompleted
}

// Copied records a whole copy of the disk as its lease froze it.
func (s *State) Copied(worker int, r Round, reader string, whole bool) {
	w := &s.Workers[worker]
	r.Kind, r.Reason = KindFull, w.Full
	if w.Lease != nil {
		r.Taken = w.Lease.Taken
		w.Base, w.Lease.Used, w.Last = w.Lease.ChangeID, true, max(w.Last, w.Lease.Generation)
	}
	w.Full, w.Reader, w.Whole = "", reader, whole
	w.measure(&r)
	w.round(r)
}

// Replayed records a round: r.Bytes changed. Where they were only counted, the image still stands at the old change id.
func (s *State) Replayed(worker int, r Round, applied bool) {
	w := &s.Workers[worker]
	r.Kind = KindGap
	if w.Lease != nil {
		r.Taken = w.Lease.Taken
		w.Lease.Used, w.Last = true, max(w.Last, w.Lease.Generation)
		if applied {
			w.Base = w.Lease.ChangeID
		}
	}
	if w.Gap = r.Bytes; applied {
		r.Kind = KindChanges
		w.measure(&r)
	}
	w.writes(r)
	w.round(r)
}

// Caught records the last pass, made while the source was off.
func (s *State) Caught(worker int, r Round) {
	w := &s.Workers[worker]
	r.Kind, r.Reason = KindFinal, w.Full
	w.Full, w.Gap, w.CaughtUp = "", 0, true
	w.measure(&r)
	w.round(r)
}

// enough is how much must have been read for a rate to be worth anything.
const enough = 1 << 20

func (w *Disk) measure(r *Round) {
	if r.Seconds > 0 {
		r.Rate = float64(r.Bytes) / r.Seconds
	}
	if r.Bytes >= enough && r.Rate > 0 {
		w.Rate = r.Rate
	}
}

// writes measures how fast the guest writes: what changed between two snapshots, over the time between them.
func (w *Disk) writes(r Round) {
	if len(w.Rounds) == 0 || r.Taken.IsZero() {
		return
	}
	before := w.Rounds[len(w.Rounds)-1]
	changed := r.Bytes
	if r.Kind == KindGap && before.Kind == KindGap {
		changed = max(0, r.Bytes-before.Bytes) // both are counted from the same change id
	}
	if dt := r.Taken.Sub(before.Taken).Seconds(); dt > 0 && !before.Taken.IsZero() {
		w.Written = float64(changed) / dt
	}
}

// Interrupt begins the end: cancelling, or failing, which beats it. The first reason is kept. It tells whether anything
// changed.
func (s *State) Interrupt(failing bool, reason string, now time.Time) bool {
	to, each := Cancelling, WorkerCancelling
	if failing {
		to, each = Failing, WorkerFailing
		if s.Failure == "" && !s.Ended() {
			s.Failure = reason
		}
	}
	if !Coordinator.Allowed(s.Phase, to) {
		return false
	}
	s.enter(to, now, reason)
	for i := range s.Workers {
		if w := &s.Workers[i]; Worker.Allowed(w.Phase, each) {
			s.move(w, each, now, reason)
		}
	}
	return true
}

// Close ends an interrupt: everything is cleaned up, or given up with a list of what is left. left is how many things are.
func (s *State) Close(left int, now time.Time) {
	reason := ""
	if left > 0 {
		reason = fmt.Sprintf("%d things are left", left)
	}
	for i := range s.Workers {
		w := &s.Workers[i]
		if !Worker.Terminal(w.Phase) {
			if to := map[bool]WorkerPhase{true: WorkerFailing, false: WorkerCancelling}[s.Phase == Failing]; Worker.Allowed(w.Phase, to) {
				s.move(w, to, now, reason)
			}
			if left == 0 {
				w.Lease = nil
			}
			row, _ := Worker.Row(w.Phase)
			s.move(w, row.Next, now, reason)
		}
	}
	if left == 0 {
		s.Latest = nil
	}
	if !s.Ended() {
		row, _ := Coordinator.Row(s.Phase)
		s.enter(row.Next, now, reason)
	}
}
