package engine

import (
	"testing"
	"time"

	"landfall/engine/machine"
	"landfall/engine/spec"
)

// at gives a turn of a migration that rests or waits in a phase, at a time.
func at(now time.Time, r *runner, st Status) *turn {
	return &turn{e: r.e, r: r, now: now, m: Migration{UID: "u", Status: st}}
}

func TestClockThatIsSetBackDoesNotLengthenARest(t *testing.T) {
	start := time.Date(2026, 5, 4, 12, 0, 0, 0, time.UTC)
	e := New(Config{Poll: time.Hour})
	rest := Status{Phase: Retryable, Resume: Importing, NotUntil: start.Add(time.Minute), History: []Transition{{From: Importing, To: Retryable, Time: start}}}
	for name, tc := range map[string]struct {
		now  time.Time
		want Phase
	}{
		"too early":         {start.Add(59 * time.Second), Retryable},
		"its time":          {start.Add(time.Minute), Importing},
		"an hour set back":  {start.Add(-time.Hour), Importing},
		"an hour set ahead": {start.Add(time.Hour), Importing},
	} {
		tr := at(tc.now, &runner{e: e}, rest)
		tr.rest()
		if got := tr.m.Status.Phase; got != tc.want {
			t.Errorf("%s: %s, want %s", name, got, tc.want)
		}
	}
}

// TestClockThatIsSetAheadPowersNothingOff: the guest has its time by the process's own measure, whatever the clock says.
func TestClockThatIsSetAheadPowersNothingOff(t *testing.T) {
	e := New(Config{})
	r := &runner{e: e}
	real := time.Now()
	s := spec.Spec{Source: spec.Source{PowerOffPolicy: spec.GracefulThenForce, ShutdownSeconds: 300}}.Default()
	st := Status{Phase: Preparing, Options: &s, Power: machine.On, Inventory: &machine.VM{Summary: machine.Summary{Power: machine.On, Tools: machine.ToolsRunning}},
		// As another process left it: the request was sent an hour ago by the clock.
		Shutdown: &Shutdown{Asked: real.Add(-time.Hour), Sent: real.Add(-time.Hour), Deadline: real.Add(-55 * time.Minute)}}
	for _, tc := range []struct {
		after time.Duration
		want  Sight
	}{{0, Running}, {299 * time.Second, Running}, {301 * time.Second, Absent}} {
		tr := at(real.Add(tc.after), r, st)
		o, err := tr.seePower()
		if err != nil || o.Sight != tc.want {
			t.Errorf("after %s: %s %q %v, want %s", tc.after, o.Sight, o.Seen, err, tc.want)
		}
	}
}
