package cli

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"landfall/engine"
	"landfall/engine/fault"
	"landfall/engine/spec"
	"landfall/engine/warm"
	"landfall/sources/esxsim"
)

// ends are how a warm migration can be ended in the middle of a phase.
var ends = map[string]struct {
	cancel, fail bool
	phase        engine.Phase
	coordinator  warm.CoordinatorPhase
	worker       warm.WorkerPhase
}{
	"cancelled": {cancel: true, phase: engine.Cancelled, coordinator: warm.Cancelled, worker: warm.WorkerCancelled},
	"failed":    {fail: true, phase: engine.Failed, coordinator: warm.Failed, worker: warm.WorkerFailed},
	// Failing beats cancelling.
	"both at once": {cancel: true, fail: true, phase: engine.Failed, coordinator: warm.Failed, worker: warm.WorkerFailed},
}

// TestWarmIsEndedInEveryPhase and leaves nothing of ours on the source and in the cluster, and the source as it was. The first reason
// of a failure is kept whatever fails while it is cleaned up.
func TestWarmIsEndedInEveryPhase(t *testing.T) {
	vm := writingVM(t, "vm", 12<<20)
	vm.ChangeTracking = false // so that there is something to do at the beginning and at the end
	w := newWorld(t, vm)
	w.guestWrites("vm", 128<<10)
	for _, row := range warm.Coordinator.Rows {
		if warm.Coordinator.Terminal(row.Phase) || row.Phase == warm.Cancelling || row.Phase == warm.Failing {
			continue
		}
		for name, end := range ends {
			t.Run(fmt.Sprintf("%s %s", row.Phase, name), func(t *testing.T) {
				sub := *w
				sub.t = t
				sub.fresh(strings.ReplaceAll(t.Name(), "/", "-"))
				m := sub.apply("vm", func(d *spec.Document) {
					warmly("vm", func(s *spec.Warm) { s.ChangeTracking = spec.EnableAndRestoreTracking })(d)
				})
				at := func(m engine.Migration) bool {
					return m.Status.Phase == engine.Preparing && m.Status.Warm != nil && m.Status.Warm.Phase == row.Phase
				}
				stop := sub.engineBetween(sub.once(m.UID, at, func() error {
					if end.cancel {
						if err := sub.store.Cancel(t.Context(), m.UID, tester); err != nil {
							return err
						}
					}
					if !end.fail {
						return nil
					}
					// What is done to clean up fails too, once.
					later := w.host.FailSOAP(esxsim.SOAPFault{Method: "RemoveSnapshot_Task", Fault: "ResourceInUse", Count: 1})
					return errors.Join(fault.New(fault.Permanent, "Broken", errors.New("the first reason")), later)
				}), nil)
				if row.Phase != warm.Initializing && row.Phase != warm.Active && row.Phase != warm.PreparingTarget {
					sub.converged(m.UID)
					sub.cut(m)
				}
				m = sub.until(m.UID, "the end", func(m engine.Migration) bool { return m.Status.Phase.Terminal() })
				stop()
				w.host.ClearFaults()
				s := m.Status.Warm
				if m.Status.Phase != end.phase || s.Phase != end.coordinator {
					t.Fatalf("ended %s, the coordinator %s: %+v", m.Status.Phase, s.Phase, m.Status.Errors)
				}
				for _, d := range s.Workers {
					if d.Phase != end.worker && d.Phase != warm.WorkerCompleted {
						t.Errorf("worker %d is %s", d.Index, d.Phase)
					}
				}
				if end.fail && (!strings.Contains(s.Failure, "the first reason") || !strings.Contains(m.Status.FirstError.Message, "the first reason")) {
					t.Errorf("failed of %q, first error %+v", s.Failure, m.Status.FirstError)
				}
				if !end.fail && s.Failure != "" {
					t.Errorf("failed of %q", s.Failure)
				}
				sub.nothingOfOurs(m)
				w.set("vm", esxsim.On)
			})
		}
	}
}

// nothingOfOurs looks at the source and the cluster after the end, and powers the source off for whoever comes next.
func (w *testWorld) nothingOfOurs(m engine.Migration) {
	w.t.Helper()
	w.noSnapshots("vm")
	for _, h := range m.Status.Left {
		if h.Kind != "power" {
			w.t.Errorf("left behind: %s (%s)", h, h.Note)
		}
	}
	if vs := w.cluster.Volumes(); len(vs) > 0 {
		w.t.Errorf("volumes are left: %+v", vs)
	}
	src, err := dialSource(w.t.Context(), w.endpoint.Source.Default(), false)
	if err != nil {
		w.t.Fatal(err)
	}
	defer src.Close()
	vm, err := src.Inspect(w.t.Context(), m.Status.Inventory.Ref)
	if err != nil || vm.ChangeTracking {
		w.t.Errorf("change tracking is on still: %v (%v)", vm.ChangeTracking, err)
	}
	_ = w.host.SetPower("vm", esxsim.Off) // refused where it is off
}
