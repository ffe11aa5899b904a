package warm_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"landfall/engine/warm"
)

const (
	blocks    = 24
	disks     = 3
	blockSize = 1 << 20
)

// world is a source with a writing guest, snapshots and change tracking, and the images made of its disks: blocks are
// counters. The machine is driven in it as the engine does, and may be killed between any two writes.
type world struct {
	r      *rand.Rand
	now    time.Time
	on     bool
	disk   [disks][]int
	log    [disks][]int // what was written, in order
	epoch  [disks]int   // raised when tracking forgets
	lies   bool         // changes are left out
	snaps  map[string]snap
	image  [disks][]int
	saved  []byte // the state as committed
	state  *warm.State
	whole  bool
	writes int
	word   bool
	full   int // passes over a whole disk
}

type snap struct {
	disk [disks][]int
	id   map[int32]string
}

func newWorld(seed uint64) *world {
	w := &world{r: rand.New(rand.NewPCG(seed, 7)), now: time.Unix(1e9, 0).UTC(), on: true, snaps: map[string]snap{}}
	for d := range disks {
		w.disk[d], w.image[d] = make([]int, blocks), make([]int, blocks)
		for range blocks {
			w.write(d)
		}
	}
	w.state = warm.New(warm.Options{Threshold: 4 * blockSize, MaxRounds: 10, Every: time.Minute, Proved: true, NoConversion: true}, w.now)
	w.commit()
	return w
}

func (w *world) write(d int) {
	if !w.on {
		return
	}
	w.writes++
	b := w.r.IntN(blocks)
	w.disk[d][b] = w.writes
	w.log[d] = append(w.log[d], b)
}

func (w *world) changeID(d int) string { return fmt.Sprintf("%d/%d", w.epoch[d], len(w.log[d])) }

func (w *world) commit() {
	b, err := json.Marshal(w.state)
	if err != nil {
		panic(err)
	}
	w.saved = b
}

// die forgets what was not committed.
func (w *world) die() {
	w.state = new(warm.State)
	if err := json.Unmarshal(w.saved, w.state); err != nil {
		panic(err)
	}
}

// changed gives the blocks written between two ids; ok is false when tracking has forgotten.
func (w *world) changed(d int, since, until string) (out []int, ok bool) {
	var e1, n1, e2, n2 int
	_, _ = fmt.Sscanf(since, "%d/%d", &e1, &n1)
	_, _ = fmt.Sscanf(until, "%d/%d", &e2, &n2)
	if e1 != e2 || e1 != w.epoch[d] {
		return nil, false
	}
	for _, b := range w.log[d][n1:n2] {
		if !slices.Contains(out, b) {
			out = append(out, b)
		}
	}
	if w.lies && len(out) > 0 {
		out = out[1:]
	}
	return out, true
}

// copyInto copies blocks, or a first part of them when it is cut off.
func (w *world) copyInto(d int, from []int, which []int, cut bool) {
	if cut && len(which) > 0 {
		which = which[:w.r.IntN(len(which))]
	}
	for _, b := range which {
		w.image[d][b] = from[b]
	}
}

var every = func() (all []int) {
	for b := range blocks {
		all = append(all, b)
	}
	return all
}()

// do carries a task out. cut leaves it half done and unrecorded. It gives an error that ends the migration.
func (w *world) do(t warm.Task, cut bool) string {
	s, round := w.state, warm.Round{Started: w.now, Seconds: 1}
	switch t.Do {
	case warm.Initialize:
		s.Hire([]int32{100, 101, 102}, []int64{blocks * blockSize, blocks * blockSize, blocks * blockSize}, w.now)
	case warm.TakeLease:
		n := s.Ask()
		w.commit()
		name := warm.Name("u", n)
		if _, there := w.snaps[name]; !there {
			sn := snap{id: map[int32]string{}}
			for d := range disks {
				sn.disk[d], sn.id[int32(100+d)] = slices.Clone(w.disk[d]), w.changeID(d)
			}
			w.snaps[name] = sn
		}
		if cut {
			return ""
		}
		if !s.Leased(t.Worker, warm.Lease{Generation: n, ID: name, Name: name, Taken: w.now, ChangeIDs: w.snaps[name].id}) {
			return "no change id"
		}
	case warm.DropLease:
		delete(w.snaps, s.Workers[t.Worker].Lease.ID)
		if !cut {
			s.Dropped(t.Worker)
		}
	case warm.Backfill:
		sn, there := w.snaps[s.Workers[t.Worker].Lease.ID]
		if !there {
			return "" // lost: seen at the next look
		}
		w.full++
		w.copyInto(t.Worker, sn.disk[t.Worker], every, cut)
		if round.Bytes = blocks * blockSize; !cut {
			s.Copied(t.Worker, round, "fake", w.whole)
		}
	case warm.Replay:
		d := t.Worker
		sn, there := w.snaps[s.Workers[d].Lease.ID]
		if !there {
			return ""
		}
		which, ok := w.changed(d, s.Workers[d].Base, s.Workers[d].Lease.ChangeID)
		if !ok {
			s.Reread(d, "tracking lost")
			return ""
		}
		round.Bytes = int64(len(which)) * blockSize
		if !w.whole {
			w.copyInto(d, sn.disk[d], which, cut)
		}
		if !cut {
			s.Replayed(d, round, !w.whole)
		}
	case warm.Catch:
		d := t.Worker
		if w.on || len(w.snaps) > 0 {
			panic("caught up on a disk that is not at rest")
		}
		which, ok := every, s.Workers[d].Base != ""
		if ok {
			which, ok = w.changed(d, s.Workers[d].Base, w.changeID(d))
		}
		if !ok {
			s.Reread(d, "tracking lost")
			which = every
			w.full++
		}
		w.copyInto(d, w.disk[d], which, cut)
		if cut {
			return ""
		}
		if !slices.Equal(w.image[d], w.disk[d]) {
			return "the source, read again, is not what was copied"
		}
		round.Bytes = int64(len(which)) * blockSize
		s.Caught(d, round)
	case warm.Finish:
		s.Workers[t.Worker].Final = !cut
	case warm.Stop:
		w.on = false
	case warm.Sweep:
		if clear(w.snaps); !cut {
			s.Swept()
		}
	case warm.Release, warm.Prepare:
	}
	return ""
}

// turn is what the engine does in one turn: look, step, commit, act.
func (w *world) turn(killed bool) (failure string) {
	w.now = w.now.Add(time.Duration(w.r.IntN(40)) * time.Second)
	s := w.state
	if s.Phase == warm.Active || s.Phase == warm.PreparingTarget || s.Phase == warm.CuttingOver {
		s.Lost(func(id string) bool { _, ok := w.snaps[id]; return ok })
	}
	seen := warm.Seen{Now: w.now, Ready: len(s.Workers) > 0, Target: w.r.IntN(3) > 0, Off: !w.on, Clean: len(w.snaps) == 0,
		Permit: func(i int) (bool, int) { return (i+w.r.IntN(2))%2 == 0, 1 }}
	if w.word {
		seen.Word = "tester"
	}
	tasks := s.Step(seen)
	if killed && w.r.IntN(2) == 0 {
		w.die()
		return ""
	}
	w.commit()
	for _, t := range tasks {
		if killed && w.r.IntN(2) == 0 {
			w.do(t, true)
			w.die()
			return ""
		}
		if f := w.do(t, false); f != "" {
			return f
		}
		if w.r.IntN(4) == 0 {
			w.commit()
		}
	}
	w.commit()
	return ""
}

// run takes a migration to its end under faults, and says what is wrong with the world then.
func run(seed uint64) (string, *world) {
	w := newWorld(seed)
	w.whole, w.lies = seed%3 == 1, seed%5 == 4
	faults := w.r.IntN(12)
	for step := range 3000 {
		for range w.r.IntN(6) {
			w.write(w.r.IntN(disks))
		}
		w.word = step > 20+w.r.IntN(20)
		killed := false
		if faults > 0 {
			switch w.r.IntN(30) {
			case 0:
				d := w.r.IntN(disks)
				w.epoch[d]++
				faults--
			case 1:
				for name := range w.snaps {
					delete(w.snaps, name)
					faults--
					break
				}
			case 2, 3, 4, 5:
				killed, faults = true, faults-1
			}
		}
		if why := w.state.Undecided(); len(why) > 0 {
			w.state.Answer(why[0], true)
		}
		f := w.turn(killed)
		if f != "" {
			w.state.Interrupt(true, f, w.now)
			clear(w.snaps)
			w.state.Close(0, w.now)
		}
		if !w.state.Ended() {
			continue
		}
		if w.state.Phase == warm.Failed {
			if !w.lies || w.state.Failure == "" {
				return "failed: " + w.state.Failure, w
			}
			return "", w
		}
		for d := range disks {
			if !slices.Equal(w.image[d], w.disk[d]) {
				return fmt.Sprintf("disk %d: silently different", d), w
			}
		}
		if len(w.snaps) > 0 {
			return fmt.Sprintf("snapshots are left: %v", len(w.snaps)), w
		}
		return "", w
	}
	return "never ended", w
}

// TestRandomSchedules drives the machine through seeded schedules of guest writes, kills, lost snapshots, forgetful and lying
// tracking: the image is equal at the end, or the end is an explicit failure.
func TestRandomSchedules(t *testing.T) {
	ends := map[warm.CoordinatorPhase]int{}
	for seed := range uint64(1000) {
		why, w := run(seed)
		ends[w.state.Phase]++
		if why != "" {
			last := w.state.History[max(0, len(w.state.History)-12):]
			t.Fatalf("seed %d: %s\nphase %s\nhistory %+v", seed, why, w.state.Phase, last)
		}
	}
	if ends[warm.Completed] < 700 || ends[warm.Failed] == 0 {
		t.Errorf("the schedules do not bite: %v", ends)
	}
	t.Logf("%v", ends)
}
