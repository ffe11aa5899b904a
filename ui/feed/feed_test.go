package feed

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"landfall/engine"
	"landfall/ui/uitest"
)

func clock() time.Time { return uitest.Noon }

// run starts a feed and gives its snapshots.
func run(t *testing.T, f *Feed) <-chan *Snapshot {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	out := make(chan *Snapshot, 100)
	f.Deliver = func(s *Snapshot) { out <- s }
	done := make(chan struct{})
	go func() { f.Run(ctx); close(done) }()
	t.Cleanup(func() { stop(); <-done })
	return out
}

func next(t *testing.T, out <-chan *Snapshot) *Snapshot {
	t.Helper()
	select {
	case s := <-out:
		return s
	case <-time.After(10 * time.Second):
		t.Fatal("no snapshot came")
		return nil
	}
}

func alive() bool { return true }

func TestNothingChangedNothingRead(t *testing.T) {
	d := uitest.World(clock)
	out := run(t, New(d, alive, clock))
	next(t, out)
	time.Sleep(4 * every)
	d.Edit(func() {
		if d.Reads != 1 {
			t.Errorf("the migrations were read %d times", d.Reads)
		}
	})
	if len(out) != 0 {
		t.Errorf("%d more snapshots came", len(out))
	}
}

func TestProgressDoesNotReadTheInventory(t *testing.T) {
	d := uitest.Many(clock, 10)
	d.Migrate("a", d.VMs[0], engine.Preparing, time.Minute)
	f := New(d, alive, clock)
	first := f.Read(t.Context())
	d.Edit(func() { l := d.Slim["a"]; l.Done = 5; d.Slim["a"] = l; d.VMs = d.VMs[:5] })
	second := f.Read(t.Context())
	if second.Lines[0].Done != 5 {
		t.Error("progress is not seen")
	}
	if second.Listing != first.Listing || len(second.Inventory) != 10 {
		t.Error("the inventory was read again for progress")
	}
	d.Edit(func() { d.Sources[0].Taken = uitest.Noon.Add(time.Minute) })
	if third := f.Read(t.Context()); third.Listing == first.Listing || len(third.Inventory) != 5 {
		t.Error("a new listing was not read")
	}
	d.Edit(func() { d.Migrate("b", d.VMs[1], engine.Pending, 0) })
	if fourth := f.Read(t.Context()); fourth.Inventory[1].Migration != "b" {
		t.Error("a new migration is not on the inventory")
	}
}

func TestWatch(t *testing.T) {
	d := uitest.World(clock)
	f := New(d, alive, clock)
	out := run(t, f)
	if s := next(t, out); s.Detail != nil {
		t.Error("a detail that nobody watches")
	}
	f.Watch("4f21e9")
	s := next(t, out)
	if s.Detail == nil || s.Detail.Migration.UID != "4f21e9" || len(s.Detail.Events) != 6 || len(s.Detail.Held) != 2 {
		t.Fatalf("detail %+v", s.Detail)
	}
	d.Edit(func() { d.Tell("4f21e9", "info", engine.Preparing, "More", "one more") })
	if more := next(t, out); len(more.Detail.Events) != 7 {
		t.Errorf("%d events", len(more.Detail.Events))
	}
	if len(s.Detail.Events) != 6 {
		t.Error("a snapshot changed after it was delivered")
	}
	f.Watch("c30b52")
	if s := next(t, out); s.Detail.Migration.UID != "c30b52" || len(s.Detail.Events) != 0 {
		t.Errorf("the events of another: %+v", s.Detail.Events)
	}
	f.Watch("gone")
	if s := next(t, out); s.Detail != nil || s.Failure != "" {
		t.Errorf("a migration that is not there: %+v, %q", s.Detail, s.Failure)
	}
}

func TestEventsAreBounded(t *testing.T) {
	d := uitest.World(clock)
	for range maxEvents + 500 {
		d.Tell("4f21e9", "info", engine.Preparing, "x", "y")
	}
	f := New(d, alive, clock)
	f.Watch("4f21e9")
	ev := f.Read(t.Context()).Detail.Events
	if len(ev) != maxEvents || ev[len(ev)-1].Seq != int64(maxEvents+506) {
		t.Errorf("%d events, the last %d", len(ev), ev[len(ev)-1].Seq)
	}
}

func TestFailureIsSaidOnceAndPasses(t *testing.T) {
	d := uitest.World(clock)
	out := run(t, New(d, alive, clock))
	next(t, out)
	d.Edit(func() { d.Broken = errors.New("disk I/O error") })
	s := next(t, out)
	if s.Failure == "" || len(s.Lines) == 0 {
		t.Errorf("failure %q with %d lines: what was known must stay", s.Failure, len(s.Lines))
	}
	time.Sleep(3 * every)
	if len(out) != 0 {
		t.Error("the same failure was said again")
	}
	d.Edit(func() { d.Broken = nil })
	if s := next(t, out); s.Failure != "" {
		t.Errorf("it still says %q", s.Failure)
	}
}

func TestEngineDies(t *testing.T) {
	var dead atomic.Bool
	out := run(t, New(uitest.World(clock), func() bool { return !dead.Load() }, clock))
	if s := next(t, out); !s.Alive || !s.Moving() {
		t.Error("an engine runs and migrations move")
	}
	dead.Store(true)
	if s := next(t, out); s.Alive || s.Moving() {
		t.Error("its death is not seen")
	}
}

func TestPanicIsTold(t *testing.T) {
	f := New(uitest.World(clock), func() bool { panic("broken") }, clock)
	told := make(chan any, 1)
	f.Crash = func(reason any, _ []byte) { told <- reason }
	f.Run(t.Context())
	if got := <-told; got != "broken" {
		t.Errorf("told %v", got)
	}
}
