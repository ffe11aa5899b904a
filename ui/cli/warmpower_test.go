package cli

import (
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"landfall/engine"
	"landfall/engine/spec"
	"landfall/engine/warm"
	"landfall/sources"
	"landfall/sources/esxsim"
)

// set takes the source to power states, one after the other.
func (w *testWorld) set(vm string, states ...esxsim.Power) {
	w.t.Helper()
	for _, p := range states {
		if err := w.host.SetPower(vm, p); err != nil {
			w.t.Fatal(err)
		}
	}
}

// TestASuspendedSourceIsNotOff: rounds go on while it is suspended, and the cutover asks a person instead of taking it for off.
func TestASuspendedSourceIsNotOff(t *testing.T) {
	suspended := func(w *testWorld, m engine.Migration) {
		w.t.Helper()
		q := w.question(m.UID, "power-off", func(d engine.Decision) bool { return d.Open() })
		if !strings.Contains(q.Why, "it is suspended") {
			w.t.Errorf("asked: %s", q.Why)
		}
		m, err := w.store.Migration(w.t.Context(), m.UID)
		if err != nil {
			w.t.Fatal(err)
		}
		if s := m.Status; !s.Times.SourcePoweredOff.IsZero() || s.Has(engine.SourcePoweredOff) || s.Warm.Phase != warm.CuttingOver {
			w.t.Errorf("%s, off since %s", s.Warm.Phase, s.Times.SourcePoweredOff)
		}
	}
	for name, end := range map[string]func(w *testWorld, m engine.Migration){
		"resumed and shut down by hand": func(w *testWorld, m engine.Migration) {
			w.answer(m.UID, "power-off", "handover")
			w.set("vm", esxsim.On)
			if err := w.host.WriteDisk("vm", 0, 5<<20, []byte("written after it was resumed")); err != nil {
				w.t.Fatal(err)
			}
			w.set("vm", esxsim.Off)
		},
		"powered off hard": func(w *testWorld, m engine.Migration) { w.answer(m.UID, "power-off", "hard") },
	} {
		t.Run("before the word, "+name, func(t *testing.T) {
			w := newWorld(t, writingVM(t, "vm", 16<<20))
			w.guestWrites("vm", 128<<10)
			m := w.apply("vm", warmly("vm", nil))
			w.engine()
			m = w.converged(m.UID)
			w.set("vm", esxsim.Suspended)
			m = w.goesOn(m)
			w.cut(m)
			suspended(w, m)
			end(w, m)
			w.equal(w.phase(m.UID, engine.Completed))
			w.noSnapshots("vm")
		})
		t.Run("instead of shutting down, "+name, func(t *testing.T) {
			w := newWorld(t, writingVM(t, "vm", 16<<20))
			w.guestWrites("vm", 128<<10)
			m := w.apply("vm", warmly("vm", nil))
			w.reach(m, "vm", warm.CuttingOver)
			w.until(m.UID, "the guest to be asked", func(m engine.Migration) bool { s := m.Status.Shutdown; return s != nil && !s.Sent.IsZero() })
			w.set("vm", esxsim.Suspended)
			suspended(w, m)
			end(w, m)
			w.equal(w.phase(m.UID, engine.Completed))
			w.noSnapshots("vm")
		})
	}
}

// TestASourceThatRanOnceMoreIsCaughtUpWithAgain, seen running or not, until its disks are finished.
func TestASourceThatRanOnceMoreIsCaughtUpWithAgain(t *testing.T) {
	for name, tc := range map[string]struct {
		early bool // when it was asked what changed, and before that was read; else when everything was read
		stays bool // running, until a person shuts it down
		says  string
	}{
		"seen": {stays: true, says: "PoweredOnAgain"},
		// Nothing but the times of its files tells of it.
		"between two looks":         {says: "SourceWritten"},
		"while it is caught up":     {early: true, says: "SourceWritten"},
		"while it is, and stays on": {early: true, stays: true, says: "PoweredOnAgain"},
	} {
		t.Run(name, func(t *testing.T) {
			vm := writingVM(t, "vm", 16<<20)
			vm.Disks = append(vm.Disks, esxsim.Disk{Size: 4 << 20, Contents: esxsim.Contents{Seed: 3, Ranges: []esxsim.Range{{Length: 1 << 20}}}})
			w := newWorld(t, vm)
			m := w.apply("vm", func(d *spec.Document) {
				warmly("vm", func(s *spec.Warm) { s.ChangeTracking = spec.EnableAndRestoreTracking })(d)
			})
			run := sync.OnceValue(func() error {
				time.Sleep(1100 * time.Millisecond) // the host tells times of files in seconds
				var err error
				if tc.stays {
					err = w.host.SetPower("vm", esxsim.On)
				}
				return errors.Join(err, w.host.WriteDisk("vm", 0, 5<<20, []byte("written by one who came back")), w.host.WriteDisk("vm", 1, 3<<20, []byte("likewise")))
			})
			completing := func(m engine.Migration) bool {
				return !tc.early && m.Status.Phase == engine.Preparing && m.Status.Warm != nil && m.Status.Warm.Phase == warm.Completing
			}
			w.engineBetween(w.once(m.UID, completing, run), nil, func(s *sources.Snapshot) {
				if tc.early && s == nil {
					if err := run(); err != nil {
						t.Error(err)
					}
				}
			})
			w.converged(m.UID)
			w.cut(m)
			if tc.stays {
				m = w.rests(m.UID, tc.says, "vm", "shut it down and retry")
				if m.Status.Has(engine.SourcePoweredOff) {
					t.Error("called off while it runs")
				}
				w.set("vm", esxsim.Off)
				w.retry(m.UID)
			}
			m = w.phase(m.UID, engine.Completed)
			w.equal(m)
			w.noSnapshots("vm")
			if !tc.stays && len(w.events(m.UID, tc.says)) == 0 {
				t.Error("nobody was told")
			}
			if !m.Status.Has(engine.SourcePoweredOff) {
				t.Error("not called off in the end")
			}
		})
	}
}

// TestChangeIDsThatDieAtTheCutover cost a full pass of the disk while the source is off, with the reason.
func TestChangeIDsThatDieAtTheCutover(t *testing.T) {
	w := newWorld(t, writingVM(t, "vm", 16<<20))
	w.guestWrites("vm", 128<<10)
	m := w.apply("vm", warmly("vm", nil))
	w.reach(m, "vm", warm.CuttingOver)
	if err := w.host.LoseTracking("vm"); err != nil { // as when its host crashes
		t.Fatal(err)
	}
	w.set("vm", esxsim.Off)
	m = w.phase(m.UID, engine.Completed)
	w.equal(m)
	w.noSnapshots("vm")
	d := m.Status.Warm.Workers[0]
	if last := d.Rounds[len(d.Rounds)-1]; last.Kind != warm.KindFinal || !strings.Contains(last.Reason, "change tracking has forgotten") {
		t.Errorf("the last pass: %+v", last)
	}
}
