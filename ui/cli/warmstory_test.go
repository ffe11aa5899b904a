package cli

import (
	"testing"

	"landfall/engine"
	"landfall/engine/warm"
)

// TestAChangeOfPhaseIsFollowedAtOnce: an engine that polls once an hour still takes a warm migration to its end, for no phase
// of it waits for the next poll: between the source's end and the target's start every wait is downtime.
func TestAChangeOfPhaseIsFollowedAtOnce(t *testing.T) {
	w := newWorld(t, writingVM(t, "vm", 12<<20))
	w.guestWrites("vm", 128<<10)
	m := w.apply("vm", warmly("vm", nil))
	w.cut(m)
	w.engineWith([]string{"--poll", "1h"})
	m = w.phase(m.UID, engine.Completed)
	if m.Status.Warm.Phase != warm.Completed {
		t.Errorf("the coordinator is %s", m.Status.Warm.Phase)
	}
	w.equal(m)
}
