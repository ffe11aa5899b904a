package cli

import (
	"encoding/json"
	"strings"
	"testing"

	"landfall/engine"
	"landfall/engine/warm"
)

// TestTheListTellsWhereAWarmMigrationIs without reading its document.
func TestTheListTellsWhereAWarmMigrationIs(t *testing.T) {
	w := newWorld(t, writingVM(t, "vm", 12<<20))
	w.guestWrites("vm", 128<<10)
	m := w.apply("vm", warmly("vm", nil))
	w.engine()
	m = w.goesOn(w.converged(m.UID))
	out, errs, code := w.say("list")
	for _, word := range []string{"Preparing PREPARING_TARGET", "behind after", "rounds; ready: waiting for the word"} {
		if code != 0 || !strings.Contains(out, word) {
			t.Errorf("exit %d, %q is not in %s%s", code, word, out, errs)
		}
	}
	var lines []engine.Line
	out, errs, code = w.say("list", "-o", "json")
	if err := json.Unmarshal([]byte(out), &lines); err != nil || code != 0 || len(lines) != 1 || lines[0].Warm == nil ||
		lines[0].Warm.Phase != warm.PreparingTarget || lines[0].Warm.Gap < 0 || lines[0].Warm.Rounds < rounds(m) {
		t.Errorf("exit %d, %v: %s%s", code, err, out, errs)
	}
	w.cutAndComplete(m, "vm")
	if out, _, _ = w.say("list"); strings.Contains(out, "COMPLETED") || !strings.Contains(out, "Completed") {
		t.Errorf("in the end: %s", out)
	}
}
