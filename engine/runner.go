package engine

import (
	"context"
	"errors"
	"time"
)

// runner works one migration, turn after turn, until it is terminal.
type runner struct {
	e      *Engine
	uid    string
	wish   wish // guarded by the engine's mutex
	wakeup chan struct{}

	still int // turns without a change
	fruitless
	guest  patience
	looked time.Time // when the source of a warm migration was last looked at
}

// patience is how long this process has waited for a guest. It is not the clock's but the process's own time: a clock that is set
// forward must not end it early, and another process begins anew.
type patience struct{ asked, since time.Time }

// fruitless counts acts on a checkpoint that changed nothing that could be seen.
type fruitless struct {
	phase Phase
	seen  string
	acts  int
}

func (r *runner) wake() {
	select {
	case r.wakeup <- struct{}{}:
	default:
	}
}

// run takes turns. How long it waits between them grows from an instant to the poll interval while nothing changes.
func (r *runner) run(ctx context.Context) {
	for ctx.Err() == nil {
		result, err := r.turn(ctx)
		switch {
		case result.done:
			return
		case errors.Is(err, ErrStale):
			continue // another write came between; look again
		case err != nil && ctx.Err() == nil:
			r.e.Log.Error("turn", "migration", r.uid, "error", err)
			result.wait = r.e.Poll
		}
		wait := result.wait
		if result.changed {
			r.still = 0
		} else {
			r.still++
		}
		if wait == 0 {
			wait = r.pause()
		}
		timer := time.NewTimer(wait)
		select {
		case <-ctx.Done():
		case <-r.wakeup:
			r.still = 0
		case <-timer.C:
		}
		timer.Stop()
	}
}

func (r *runner) pause() time.Duration {
	if r.still == 0 {
		return time.Millisecond
	}
	d := 20 * time.Millisecond << min(r.still-1, 10)
	return min(d, r.e.Poll)
}
