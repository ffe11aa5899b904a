package warm

import (
	"slices"
	"time"
)

// State is an online migration as it is recorded, in one transaction, before anything is done about it.
type State struct {
	Phase   CoordinatorPhase `json:"phase"`
	Since   time.Time        `json:"since"` // when the phase was entered
	Options Options          `json:"options"`
	Workers []Disk           `json:"workers,omitempty"`
	// Generation counts the snapshots that were asked for; it makes their names. It is raised before one is taken.
	Generation int `json:"generation,omitempty"`
	// Wanted is the generation that was asked for and is not recorded yet; 0: none.
	Wanted int `json:"wanted,omitempty"`
	// Latest is the newest snapshot of ours that was seen; a worker in need of one shares it while another holds it.
	Latest *Lease `json:"latest,omitempty"`
	// Tracking says that we switched change tracking on.
	Tracking bool `json:"tracking,omitempty"`
	// Waiting is what the coordinator waits for, as the operator reads it.
	Waiting string `json:"waiting,omitempty"`
	// Closing: the source is stopped as soon as the rounds that are under way have ended; none is begun.
	Closing  bool     `json:"closing,omitempty"`
	Forecast Forecast `json:"forecast"`
	// Promised is the forecast at the moment of the cutover, to be compared with what was measured.
	Promised *Forecast `json:"promised,omitempty"`
	Word     string    `json:"word,omitempty"`    // on whose word, or by which window, the source was stopped
	Failure  string    `json:"failure,omitempty"` // the first reason; later ones do not replace it
	History  []Change  `json:"history,omitempty"`
}

// Options are those of the document, resolved.
type Options struct {
	Threshold    int64         `json:"threshold"` // bytes
	Budget       time.Duration `json:"budget"`    // of downtime; 0: not looked at
	MaxRounds    int           `json:"maxRounds"`
	Every        time.Duration `json:"every"` // between rounds of a converged disk
	From         time.Time     `json:"from,omitzero"`
	Until        time.Time     `json:"until,omitzero"`
	Hold         bool          `json:"hold,omitempty"`
	Quiesce      bool          `json:"quiesce,omitempty"`
	Proved       bool          `json:"proved,omitempty"`
	Paused       bool          `json:"paused,omitempty"`
	ConvertRate  float64       `json:"convertRate,omitempty"` // bytes per second as the operator gave them; 0: unknown
	DeliverRate  float64       `json:"deliverRate,omitempty"`
	Boot         time.Duration `json:"boot,omitempty"`
	NoConversion bool          `json:"noConversion,omitempty"`
	Restore      bool          `json:"restore,omitempty"` // change tracking, at the end
}

// Disk is one disk's worker as it is recorded.
type Disk struct {
	Index int         `json:"disk"`
	Key   int32       `json:"key"` // of the device
	Size  int64       `json:"size"`
	Phase WorkerPhase `json:"phase"`
	Since time.Time   `json:"since"`
	Lease *Lease      `json:"lease,omitempty"`
	// Last is the generation of the newest lease that was read; an older one is never taken for a round.
	Last int `json:"last,omitempty"`
	// Base is the change id that the image stands at: everything written after it is still to be copied.
	Base string `json:"base,omitempty"`
	// Full is why the next pass reads the whole disk, "" where changes suffice.
	Full string `json:"full,omitempty"`
	// Reader is how the disk is read; Whole, that it gives no ranges while the VM runs: then rounds only measure the gap.
	Reader   string  `json:"reader,omitempty"`
	Whole    bool    `json:"whole,omitempty"`
	Rounds   []Round `json:"rounds,omitempty"`   // the newest last, bounded
	Count    int     `json:"count,omitempty"`    // rounds in all
	Asked    int     `json:"asked,omitempty"`    // rounds at which a person last said to go on
	Accepted bool    `json:"accepted,omitempty"` // a person takes the gap as it is
	Gap      int64   `json:"gap"`                // bytes found changed by the last query; -1: not known yet
	Rate     float64 `json:"rate,omitempty"`     // bytes read per second, measured by the last pass that is worth measuring
	Written  float64 `json:"written,omitempty"`  // bytes per second that the guest changes, by the last round
	Queue    int     `json:"queue,omitempty"`    // place in the line for a permit
	CaughtUp bool    `json:"caughtUp,omitempty"`
	Final    bool    `json:"final,omitempty"` // the digest is recorded
	// Empty counts snapshots without a change id in a row.
	Empty int `json:"empty,omitempty"`
}

// Lease is a snapshot of ours that a worker reads, and the change ids as of it.
type Lease struct {
	Generation int              `json:"generation"`
	ID         string           `json:"id"`
	Name       string           `json:"name"`
	Taken      time.Time        `json:"taken"`
	Quiesced   bool             `json:"quiesced"`
	ChangeID   string           `json:"changeID,omitempty"`  // of the worker's disk
	ChangeIDs  map[int32]string `json:"changeIDs,omitempty"` // of all disks, in State.Latest
	// Used says that the worker has read what it wanted; Dropping, that its removal was begun.
	Used     bool `json:"used,omitempty"`
	Dropping bool `json:"dropping,omitempty"`
}

// Round is one pass over a disk.
type Round struct {
	Number int `json:"number"`
	// Kind is full, changes, gap (only measured) or final (after the source went off).
	Kind    string    `json:"kind"`
	Started time.Time `json:"started"`
	Seconds float64   `json:"seconds"`
	Bytes   int64     `json:"bytes"` // changed, or for a full pass read
	Rate    float64   `json:"rate"`  // bytes per second read; 0: nothing was read
	// Taken is when the snapshot that was read was taken, by which the guest's rate of writing is measured.
	Taken  time.Time `json:"taken,omitzero"`
	Reason string    `json:"reason,omitempty"` // of a full pass that was not the first
}

// The kinds of rounds.
const (
	KindFull    = "full"
	KindChanges = "changes"
	KindGap     = "gap"
	KindFinal   = "final"
)

// Change is one transition. Worker is -1 for the coordinator's.
type Change struct {
	Worker int       `json:"worker"`
	From   string    `json:"from"`
	To     string    `json:"to"`
	Time   time.Time `json:"time"`
	Reason string    `json:"reason,omitempty"`
}

const (
	maxHistory = 400
	maxRounds  = 50
	// maxEmpty is how many snapshots without a change id are taken before tracking is called broken.
	maxEmpty = 3
)

// New gives a migration in its first phase.
func New(o Options, now time.Time) *State {
	return &State{Phase: Initializing, Since: now, Options: o}
}

// Hire makes a worker of every disk; sizes and device keys are those of the inventory. Again it changes nothing.
func (s *State) Hire(keys []int32, sizes []int64, now time.Time) {
	for i := len(s.Workers); i < len(keys); i++ {
		s.Workers = append(s.Workers, Disk{Index: i, Key: keys[i], Size: sizes[i], Phase: WorkerPending, Since: now, Gap: -1})
	}
}

// Ended tells whether the coordinator is in a phase that is never left.
func (s *State) Ended() bool { return Coordinator.Terminal(s.Phase) }

// Snapshots tells whether a snapshot of ours is held.
func (s *State) Snapshots() bool {
	return s.Latest != nil || slices.ContainsFunc(s.Workers, func(w Disk) bool { return w.Lease != nil })
}

// enter moves the coordinator. Going where the table does not lead is a fault of the machine and panics.
func (s *State) enter(to CoordinatorPhase, now time.Time, reason string) {
	if !Coordinator.Allowed(s.Phase, to) {
		panic("no way from " + string(s.Phase) + " to " + string(to))
	}
	s.note(Change{Worker: -1, From: string(s.Phase), To: string(to), Time: now, Reason: reason})
	s.Phase, s.Since, s.Waiting = to, now, ""
}

func (s *State) move(w *Disk, to WorkerPhase, now time.Time, reason string) {
	if !Worker.Allowed(w.Phase, to) {
		panic("no way from " + string(w.Phase) + " to " + string(to))
	}
	s.note(Change{Worker: w.Index, From: string(w.Phase), To: string(to), Time: now, Reason: reason})
	w.Phase, w.Since, w.Queue = to, now, 0
}

func (s *State) note(c Change) {
	s.History = append(s.History, c)
	if n := len(s.History); n > maxHistory {
		s.History = slices.Delete(s.History, 1, n-maxHistory+1)
	}
}

func (w *Disk) round(r Round) {
	w.Count++
	r.Number = w.Count
	w.Rounds = append(w.Rounds, r)
	if n := len(w.Rounds); n > maxRounds {
		w.Rounds = slices.Delete(w.Rounds, 1, n-maxRounds+1)
	}
}
