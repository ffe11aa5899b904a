package cli

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"landfall/engine"
	"landfall/engine/warm"
	"landfall/sources"
	"landfall/sources/esxsim"
)

// TestAVMThatMovesToAnotherHost while it is copied is followed there; what is read whole again says why.
func TestAVMThatMovesToAnotherHost(t *testing.T) {
	for name, tc := range map[string]struct {
		storage bool // its files move too, which change ids do not survive
		early   bool // while it is read for the first time
		why     string
	}{
		"between rounds":           {},
		"with its files":           {storage: true, why: "change tracking has forgotten"},
		"during the first copy":    {early: true},
		"with files, in the first": {early: true, storage: true, why: "change tracking has forgotten"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.underVCenter(writingVM(t, "vm", 16<<20))
			w.guestWrites("vm", 128<<10)
			if tc.early {
				w.host.SetRate(4 << 20)
			}
			m := w.apply("vm", warmly("vm", nil))
			w.engineBetween(nil, nil)
			if tc.early {
				w.until(m.UID, "bytes", func(m engine.Migration) bool { return len(m.Status.Disks) > 0 && m.Status.Disks[0].Copied > 0 })
			} else {
				m = w.converged(m.UID)
			}
			if err := w.host.Move("vm", "esx-2.example", tc.storage); err != nil {
				t.Fatal(err)
			}
			w.host.SetRate(0)
			m = w.until(m.UID, "the move to be seen", func(m engine.Migration) bool { return m.Status.Inventory.Host == "esx-2.example" })
			if said := w.events(m.UID, "Drift"); len(said) == 0 || !strings.Contains(said[len(said)-1], "moved from host") {
				t.Errorf("said: %q", said)
			}
			if tc.why != "" {
				w.until(m.UID, "a full pass", func(m engine.Migration) bool {
					return m.Status.Warm.Phase != warm.Active && strings.Contains(fullAgain(m), tc.why)
				})
			}
			m = w.converged(m.UID)
			m = w.goesOn(m)
			if why := fullAgain(m); tc.why == "" && why != "" {
				t.Errorf("read whole again: %s", why)
			}
			w.cutAndComplete(m, "vm")
		})
	}
}

// TestDisksThatChangeWhileWarmAreForAPerson, who is told what changed and what to do, and who finds nothing of ours after the end.
func TestDisksThatChangeWhileWarmAreForAPerson(t *testing.T) {
	at := func(p warm.CoordinatorPhase) func(*testWorld, engine.Migration) {
		return func(w *testWorld, m engine.Migration) {
			m = w.converged(m.UID)
			if p != warm.CatchingUp {
				return
			}
			w.host.SetRate(256 << 10)
			w.cut(m)
			w.warmAt(m.UID, p)
		}
	}
	grow := func(w *testWorld) { // refused while a snapshot is there, so that somebody removes ours first
		w.eventually("the disk to grow", func() bool {
			return w.host.RemoveSnapshots("vm", "") == nil && w.host.GrowDisk("vm", 0, 24<<20) == nil
		})
	}
	for name, tc := range map[string]struct {
		reach func(*testWorld, engine.Migration)
		edit  func(*testWorld)
		words []string
	}{
		"grown between rounds": {at(warm.PreparingTarget), grow, []string{"disk 0", "16777216", "25165824", "cancel, and migrate"}},
		"grown when it is off": {at(warm.CatchingUp), grow, []string{"disk 0", "16777216", "25165824", "cancel, and migrate"}},
		"one more": {at(warm.PreparingTarget), func(w *testWorld) {
			if err := w.host.AddDisk("vm", esxsim.Disk{Size: 8 << 20}); err != nil {
				t.Fatal(err)
			}
		}, []string{"Hard disk 3", "8388608", "was added", "cancel, and migrate"}},
		"one less": {at(warm.PreparingTarget), func(w *testWorld) {
			if err := w.host.RemoveDisk("vm", 1); err != nil {
				t.Fatal(err)
			}
		}, []string{"disk 1", "Hard disk 2", "was removed", "cancel, and migrate"}},
	} {
		t.Run(name, func(t *testing.T) {
			vm := writingVM(t, "vm", 16<<20)
			vm.Disks = append(vm.Disks, esxsim.Disk{Size: 4 << 20, Contents: esxsim.Contents{Seed: 3, Ranges: []esxsim.Range{{Length: 1 << 20}}}})
			w := newWorld(t, vm)
			w.guestWrites("vm", 128<<10)
			m := w.apply("vm", warmly("vm", nil))
			w.engine()
			tc.reach(w, m)
			tc.edit(w)
			m = w.rests(m.UID, "SizeChanged", tc.words...)
			w.host.SetRate(0)
			w.retry(m.UID)
			w.rests(m.UID, "SizeChanged", tc.words...) // it is no better for being looked at again
			w.cancelled(m)
			w.noSnapshots("vm")
		})
	}
}

// TestASnapshotOfAnotherIsNeverTouched wherever in a warm migration a backup takes it, and the migration goes on when it is gone.
func TestASnapshotOfAnotherIsNeverTouched(t *testing.T) {
	const theirs = "backup of the night"
	for _, p := range []warm.CoordinatorPhase{warm.Active, warm.PreparingTarget, warm.CuttingOver, warm.CatchingUp} {
		for _, goOn := range []bool{false, true} {
			t.Run(string(p)+map[bool]string{false: " cancelled", true: " gone on with"}[goOn], func(t *testing.T) {
				w := newWorld(t, writingVM(t, "vm", 16<<20))
				w.guestWrites("vm", 128<<10)
				m := w.apply("vm", warmly("vm", nil))
				w.reach(m, "vm", p)
				if err := w.host.TakeSnapshot("vm", theirs); err != nil {
					t.Fatal(err)
				}
				m = w.rests(m.UID, "SnapshotAppeared", theirs, "remove it, then retry", "strategy Cold")
				w.host.SetRate(0)
				if err := w.host.SetShutdown("vm", esxsim.Shutdown{Answer: esxsim.Obeys}); err != nil {
					t.Fatal(err)
				}
				if !goOn {
					w.cancelled(m)
					if left := w.snapshotsOf("vm"); len(left) != 1 || left[0].Name != theirs {
						t.Errorf("snapshots: %+v", left)
					}
					return
				}
				if left := w.snapshotsOf("vm"); !slices.ContainsFunc(left, func(s sources.Snapshot) bool { return s.Name == theirs }) {
					t.Errorf("snapshots: %+v", left)
				}
				if err := w.host.RemoveSnapshots("vm", theirs); err != nil {
					t.Fatal(err)
				}
				if p == warm.CuttingOver {
					_ = w.host.SetPower("vm", esxsim.Off)
				}
				w.retry(m.UID)
				if p == warm.Active || p == warm.PreparingTarget {
					m = w.converged(m.UID)
					w.cut(m)
				}
				m = w.phase(m.UID, engine.Completed)
				w.equal(m)
				w.noSnapshots("vm")
			})
		}
	}
}

// reach starts an engine and brings a warm migration into a phase in which it stays for a while.
func (w *testWorld) reach(m engine.Migration, vm string, p warm.CoordinatorPhase) {
	w.t.Helper()
	if p == warm.Active {
		w.host.SetRate(2 << 20)
	}
	if p == warm.CuttingOver {
		if err := w.host.SetShutdown(vm, esxsim.Shutdown{Answer: esxsim.Refuses}); err != nil {
			w.t.Fatal(err)
		}
	}
	w.engine()
	if p == warm.CuttingOver || p == warm.CatchingUp {
		m = w.converged(m.UID)
		if p == warm.CatchingUp {
			w.host.SetRate(64 << 10)
		}
		w.cut(m)
	}
	w.warmAt(m.UID, p)
}

// TestAVMWithSnapshotsIsNotBegun warm: they are counted and named before anything is done to it.
func TestAVMWithSnapshotsIsNotBegun(t *testing.T) {
	vm := writingVM(t, "vm", 8<<20)
	for i := range 30 {
		vm.Snapshots = append(vm.Snapshots, esxsim.Snapshot{Name: fmt.Sprintf("old %d", i)})
	}
	vm.ChangeTracking = false // 28 are the most with it
	w := newWorld(t, vm)
	m := w.apply("vm", warmly("vm", nil))
	w.engine()
	m = w.rests(m.UID, "Blocked", "30 snapshots", "old 29")
	if m.Status.Warm != nil || len(w.snapshotsOf("vm")) != 30 || w.host.Counters().Calls["ReconfigVM_Task"] > 0 {
		t.Errorf("it was begun: %+v", m.Status.Warm)
	}
	w.cancelled(m)
	if n := len(w.snapshotsOf("vm")); n != 30 {
		t.Errorf("%d snapshots are left of 30", n)
	}
}
