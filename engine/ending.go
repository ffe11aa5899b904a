package engine

import (
	"context"
	"fmt"
)

// ending stops work, cleans up, and ends in its terminal phase with a list of what is left.
type ending struct{ to Phase }

func (e ending) observe(ctx context.Context, t *turn) (Observation, error) {
	st := &t.m.Status
	held, err := t.e.Store.Held(ctx, t.m.UID)
	if err != nil {
		return Observation{}, err
	}
	rest := 0
	for _, h := range held {
		if !t.stays(h) {
			rest++
		}
	}
	t.interruptWarm()
	row, _ := RowOf(st.Phase)
	entered := st.History[len(st.History)-1].Time
	if rest == 0 || t.now.Sub(entered) > row.Patience {
		t.closeWarm(rest)
		t.end(held, rest)
		return Observation{Sight: Complete, Seen: fmt.Sprintf("%d things left", len(st.Left))}, nil
	}
	return Observation{Sight: Partial, Seen: fmt.Sprintf("%d things to clean up", rest), again: t.e.Poll}, nil
}

func (ending) act(ctx context.Context, t *turn, _ Observation) error {
	t.e.jobs.stop(t.m.UID)
	for i := range t.m.Status.Disks {
		t.e.serving.withdraw(t.jobKey("serve", i))
	}
	t.r.acts = 0 // trying again is the point
	_, err := t.cleanUp(ctx, t.stays)
	return err
}

// stays tells whether a held thing is left alone: once the target was started, its disks may hold what is nowhere else.
// Nor is what a consent left in the world ever taken back.
func (t *turn) stays(h Held) bool {
	return h.Kind == heldPower || h.Kind == heldNamespace || h.Kind == heldTracking || (h.Keep && t.started())
}

// end writes down how it ended.
func (t *turn) end(held []Held, unclean int) {
	st := &t.m.Status
	st.Left = held
	for i := range st.Left {
		if st.Left[i].Note == "" {
			st.Left[i].Note = "remove it with landfall cleanup when it can be reached"
		}
	}
	if t.intent(actShutdown) != nil || t.intent(actPowerOff) != nil {
		st.Left = append(st.Left, Held{Migration: t.m.UID, Kind: heldPower, Where: t.options().Source.Address, Name: st.Inventory.Ref.String(), Since: t.now,
			Note: "the source was powered off; power it on by hand if it is to serve again"})
		if t.started() {
			st.Left[len(st.Left)-1].Note = "the source was powered off; stop the target before it is powered on"
		}
	}
	for i := range t.decided {
		if d := &t.decided[i]; d.Open() {
			t.settle(d)
		}
	}
	if unclean > 0 {
		t.event("error", "Left", "gave up cleaning: %d things are left", unclean)
	}
	message := "nothing was left behind"
	if n := len(st.Left); n > 0 {
		message = fmt.Sprintf("%d things are left", n)
	}
	if f := st.FirstError; f != nil && st.Phase == Failing {
		message = f.Message + "; " + message
	}
	t.condition(Ready, false, string(st.Phase), message)
}
