package transfer

import (
	"context"
	"sync"
	"sync/atomic"
	"time"
)

// Throttle limits how fast sources are read. It can be changed and paused while copies run, and one may be shared by
// several copies; then they share its rate. The zero value does not limit. All methods are safe for use at once.
type Throttle struct {
	rate   atomic.Int64 // bytes per second, 0: no limit
	paused atomic.Bool

	mu      sync.Mutex
	credit  float64 // bytes that may be read at the time of at; negative: owed
	at      time.Time
	changed chan struct{} // closed when rate or paused change
}

// burst is how long an unused allowance is kept.
const burst = 250 * time.Millisecond

// SetRate limits to so many bytes per second from now on; 0 or less lifts the limit.
func (t *Throttle) SetRate(bytesPerSecond int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.refill(time.Now())
	if t.rate.Swap(max(0, bytesPerSecond)) != max(0, bytesPerSecond) {
		t.credit = min(t.credit, 0)
		t.wake()
	}
}

// SetPaused stops reading, or lets it go on.
func (t *Throttle) SetPaused(paused bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.paused.Swap(paused) != paused {
		t.wake()
	}
}

// Paused tells whether reading is stopped.
func (t *Throttle) Paused() bool { return t != nil && t.paused.Load() }

// Rate gives the limit in bytes per second, 0 for none.
func (t *Throttle) Rate() int64 {
	if t == nil {
		return 0
	}
	return t.rate.Load()
}

// open tells that nothing is limited now.
func (t *Throttle) open() bool { return t == nil || t.rate.Load() == 0 && !t.paused.Load() }

// grain is the most that may be read in one go: much, or little when there is a limit, so that it is kept evenly.
func (t *Throttle) grain() int {
	rate := t.Rate()
	if rate == 0 {
		return ChunkSize
	}
	return int(min(max(rate/20, 4<<10), ChunkSize))
}

// wait returns when something may be read: not paused, and what was read is paid for. It calls paused whenever it finds
// that it is to wait for a person.
func (t *Throttle) wait(ctx context.Context, paused func()) error {
	for !t.open() {
		if t.Paused() {
			paused()
		}
		due, changed := t.due(time.Now())
		if changed == nil {
			break
		}
		select {
		case <-due:
		case <-changed:
		case <-ctx.Done():
		}
		if ctx.Err() != nil {
			break
		}
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return nil
}

// due gives what to wait for: time, unless paused, and a change of settings; nothing at all when reading may go on.
func (t *Throttle) due(now time.Time) (<-chan time.Time, <-chan struct{}) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.refill(now)
	rate := float64(t.rate.Load())
	var due <-chan time.Time
	switch {
	case t.paused.Load():
	case rate == 0 || t.credit >= 0:
		return nil, nil
	default:
		due = time.After(time.Duration(-t.credit/rate*float64(time.Second)) + 1)
	}
	if t.changed == nil {
		t.changed = make(chan struct{})
	}
	return due, t.changed
}

// spend takes what was read off the allowance.
func (t *Throttle) spend(n int) {
	if t.Rate() == 0 {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.refill(time.Now())
	t.credit -= float64(n)
}

func (t *Throttle) refill(now time.Time) {
	rate := float64(t.rate.Load())
	if !t.at.IsZero() {
		t.credit = min(t.credit+rate*max(0, now.Sub(t.at)).Seconds(), rate*burst.Seconds())
	}
	t.at = now
}

func (t *Throttle) wake() {
	if t.changed != nil {
		close(t.changed)
		t.changed = nil
	}
}
