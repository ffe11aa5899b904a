package cli

import (
	"testing"

	"landfall/engine"
	"landfall/engine/spec"
	"landfall/engine/warm"
	"landfall/sources"
	"landfall/sources/esxsim"
)

// warmly asks for a warm migration with a check of the guest's page. The threshold is above all that the guest writes to, so that a
// busy machine does not keep it from converging.
func warmly(name string, change func(*spec.Warm)) func(*spec.Document) {
	return func(d *spec.Document) {
		checked(name)(d)
		d.Spec.Strategy.Type = "Warm"
		d.Spec.Strategy.Warm = spec.Warm{ThresholdBytes: 8 << 20, RoundSeconds: 1, ChangeTracking: spec.EnableTracking}
		if change != nil {
			change(&d.Spec.Strategy.Warm)
		}
	}
}

// writingVM is a VM whose guest keeps writing to a part of its disk.
func writingVM(t *testing.T, name string, size int64) esxsim.VM {
	vm := smallVM(t, name, size)
	vm.ChangeTracking = true
	return vm
}

func (w *testWorld) guestWrites(name string, rate int64) {
	w.t.Helper()
	if err := w.host.SetWriter(name, esxsim.Writer{Rate: rate, Seed: 1, Area: esxsim.Range{Offset: 4 << 20, Length: 6 << 20}}); err != nil {
		w.t.Fatal(err)
	}
}

// converged waits until the target is ready and the word is waited for.
func (w *testWorld) converged(uid string) engine.Migration {
	w.t.Helper()
	return w.until(uid, "the word to be waited for", func(m engine.Migration) bool {
		if p := m.Status.Phase; p.Terminal() || p == engine.ManualInterventionRequired {
			w.t.Fatalf("%s (%s: %s)\n%+v", p, m.Status.Reason, m.Status.Message, m.Status.Errors)
		}
		s := m.Status.Warm
		return s != nil && s.Phase == warm.PreparingTarget && s.Waiting == "ready: waiting for the word to cut over"
	})
}

func TestWarmMigrationOfAWritingGuest(t *testing.T) {
	w := newWorld(t, writingVM(t, "vm", 16<<20))
	w.guestWrites("vm", 256<<10)
	m := w.apply("vm", warmly("vm", nil))
	w.engine()
	m = w.converged(m.UID)
	if m.Status.Power != "on" || !m.Status.Times.SourcePoweredOff.IsZero() {
		t.Errorf("the source is %s before the word", m.Status.Power)
	}
	if err := w.store.CutOver(t.Context(), m.UID, tester); err != nil {
		t.Fatal(err)
	}
	m = w.phase(m.UID, engine.Completed)
	w.equal(m)
	s := m.Status.Warm
	if s.Phase != warm.Completed || s.Promised == nil || s.Word == "" {
		t.Errorf("%s, promised %+v on %q", s.Phase, s.Promised, s.Word)
	}
	for _, d := range s.Workers {
		t.Logf("disk %d by %s: %d rounds, %+v", d.Index, d.Reader, d.Count, d.Rounds)
	}
	w.noSnapshots("vm")
}

// noSnapshots looks at the host itself, and at what the store says is held.
func (w *testWorld) noSnapshots(name string) {
	w.t.Helper()
	ctx := w.t.Context()
	lines, err := w.store.Lines(ctx)
	if err != nil {
		w.t.Fatal(err)
	}
	for _, l := range lines {
		held, err := w.store.Held(ctx, l.UID)
		if err != nil {
			w.t.Fatal(err)
		}
		for _, h := range held {
			if h.Lease() {
				w.t.Errorf("held: %s", h)
			}
		}
	}
	if left := w.snapshotsOf(name); len(left) > 0 {
		w.t.Errorf("snapshots are left: %v", left)
	}
}

// snapshotsOf asks the host as the product does.
func (w *testWorld) snapshotsOf(name string) []sources.Snapshot {
	w.t.Helper()
	ctx := w.t.Context()
	src, err := dialSource(ctx, w.endpoint.Source.Default(), false)
	if err != nil {
		w.t.Fatal(err)
	}
	defer src.Close()
	list, err := src.List(ctx)
	if err != nil {
		w.t.Fatal(err)
	}
	for _, s := range list {
		if s.Name == name {
			all, err := src.(sources.Live).Snapshots(ctx, s.Ref)
			if err != nil {
				w.t.Fatal(err)
			}
			return all
		}
	}
	w.t.Fatalf("no VM %s", name)
	return nil
}
