package warm_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"landfall/engine/warm"
)

var start = time.Date(2030, 1, 1, 20, 0, 0, 0, time.UTC)

// ready gives a migration whose target is ready and whose two disks have converged.
func ready(o warm.Options) *warm.State {
	s := warm.New(o, start)
	s.Hire([]int32{1, 2}, []int64{100 << 20, 200 << 20}, start)
	s.Phase = warm.PreparingTarget
	for i := range s.Workers {
		w := &s.Workers[i]
		w.Phase, w.Base, w.Gap, w.Rate = warm.WorkerConverged, "a/1", 10<<20, 10<<20
		w.Rounds = []warm.Round{{Kind: warm.KindChanges, Started: start}}
		w.Lease = &warm.Lease{Generation: 1, ID: "s", ChangeID: "a/1", Used: true}
	}
	return s
}

// last has a disk's last round lie 20 s back, with a guest that writes at a rate.
func last(s *warm.State, worker int, kind string, rate float64) {
	w := &s.Workers[worker]
	w.Written = rate
	w.Rounds[len(w.Rounds)-1].Kind, w.Rounds[len(w.Rounds)-1].Taken = kind, start.Add(-20*time.Second)
}

// TestRoundsEndBeforeTheSourceIsStopped: with the word given, none is begun, and the last is waited for.
func TestRoundsEndBeforeTheSourceIsStopped(t *testing.T) {
	s := ready(warm.Options{}) // the next rounds are due at once
	busy := map[int]bool{1: true}
	seen := warm.Seen{Now: start.Add(time.Minute), Target: true, Word: "ann", Busy: func(w int) bool { return busy[w] }}
	if tasks := s.Step(seen); len(tasks) > 0 || s.Phase != warm.PreparingTarget || !s.Closing {
		t.Errorf("%s, begins %v", s.Phase, tasks)
	}
	held := seen
	if s.Options.Hold = true; len(s.Step(held)) == 0 || s.Closing {
		t.Error("no round is begun while a person holds the cutover")
	}
	s.Options.Hold, busy[1] = false, false
	if tasks := s.Step(seen); s.Phase != warm.CuttingOver || !slices.Equal(tasks, []warm.Task{{-1, warm.Stop}}) {
		t.Errorf("%s, begins %v", s.Phase, tasks)
	}
}

func TestWhenTheSourceIsStopped(t *testing.T) {
	known := warm.Options{Budget: time.Minute, Every: time.Hour, NoConversion: true, DeliverRate: 100 << 20, Boot: 10 * time.Second}
	window := func(o warm.Options) warm.Options {
		o.From, o.Until = start.Add(time.Hour), start.Add(2*time.Hour)
		return o
	}
	held := func(o warm.Options) warm.Options { o.Hold = true; return o }
	for name, tc := range map[string]struct {
		o       warm.Options
		seen    warm.Seen
		change  func(*warm.State)
		want    warm.CoordinatorPhase
		waiting string
	}{
		"no word":                {known, warm.Seen{Now: start, Target: true}, nil, warm.PreparingTarget, "waiting for the word"},
		"the word":               {known, warm.Seen{Now: start, Target: true, Word: "ann"}, nil, warm.CuttingOver, ""},
		"the word, unknown cost": {warm.Options{Every: time.Hour}, warm.Seen{Now: start, Target: true, Word: "ann"}, nil, warm.CuttingOver, ""},
		"target not ready":       {known, warm.Seen{Now: start, Word: "ann", Waiting: "PVC pending"}, nil, warm.PreparingTarget, "PVC pending"},
		"held":                   {held(known), warm.Seen{Now: start, Target: true, Word: "ann"}, nil, warm.PreparingTarget, "held"},
		"held in the window":     {held(window(known)), warm.Seen{Now: start.Add(time.Hour), Target: true}, nil, warm.PreparingTarget, "held"},
		"before the window":      {window(known), warm.Seen{Now: start, Target: true}, nil, warm.PreparingTarget, "opens 2030-01-01T21:00:00Z"},
		"word before the window": {window(known), warm.Seen{Now: start, Target: true, Word: "ann"}, nil, warm.CuttingOver, ""},
		"in the window":          {window(known), warm.Seen{Now: start.Add(time.Hour), Target: true}, nil, warm.CuttingOver, ""},
		"after the window":       {window(known), warm.Seen{Now: start.Add(2 * time.Hour), Target: true}, nil, warm.PreparingTarget, "has closed"},
		"in the window, unknown": {window(warm.Options{Budget: time.Minute, Every: 9 * time.Hour}), warm.Seen{Now: start.Add(time.Hour), Target: true}, nil, warm.PreparingTarget, "cannot be forecast"},
		"in the window, beyond the budget": {window(known), warm.Seen{Now: start.Add(time.Hour), Target: true},
			func(s *warm.State) { s.Workers[0].Gap = 600 << 20 }, warm.PreparingTarget, "beyond the budget"},
		"a disk is read anew":  {known, warm.Seen{Now: start, Target: true, Word: "ann"}, func(s *warm.State) { s.Reread(1, "lost") }, warm.PreparingTarget, "copied anew"},
		"a round is under way": {known, warm.Seen{Now: start, Target: true, Word: "ann", Busy: func(w int) bool { return w == 1 }}, nil, warm.PreparingTarget, "the round under way ends"},
		"paused":               {func() warm.Options { o := known; o.Paused = true; return o }(), warm.Seen{Now: start, Target: true, Word: "ann"}, nil, warm.PreparingTarget, "paused"},
	} {
		t.Run(name, func(t *testing.T) {
			s := ready(tc.o)
			if tc.change != nil {
				tc.change(s)
			}
			s.Step(tc.seen)
			if s.Phase != tc.want || !strings.Contains(s.Waiting, tc.waiting) {
				t.Errorf("%s, waiting for %q; want %s, %q", s.Phase, s.Waiting, tc.want, tc.waiting)
			}
			if (s.Promised != nil) != (tc.want == warm.CuttingOver) {
				t.Errorf("promised %+v", s.Promised)
			}
		})
	}
}

// TestWhatIsWaitedForStaysSaid while a round is under way and the target is not looked at.
func TestWhatIsWaitedForStaysSaid(t *testing.T) {
	s := ready(warm.Options{Every: time.Hour})
	s.Step(warm.Seen{Now: start, Target: true})
	said := s.Waiting
	if s.Step(warm.Seen{Now: start}); s.Waiting != said || said == "" {
		t.Errorf("waits for %q, then for %q", said, s.Waiting)
	}
	if s.Step(warm.Seen{Now: start, Waiting: "PVC pending"}); s.Waiting != "PVC pending" {
		t.Errorf("waits for %q", s.Waiting)
	}
}

func TestForecast(t *testing.T) {
	for name, tc := range map[string]struct {
		o      warm.Options
		change func(*warm.State)
		known  bool
		want   time.Duration
		says   string
	}{
		"all given or measured": {warm.Options{NoConversion: true, DeliverRate: 100 << 20, Boot: 10 * time.Second}, nil, true, 15 * time.Second, "measured"},
		"conversion too":        {warm.Options{ConvertRate: 300 << 20, DeliverRate: 100 << 20, Boot: 10 * time.Second}, nil, true, 16 * time.Second, "measured"},
		"read again at the end": {warm.Options{Proved: true, NoConversion: true, DeliverRate: 100 << 20, Boot: 10 * time.Second}, nil, true, 45 * time.Second, "measured"},
		"boot not known":        {warm.Options{NoConversion: true, DeliverRate: 100 << 20}, nil, false, 5 * time.Second, "measured"},
		"rate not known": {warm.Options{NoConversion: true, DeliverRate: 100 << 20, Boot: 10 * time.Second},
			func(s *warm.State) { s.Workers[0].Rate = 0 }, false, 13 * time.Second, "rate was not measured"},
		"no ranges while it runs": {warm.Options{NoConversion: true, DeliverRate: 100 << 20, Boot: 10 * time.Second},
			func(s *warm.State) { s.Workers[0].Whole = true }, true, 15 * time.Second, "rate of the first copy"},
		"the guest writes on": {warm.Options{NoConversion: true, DeliverRate: 100 << 20, Boot: 10 * time.Second},
			func(s *warm.State) { last(s, 0, warm.KindChanges, 3<<20) }, true, 20 * time.Second, "measured"}, // 60 MiB instead of 10
		"no more than the disk": {warm.Options{NoConversion: true, DeliverRate: 100 << 20, Boot: 10 * time.Second},
			func(s *warm.State) { last(s, 0, warm.KindChanges, 30<<20) }, true, 24 * time.Second, "measured"},
		"only measured, and the guest writes on": {warm.Options{NoConversion: true, DeliverRate: 100 << 20, Boot: 10 * time.Second},
			func(s *warm.State) { last(s, 0, warm.KindGap, 3<<20) }, true, 21 * time.Second, "measured"}, // 60 MiB more
		"a disk is to be read whole": {warm.Options{NoConversion: true, DeliverRate: 100 << 20, Boot: 10 * time.Second},
			func(s *warm.State) { s.Reread(0, "lost") }, true, 24 * time.Second, "the whole disk is to be read: lost"},
	} {
		t.Run(name, func(t *testing.T) {
			s := ready(tc.o)
			if tc.change != nil {
				tc.change(s)
			}
			s.Step(warm.Seen{Now: start})
			total, known := s.Forecast.Total()
			if known != tc.known || total != tc.want || !strings.Contains(s.Forecast.CatchUp.From, tc.says) {
				t.Errorf("%s, known %v, %+v; want %s, %v, %q", total, known, s.Forecast, tc.want, tc.known, tc.says)
			}
		})
	}
}

// TestInterrupts tries both interrupts in every phase: failing beats cancelling, the first reason is kept, ends stay ends.
func TestInterrupts(t *testing.T) {
	for _, row := range warm.Coordinator.Rows {
		for _, worker := range warm.Worker.Rows {
			s := ready(warm.Options{})
			s.Phase = row.Phase
			s.Workers[0].Phase = worker.Phase
			ended := s.Ended()
			cancelled := s.Interrupt(false, "a person", start)
			failed := s.Interrupt(true, "the first", start)
			if again := s.Interrupt(true, "the second", start) || s.Interrupt(false, "late", start); again {
				t.Errorf("%s: interrupted twice", row.Phase)
			}
			if ended {
				if cancelled || failed || s.Phase != row.Phase {
					t.Errorf("%s was left", row.Phase)
				}
				continue
			}
			if want := row.Phase != warm.Cancelling && row.Phase != warm.Failing; cancelled != want {
				t.Errorf("%s: cancelled %v", row.Phase, cancelled)
			}
			if failed == (row.Phase == warm.Failing) || s.Failure != "the first" {
				t.Errorf("%s: failed %v: %q", row.Phase, failed, s.Failure)
			}
			if tasks := s.Step(warm.Seen{Now: start, Word: "ann", Target: true}); len(tasks) > 0 {
				t.Errorf("%s: works on: %v", row.Phase, tasks)
			}
			s.Close(1, start)
			if s.Phase != warm.Failed || !warm.Worker.Terminal(s.Workers[0].Phase) || s.Workers[1].Phase != warm.WorkerFailed {
				t.Errorf("%s/%s ended as %s, %s, %s", row.Phase, worker.Phase, s.Phase, s.Workers[0].Phase, s.Workers[1].Phase)
			}
			if !s.Snapshots() && worker.Phase != warm.WorkerCompleted {
				t.Errorf("%s: what is left was forgotten", row.Phase)
			}
		}
	}
}

func TestTooManyRoundsAskAPerson(t *testing.T) {
	s := ready(warm.Options{MaxRounds: 3, Threshold: 1})
	s.Phase, s.Workers[0].Phase = warm.Active, warm.WorkerConverging
	s.Workers[0].Count = 4
	if got := s.Undecided(); len(got) != 1 || got[0] != 0 {
		t.Fatalf("asks for %v", got)
	}
	s.Answer(0, false)
	if s.Workers[0].Count = 7; len(s.Undecided()) != 0 {
		t.Error("asked again before as many rounds were made again")
	}
	if s.Workers[0].Count = 8; len(s.Undecided()) != 1 {
		t.Error("not asked again")
	}
	s.Answer(0, true)
	s.Step(warm.Seen{Now: start})
	if s.Workers[0].Phase != warm.WorkerConverged || len(s.Undecided()) != 0 {
		t.Errorf("%s after a person took the gap as it is", s.Workers[0].Phase)
	}
}

func TestStuckSaysTheFirstChecks(t *testing.T) {
	for name, tc := range map[string]struct {
		change   func(*warm.State)
		now      time.Time
		progress time.Time
		want     string
	}{
		"moving":              {nil, start.Add(5 * time.Hour), start.Add(5 * time.Hour), ""},
		"the target is late":  {nil, start.Add(5 * time.Hour), start, "PREPARING_TARGET: PVC binding"},
		"waits for the word":  {func(s *warm.State) { s.Waiting = "the word" }, start.Add(5 * time.Hour), start, ""},
		"a disk's copy hangs": {func(s *warm.State) { s.Phase = warm.Active; s.Workers[1].Phase = warm.WorkerBackfilling }, start.Add(30 * time.Minute), start, "disk 1 BACKFILLING: read rate"},
		"a disk in the line":  {func(s *warm.State) { s.Workers[1].Phase, s.Workers[1].Queue = warm.WorkerPending, 3 }, start.Add(2 * time.Hour), start, ""},
	} {
		t.Run(name, func(t *testing.T) {
			s := ready(warm.Options{})
			s.Since = start
			for i := range s.Workers {
				s.Workers[i].Since = start
			}
			if tc.change != nil {
				tc.change(s)
			}
			if got := strings.Join(s.Stuck(tc.now, tc.progress), "; "); !strings.HasPrefix(got, tc.want) || (tc.want == "") != (got == "") {
				t.Errorf("%q, want %q", got, tc.want)
			}
		})
	}
}

// TestDisksAreFinishedTogether, and one that was written once more is read once more first.
func TestDisksAreFinishedTogether(t *testing.T) {
	s := ready(warm.Options{})
	s.Phase = warm.CatchingUp
	for i := range s.Workers {
		s.Workers[i].Phase, s.Workers[i].Lease = warm.WorkerCatchingUp, nil
	}
	clean := true
	step := func(want ...warm.Task) {
		t.Helper()
		if got := s.Step(warm.Seen{Now: start, Off: true, Clean: clean}); !slices.Equal(got, want) {
			t.Errorf("in %s, %s and %s: %v, want %v", s.Phase, s.Workers[0].Phase, s.Workers[1].Phase, got, want)
		}
	}
	step(warm.Task{0, warm.Catch}, warm.Task{1, warm.Catch})
	s.Caught(0, warm.Round{})
	step(warm.Task{1, warm.Catch}) // the first waits for it
	if !s.Written(0) {
		t.Error("it could not be read once more")
	}
	step(warm.Task{0, warm.Catch}, warm.Task{1, warm.Catch})
	s.Caught(0, warm.Round{})
	s.Caught(1, warm.Round{})
	step(warm.Task{0, warm.Finish}, warm.Task{1, warm.Finish})
	s.Written(1)
	s.Workers[0].Final = true
	step(warm.Task{1, warm.Catch})
	s.Caught(1, warm.Round{})
	step(warm.Task{1, warm.Finish})
	s.Workers[1].Final, clean = true, false
	step(warm.Task{-1, warm.Release})
	if !s.Written(0) {
		t.Error("it could not be read once more, right before the end")
	}
	step(warm.Task{0, warm.Catch})
	s.Caught(0, warm.Round{})
	s.Workers[0].Final, clean = true, true
	if step(); s.Phase != warm.Completed || s.Written(0) {
		t.Errorf("%s, and a disk that has completed would be read once more", s.Phase)
	}
}
