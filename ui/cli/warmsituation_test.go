package cli

import (
	"strings"
	"testing"
	"time"

	"landfall/engine"
	"landfall/engine/spec"
	"landfall/engine/warm"
	"landfall/sources/esxsim"
)

// warmAt waits for a phase of the coordinator.
func (w *testWorld) warmAt(uid string, p warm.CoordinatorPhase) engine.Migration {
	w.t.Helper()
	return w.until(uid, string(p), func(m engine.Migration) bool {
		if m.Status.Phase.Terminal() && (m.Status.Warm == nil || m.Status.Warm.Phase != p) {
			w.t.Fatalf("%s: %+v", m.Status.Phase, m.Status.Errors)
		}
		return m.Status.Warm != nil && m.Status.Warm.Phase == p
	})
}

func (w *testWorld) cut(m engine.Migration) {
	w.t.Helper()
	if err := w.store.CutOver(w.t.Context(), m.UID, tester); err != nil {
		w.t.Fatal(err)
	}
}

// full tells why a disk was read whole again, of all its rounds.
func fullAgain(m engine.Migration) string {
	var why []string
	for _, d := range m.Status.Warm.Workers {
		for _, r := range d.Rounds {
			if r.Reason != "" {
				why = append(why, r.Reason)
			}
		}
	}
	return strings.Join(why, "; ")
}

// TestTrackingThatLiesIsFoundOut: an area that change tracking leaves out ends a proved migration as Failed, with the reason.
func TestTrackingThatLiesIsFoundOut(t *testing.T) {
	w := newWorld(t, writingVM(t, "vm", 16<<20))
	if err := w.host.SetTracking("vm", 0, esxsim.TrackingFaults{Omit: []esxsim.Range{{Offset: 5 << 20, Length: 1 << 20}}}); err != nil {
		t.Fatal(err)
	}
	m := w.apply("vm", func(d *spec.Document) {
		warmly("vm", nil)(d)
		d.Spec.Strategy.Verify = "proved"
	})
	w.engine()
	w.converged(m.UID)
	if err := w.host.WriteDisk("vm", 0, 5<<20, []byte("what tracking does not tell")); err != nil {
		t.Fatal(err)
	}
	w.cut(m)
	m = w.phase(m.UID, engine.Failed)
	if s := m.Status.Warm; s.Phase != warm.Failed || !strings.Contains(s.Failure, "left something out") {
		t.Errorf("%s: %q", s.Phase, s.Failure)
	}
	w.noSnapshots("vm")
}

// TestWhatIsLostOnTheWayIsReadAgain: forgotten change ids and a snapshot that somebody removed cost a full pass, with the reason
// shown, and nothing else.
func TestWhatIsLostOnTheWayIsReadAgain(t *testing.T) {
	const forgotten = "change tracking has forgotten"
	for name, tc := range map[string]struct {
		lose func(w *testWorld) error
		why  string
	}{
		"tracking forgets":     {func(w *testWorld) error { return w.host.LoseTracking("vm") }, forgotten},
		"our snapshot is gone": {func(w *testWorld) error { return w.host.RemoveSnapshots("vm", "") }, "removed by somebody else"},
		"FileFault": {func(w *testWorld) error {
			return w.host.FailSOAP(esxsim.SOAPFault{Method: "QueryChangedDiskAreas", Fault: "FileFault", Count: 1})
		}, forgotten},
		"the tracking file is another, and the host does not mind": {func(w *testWorld) error {
			if err := w.host.SetTracking("vm", 0, esxsim.TrackingFaults{Lax: true}); err != nil {
				return err
			}
			if err := w.host.WriteDisk("vm", 0, 5<<20, []byte("what only the old file knew of")); err != nil {
				return err
			}
			return w.host.LoseTracking("vm")
		}, forgotten},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, writingVM(t, "vm", 16<<20))
			w.guestWrites("vm", 128<<10)
			m := w.apply("vm", warmly("vm", nil))
			w.engine()
			w.converged(m.UID)
			if err := tc.lose(w); err != nil {
				t.Fatal(err)
			}
			w.until(m.UID, "a full pass", func(m engine.Migration) bool { return strings.Contains(fullAgain(m), tc.why) })
			w.cut(m)
			m = w.phase(m.UID, engine.Completed)
			w.equal(m)
			w.noSnapshots("vm")
		})
	}
}

func TestAGuestThatCannotBeBroughtToRestIsCopiedWithout(t *testing.T) {
	w := newWorld(t, writingVM(t, "vm", 16<<20))
	if err := w.host.SetQuiesce("vm", false); err != nil {
		t.Fatal(err)
	}
	m := w.apply("vm", warmly("vm", nil))
	w.engine()
	m = w.converged(m.UID)
	if m.Status.Warm.Workers[0].Lease.Quiesced {
		t.Error("called quiesced")
	}
	events, err := w.store.Events(t.Context(), m.UID, 0, 1000)
	if err != nil {
		t.Fatal(err)
	}
	said := false
	for _, e := range events {
		said = said || e.Reason == "Quiesce"
	}
	if !said {
		t.Error("nobody was told")
	}
	w.cut(m)
	w.equal(w.phase(m.UID, engine.Completed))
}

// TestTrackingIsSwitchedOnAndOffAgain with the consent of the document.
func TestTrackingIsSwitchedOnAndOffAgain(t *testing.T) {
	vm := writingVM(t, "vm", 16<<20)
	vm.ChangeTracking = false
	w := newWorld(t, vm)
	w.guestWrites("vm", 128<<10)
	m := w.apply("vm", func(d *spec.Document) {
		warmly("vm", func(s *spec.Warm) { s.ChangeTracking = spec.EnableAndRestoreTracking })(d)
	})
	w.engine()
	for {
		m = w.until(m.UID, "a question or the word", func(m engine.Migration) bool {
			return m.Status.Phase == engine.ManualInterventionRequired || m.Status.Warm != nil && m.Status.Warm.Waiting != ""
		})
		if m.Status.Phase != engine.ManualInterventionRequired {
			break
		}
		w.answer(m.UID, "accept", "accept") // the rule asks on its own; the document's consent is acted on later
	}
	w.converged(m.UID)
	w.cut(m)
	m = w.phase(m.UID, engine.Completed)
	w.equal(m)
	w.noSnapshots("vm")
	if !m.Status.Warm.Tracking {
		t.Error("not recorded as switched on by us")
	}
	src, err := dialSource(t.Context(), w.endpoint.Source.Default(), false)
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	if now, err := src.Inspect(t.Context(), m.Status.Inventory.Ref); err != nil || now.ChangeTracking {
		t.Errorf("tracking is still on: %v (%v)", now.ChangeTracking, err)
	}
}

// TestAHoldRefusesTheWordAndAWindowNeedsNone: a hold stands against the word, and a window cuts over by itself within the budget.
func TestAHoldRefusesTheWordAndAWindowNeedsNone(t *testing.T) {
	w := newWorld(t, writingVM(t, "vm", 16<<20))
	w.guestWrites("vm", 128<<10)
	m := w.apply("vm", warmly("vm", func(s *spec.Warm) { s.Hold = true }))
	w.engine()
	m = w.until(m.UID, "the hold", func(m engine.Migration) bool {
		return m.Status.Warm != nil && m.Status.Warm.Waiting == "the cutover is held by a person"
	})
	if err := w.store.CutOver(t.Context(), m.UID, tester); err == nil {
		t.Error("the word was taken beside a hold")
	}
	d := m.Document
	d.Spec.Strategy.Warm.Hold = false
	d.Spec.Strategy.Warm.DowntimeBudgetSeconds = 3600
	d.Spec.Strategy.Warm.Window = &spec.Window{From: time.Now().Add(-time.Hour), Until: time.Now().Add(time.Hour)}
	if err := w.store.Change(t.Context(), m.UID, m.Generation, d, tester); err != nil {
		t.Fatal(err)
	}
	m = w.until(m.UID, "what the window lacks", func(m engine.Migration) bool {
		return strings.Contains(m.Status.Warm.Waiting, "the downtime cannot be forecast")
	})
	d.Spec.Strategy.Warm.Assume = spec.Assume{DeliveryBytesPerSecond: 100 << 20, BootSeconds: 10}
	if err := w.store.Change(t.Context(), m.UID, m.Generation, d, tester); err != nil {
		t.Fatal(err)
	}
	m = w.phase(m.UID, engine.Completed)
	w.equal(m)
	if !strings.HasPrefix(m.Status.Warm.Word, "window ") {
		t.Errorf("on the word %q", m.Status.Warm.Word)
	}
}

// TestThreeDisksShareSnapshotsAndTwoPermits: never more disks under way than permits, and nothing left in the end.
func TestThreeDisksShareSnapshotsAndTwoPermits(t *testing.T) {
	vm := writingVM(t, "vm", 12<<20)
	for i := range 2 {
		vm.Disks = append(vm.Disks, esxsim.Disk{Size: 6 << 20, Contents: esxsim.Contents{Seed: uint64(i + 1), Ranges: []esxsim.Range{{Length: 4 << 20}}}})
	}
	w := newWorld(t, vm)
	w.guestWrites("vm", 128<<10)
	m := w.apply("vm", warmly("vm", nil))
	w.cut(m)
	w.engine()
	most := 0
	w.until(m.UID, "the cutover", func(m engine.Migration) bool {
		if s := m.Status.Warm; s != nil {
			busy := 0
			for _, d := range s.Workers {
				if d.Phase == warm.WorkerBackfilling || d.Phase == warm.WorkerReplaying || d.Phase == warm.WorkerConverging {
					busy++
				}
			}
			most = max(most, busy)
		}
		return m.Status.Phase.Terminal() || m.Status.Warm != nil && m.Status.Warm.Phase == warm.CatchingUp
	})
	m = w.phase(m.UID, engine.Completed)
	w.equal(m)
	w.noSnapshots("vm")
	if most > 2 {
		t.Errorf("%d disks were copied at once, with two permits", most)
	}
}

// TestASourceThatIsStartedAgainIsCaughtUpWithAgain: what it wrote meanwhile is in the copy, once a person has said to go on.
func TestASourceThatIsStartedAgainIsCaughtUpWithAgain(t *testing.T) {
	w := newWorld(t, writingVM(t, "vm", 16<<20))
	w.guestWrites("vm", 128<<10)
	m := w.apply("vm", func(d *spec.Document) {
		warmly("vm", nil)(d)
		d.Spec.Strategy.Verify = "proved" // reads long enough to come between
	})
	w.engine()
	w.converged(m.UID)
	w.host.SetRate(1 << 20)
	w.cut(m)
	w.warmAt(m.UID, warm.CatchingUp)
	if err := w.host.SetPower("vm", esxsim.On); err != nil {
		t.Fatal(err)
	}
	m = w.phase(m.UID, engine.ManualInterventionRequired)
	if m.Status.Reason != "PoweredOnAgain" {
		t.Errorf("%s: %s", m.Status.Reason, m.Status.Message)
	}
	time.Sleep(300 * time.Millisecond) // the guest writes
	if err := w.host.SetPower("vm", esxsim.Off); err != nil {
		t.Fatal(err)
	}
	w.host.SetRate(0)
	w.retry(m.UID)
	w.equal(w.phase(m.UID, engine.Completed))
	w.noSnapshots("vm")
}

// TestWarmVerbs takes a warm migration through the verbs.
func TestWarmVerbs(t *testing.T) {
	w := newWorld(t, writingVM(t, "vm", 16<<20))
	w.guestWrites("vm", 128<<10)
	m := w.apply("vm", warmly("vm", nil))
	w.engine()
	ok := func(want string, args ...string) {
		t.Helper()
		if out, errs, code := w.say(args...); code != 0 || !strings.Contains(out, want) {
			t.Fatalf("%v: exit %d: %s%s", args, code, out, errs)
		}
	}
	refused := func(want string, args ...string) {
		t.Helper()
		if out, errs, code := w.say(args...); code == 0 || !strings.Contains(errs, want) {
			t.Fatalf("%v: exit %d: %s%s", args, code, out, errs)
		}
	}
	ok("the cutover is held", "hold", m.UID)
	refused("its cutover is held", "cutover", m.UID, "--confirm", "vm")
	refused(`"fast" is not a rate`, "throttle", m.UID, "fast")
	ok("at most 52428800 bytes", "throttle", m.UID, "50M")
	ok("paused", "pause", m.UID)
	ok("goes on", "resume", m.UID)
	ok("given anew", "hold", m.UID, "--off")
	refused("does not name the VM", "cutover", m.UID, "--confirm", "another")
	w.converged(m.UID)
	ok("Projected downtime: ", "cutover", m.UID, "--confirm", "vm")
	m = w.phase(m.UID, engine.Completed)
	if got := m.Status.Options.Strategy.Throttle; got != 50<<20 {
		t.Errorf("throttle %d", got)
	}
	ok("", "cleanup", "--leases")
	ok("forecast at the cutover", "report", m.UID)
}
