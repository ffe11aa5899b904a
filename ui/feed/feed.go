package feed

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"sync"
	"time"

	"landfall/engine"
)

const (
	every     = 250 * time.Millisecond
	aliveness = time.Second
	patience  = 10 * time.Second // for one reading
	maxEvents = 4000
	batch     = 1000
)

// Feed is the one goroutine between the desk and the screen.
type Feed struct {
	Desk  engine.Desk
	Alive func() bool // whether an engine holds the workspace
	Now   func() time.Time
	// Deliver takes a snapshot. It may block; what changes meanwhile comes as one.
	Deliver func(*Snapshot)
	// Crash takes a panic of this goroutine.
	Crash func(reason any, stack []byte)

	mu    sync.Mutex
	watch string
	nudge chan struct{}

	last    Snapshot
	events  []engine.Event
	story   string // whose events they are
	watched string
	listed  string // what the inventory depends on
}

// New gives a feed that is not running yet.
func New(desk engine.Desk, alive func() bool, now func() time.Time) *Feed {
	return &Feed{Desk: desk, Alive: alive, Now: now, nudge: make(chan struct{}, 1)}
}

// Watch names the migration whose detail is wanted, "" for none. It never blocks.
func (f *Feed) Watch(uid string) {
	f.mu.Lock()
	same := f.watch == uid
	f.watch = uid
	f.mu.Unlock()
	if !same {
		f.Look()
	}
}

// Look asks for a look at the desk now. It never blocks.
func (f *Feed) Look() {
	select {
	case f.nudge <- struct{}{}:
	default:
	}
}

// Run delivers snapshots until ctx ends.
func (f *Feed) Run(ctx context.Context) {
	defer func() {
		if r := recover(); r != nil && f.Crash != nil {
			f.Crash(r, debug.Stack())
		}
	}()
	tick := time.NewTicker(every)
	defer tick.Stop()
	var looked time.Time
	alive := false
	first := true
	for {
		if first || time.Since(looked) >= aliveness {
			alive, looked = f.Alive(), time.Now()
		}
		if s := f.look(ctx, alive, first); s != nil {
			f.Deliver(s)
			first = false
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		case <-f.nudge:
		}
	}
}

// Read looks at the desk once, whether it changed or not. Not while Run runs.
func (f *Feed) Read(ctx context.Context) *Snapshot { return f.look(ctx, f.Alive(), true) }

// look gives a new snapshot, or nil when nothing changed.
func (f *Feed) look(ctx context.Context, alive, first bool) *Snapshot {
	ctx, stop := context.WithTimeout(ctx, patience)
	defer stop()
	f.mu.Lock()
	watch := f.watch
	f.mu.Unlock()

	n, err := f.Desk.Changed(ctx)
	if err == nil && !first && n == f.last.Change && alive == f.last.Alive && watch == f.watched && f.last.Failure == "" {
		return nil
	}
	next := f.last
	next.Change, next.Alive = n, alive
	if err == nil {
		err = f.read(ctx, &next, watch)
	}
	if err != nil {
		if ctx.Err() != nil && errors.Is(err, context.Canceled) {
			return nil
		}
		failure := err.Error()
		if !first && failure == f.last.Failure && alive == f.last.Alive {
			return nil
		}
		next = f.last
		next.Failure, next.Alive = failure, alive
	} else {
		next.Failure = ""
		f.watched = watch
	}
	next.Taken = f.Now()
	f.last = next
	return &next
}

func (f *Feed) read(ctx context.Context, s *Snapshot, watch string) error {
	var err error
	if s.Lines, err = f.Desk.Lines(ctx); err != nil {
		return fmt.Errorf("read the migrations: %w", err)
	}
	if s.Waiting, err = f.Desk.Waiting(ctx); err != nil {
		return fmt.Errorf("read the decisions: %w", err)
	}
	if s.Endpoints, err = f.Desk.Endpoints(ctx); err != nil {
		return fmt.Errorf("read the sources: %w", err)
	}
	if s.Beat, err = f.Desk.Beat(ctx); err != nil && !errors.Is(err, engine.ErrNotFound) {
		return fmt.Errorf("read the engine's heartbeat: %w", err)
	}
	drafts, err := f.Desk.Drafts(ctx)
	if err != nil {
		return fmt.Errorf("read the drafts: %w", err)
	}
	s.Drafts = make(map[string]*engine.Draft, len(drafts))
	for i := range drafts {
		s.Drafts[drafts[i].Key] = &drafts[i]
	}
	if key := inventoryKey(s); key != f.listed || s.Listing == 0 {
		if s.Inventory, err = f.Desk.Inventory(ctx); err != nil {
			return fmt.Errorf("read the inventory: %w", err)
		}
		f.listed = key
		s.Listing++
	}
	return f.detail(ctx, s, watch)
}

// inventoryKey is what a listing depends on. The phases of migrations are taken from the lines when it is drawn, so
// that thousands of VMs are not read again for every step of one.
func inventoryKey(s *Snapshot) string {
	key := fmt.Sprintf("%d", len(s.Lines))
	if len(s.Lines) > 0 {
		key += " " + s.Lines[0].UID
	}
	for _, e := range s.Endpoints {
		key += fmt.Sprintf("\n%q %d %q", e.Name, e.Taken.UnixNano(), e.Failure)
	}
	return key
}

func (f *Feed) detail(ctx context.Context, s *Snapshot, uid string) error {
	s.Detail = nil
	if uid == "" {
		f.events, f.story = nil, ""
		return nil
	}
	var d Detail
	var err error
	if d.Migration, err = f.Desk.Find(ctx, uid); errors.Is(err, engine.ErrNotFound) {
		return nil
	} else if err != nil {
		return fmt.Errorf("read migration %s: %w", uid, err)
	}
	if d.Decisions, err = f.Desk.Decisions(ctx, uid); err != nil {
		return fmt.Errorf("read the decisions of %s: %w", uid, err)
	}
	if d.Held, err = f.Desk.Held(ctx, uid); err != nil {
		return fmt.Errorf("read what %s holds: %w", uid, err)
	}
	if d.Notes, err = f.Desk.Notes(ctx, uid); err != nil {
		return fmt.Errorf("read the notes of %s: %w", uid, err)
	}
	if uid != f.story {
		f.events, f.story = nil, uid
	}
	if err := f.follow(ctx, uid); err != nil {
		return err
	}
	d.Events = f.events
	s.Detail = &d
	return nil
}

// follow reads the events since the last that is known. Snapshots that hold the older slice keep what they have.
func (f *Feed) follow(ctx context.Context, uid string) error {
	for {
		after := int64(0)
		if n := len(f.events); n > 0 {
			after = f.events[n-1].Seq
		}
		more, err := f.Desk.Events(ctx, uid, after, batch)
		if err != nil {
			return fmt.Errorf("read the events of %s: %w", uid, err)
		}
		f.events = append(slices.Clip(f.events), more...)
		if len(f.events) > maxEvents {
			f.events = slices.Clone(f.events[len(f.events)-maxEvents:])
		}
		if len(more) < batch {
			return nil
		}
	}
}
