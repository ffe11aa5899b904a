package cli

import (
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"landfall/engine"
	"landfall/engine/boundary"
	"landfall/engine/warm"
	"landfall/sources"
	"landfall/sources/esxsim"
)

// dieInSnapshot lets an engine die after it has asked for its first snapshot, which the host takes for as long as is said.
func (w *testWorld) dieInSnapshot(m engine.Migration, takes time.Duration) engine.Migration {
	w.t.Helper()
	if err := w.host.FailSOAP(esxsim.SOAPFault{Method: "CreateSnapshot_Task", InTask: true, Delay: takes, Count: 1}); err != nil {
		w.t.Fatal(err)
	}
	p := w.engine(envKillIf+"="+string(boundary.SourceAct), envKill+"=2")
	w.eventually("the engine's death", p.ended)
	m, err := w.store.Migration(w.t.Context(), m.UID)
	if err != nil || m.Status.Warm == nil || m.Status.Warm.Wanted != 1 {
		w.t.Fatalf("it had not asked for its snapshot: %+v (%v)", m.Status.Warm, err)
	}
	return m
}

// settled waits until the host takes no snapshot of the VM any more.
func (w *testWorld) settled(m engine.Migration) {
	w.t.Helper()
	src, err := dialSource(w.t.Context(), w.endpoint.Source.Default(), false)
	if err != nil {
		w.t.Fatal(err)
	}
	defer src.Close()
	w.eventually("the host to have taken it", func() bool { return src.(sources.Live).Settled(w.t.Context(), m.Status.Inventory.Ref) == nil })
}

// TestASnapshotThatTheEngineNeverHeardOf, because it died while the host took it, is removed when the migration is cancelled, also
// where the host takes it still.
func TestASnapshotThatTheEngineNeverHeardOfIsRemoved(t *testing.T) {
	for name, tc := range map[string]struct{ takes time.Duration }{
		"taken":           {},
		"still under way": {3 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, writingVM(t, "vm", 12<<20))
			m := w.dieInSnapshot(w.apply("vm", warmly("vm", nil)), tc.takes)
			if tc.takes == 0 {
				w.settled(m)
			}
			if n := len(w.snapshotsOf("vm")); n > 0 != (tc.takes == 0) {
				t.Fatalf("%d snapshots: not what this test is about", n)
			}
			w.engine()
			w.cancelled(m)
			w.settled(m)
			w.noSnapshots("vm")
		})
	}
}

// TestASnapshotIsNotTakenTwice when the engine comes back while the host still takes the one that it asked for before it died.
func TestASnapshotIsNotTakenTwice(t *testing.T) {
	w := newWorld(t, writingVM(t, "vm", 12<<20))
	m := w.dieInSnapshot(w.apply("vm", warmly("vm", nil)), 3*time.Second)
	w.engine()
	m = w.until(m.UID, "its lease", func(m engine.Migration) bool {
		return m.Status.Warm.Workers[0].Lease != nil || m.Status.Warm.Generation > 1
	})
	if n := w.host.Counters().Calls["CreateSnapshot_Task"]; n != 1 || m.Status.Warm.Generation != 1 {
		t.Errorf("asked for %d snapshots, generation %d", n, m.Status.Warm.Generation)
	}
	m = w.converged(m.UID)
	w.cutAndComplete(m, "vm")
}

// TestASnapshotThatStaysIsListed: who gives up says so, and what is left is found and removed later.
func TestASnapshotThatStaysIsListed(t *testing.T) {
	w := newWorld(t, writingVM(t, "vm", 12<<20))
	m := w.dieInSnapshot(w.apply("vm", warmly("vm", nil)), 0)
	w.settled(m)
	if err := w.host.FailSOAP(esxsim.SOAPFault{Method: "RemoveSnapshot_Task", Fault: "ResourceInUse"}); err != nil {
		t.Fatal(err)
	}
	if err := w.store.Cancel(t.Context(), m.UID, tester); err != nil {
		t.Fatal(err)
	}
	var later atomic.Int64
	stop := w.engineBetween(nil, func() time.Time { return time.Now().Add(time.Duration(later.Load())) })
	w.until(m.UID, "a try to clean up", func(m engine.Migration) bool { return m.Status.Phase == engine.Cancelling && len(m.Status.Errors) > 0 })
	later.Store(int64(time.Hour))
	m = w.until(m.UID, "the end", func(m engine.Migration) bool { return m.Status.Phase.Terminal() })
	stop()
	if len(m.Status.Left) != 1 || m.Status.Left[0].Kind != "snapshot" || m.Status.Left[0].Name != warm.Name(m.UID, 1) {
		t.Errorf("left: %+v", m.Status.Left)
	}
	if h := m.Status.Warm.History; !strings.Contains(h[len(h)-1].Reason, "1 things are left") || m.Status.Warm.Latest == nil && m.Status.Warm.Wanted == 0 {
		t.Errorf("the coordinator ended: %+v", h[len(h)-1])
	}
	out, errs, code := w.say("cleanup", "--leases")
	if code != 0 || !strings.Contains(out, warm.Name(m.UID, 1)) || !strings.Contains(out, "dry run") {
		t.Errorf("exit %d: %s%s", code, out, errs)
	}
	w.host.ClearFaults()
	if out, errs, code = w.say("cleanup", "--leases", "--execute"); code != 0 || !strings.Contains(out, warm.Name(m.UID, 1)) {
		t.Errorf("exit %d: %s%s", code, out, errs)
	}
	w.noSnapshots("vm")
	if out, errs, code = w.say("cleanup", "--leases"); code != 0 || strings.Contains(out, warm.Name(m.UID, 1)) {
		t.Errorf("exit %d: %s%s", code, out, errs)
	}
}
