package cli

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"sigs.k8s.io/yaml"

	"landfall/engine"
	"landfall/engine/spec"
	"landfall/engine/warm"
	"landfall/sources/esxsim"
	"landfall/store"
)

// TestAChangeOfPhaseIsFollowedAtOnce: once the target is ready and the word is given, an engine that polls once an hour hands the
// disks over all the same. No phase waits for the next poll there, for between the source's end and the target's start every
// wait is downtime.
func TestAChangeOfPhaseIsFollowedAtOnce(t *testing.T) {
	w := newWorld(t, writingVM(t, "vm", 12<<20))
	w.guestWrites("vm", 128<<10)
	m := w.apply("vm", warmly("vm", func(s *spec.Warm) { s.RoundSeconds = 3600 }))
	p := w.engine()
	w.converged(m.UID)
	p.stop(t)
	w.cut(m)
	p = w.engineWith([]string{"--poll", "1h"})
	w.warmAt(m.UID, warm.Completed)
	p.stop(t)
	w.engine()
	w.equal(w.phase(m.UID, engine.Completed))
}

// statusDocument is what `landfall status` gives of a warm migration.
type statusDocument struct {
	engine.Migration
	Held []engine.Held `json:"held"`
}

func (w *testWorld) statusDocument(uid string) statusDocument {
	w.t.Helper()
	out, errs, code := w.say("status", uid, "-o", "yaml")
	var d statusDocument
	if err := yaml.Unmarshal([]byte(out), &d); code != 0 || err != nil || d.Status.Warm == nil {
		w.t.Fatalf("status: exit %d, %v: %s%s", code, err, out, errs)
	}
	return d
}

// String is the essentials of the document.
func (d statusDocument) String() string {
	s := d.Status.Warm
	var b strings.Builder
	fmt.Fprintf(&b, "phase %s, source %s, coordinator %s", d.Status.Phase, d.Status.Power, s.Phase)
	if s.Waiting != "" {
		fmt.Fprintf(&b, " (%s)", s.Waiting)
	}
	fmt.Fprintf(&b, "\n  options   %+v\n", s.Options)
	for _, k := range s.Workers {
		fmt.Fprintf(&b, "  disk %d    %s, gap %d, copied %d of %d, read at %.0f, written %.0f bytes/s, lease %v\n",
			k.Index, k.Phase, k.Gap, d.Status.Disks[k.Index].Copied, d.Status.Disks[k.Index].ToCopy, k.Rate, k.Written, k.Lease != nil)
		for _, r := range k.Rounds {
			fmt.Fprintf(&b, "  round %-3d %s: %d bytes in %.3f s %s\n", r.Number, r.Kind, r.Bytes, r.Seconds, r.Reason)
		}
	}
	total, known := s.Forecast.Total()
	fmt.Fprintf(&b, "  forecast  %s, known %v, %+v\n", total, known, s.Forecast)
	for _, c := range s.History {
		fmt.Fprintf(&b, "  history   %s %2d %s → %s %s\n", c.Time.Format("15:04:05.000"), c.Worker, c.From, c.To, c.Reason)
	}
	for _, h := range d.Held {
		fmt.Fprintf(&b, "  held      %s\n", h)
	}
	return b.String()
}

// way is the phases that a worker went through, or with -1 the coordinator.
func (d statusDocument) way(worker int) (way []string) {
	for _, c := range d.Status.Warm.History {
		if c.Worker != worker {
			continue
		}
		if len(way) == 0 {
			way = append(way, c.From)
		}
		way = append(way, c.To)
	}
	return way
}

// held phases of a coordinator: how the world keeps it there, what a document of it shows, and what lets it go on.
type heldPhase struct {
	phase   warm.CoordinatorPhase
	hold    func() error // called while the phase before is held
	enter   func() error // lets the phase before go
	inside  func(engine.Migration) bool
	workers []warm.WorkerPhase // that a worker may be in
	// again tells that the engine that was started after the kill works in this phase.
	again func(before statusDocument, now engine.Migration) bool
	check func(statusDocument) error
}

// TestWarmKilledInEveryPhase kills the engine with -9 in each phase of the coordinator, held there by the world outside. What
// `landfall status` tells is looked at before the kill, while no engine runs, and when the next engine works in that phase.
func TestWarmKilledInEveryPhase(t *testing.T) {
	vm := writingVM(t, "vm", 16<<20)
	vm.ChangeTracking = false // switched on in INITIALIZING and off again in COMPLETING
	vm.Shutdown = esxsim.Shutdown{Answer: esxsim.Refuses}
	w := newWorld(t, vm)
	w.guestWrites("vm", 256<<10)
	m := w.apply("vm", func(d *spec.Document) {
		warmly("vm", func(s *spec.Warm) { s.ChangeTracking = spec.EnableAndRestoreTracking })(d)
		d.Spec.Source.NBD.URI = "nbd://" + w.host.NBDAddress() + "/{snapshot}/{key}"
		d.Spec.Source.ShutdownSeconds = 3600
	})
	const held = time.Hour
	reconfigures := func(n int64) bool { return w.host.Counters().Calls["ReconfigVM_Task"] >= n }
	stall := func() error { return w.host.FailSOAP(esxsim.SOAPFault{Method: "ReconfigVM_Task", Delay: held}) }
	release := func() error { w.host.ClearFaults(); return nil }
	rate := func(n int64) func() error { return func() error { w.host.SetRate(n); return nil } }
	nothing := func() error { return nil }
	copied := func(m engine.Migration) int64 {
		if len(m.Status.Disks) == 0 {
			return 0
		}
		return m.Status.Disks[0].Copied
	}
	rounds := func(d statusDocument) int { return d.Status.Warm.Workers[0].Count }
	logins := int64(0)
	asked := func(statusDocument, engine.Migration) bool { return w.host.Counters().Logins > logins }
	phases := []heldPhase{
		{phase: warm.Initializing, hold: stall, enter: nothing, workers: []warm.WorkerPhase{warm.WorkerPending},
			inside: func(engine.Migration) bool { return reconfigures(1) },
			again:  func(statusDocument, engine.Migration) bool { return reconfigures(2) },
			check: func(d statusDocument) error {
				if n := len(d.Status.Warm.Workers); n != 1 || d.Status.Warm.Workers[0].Gap != -1 || rounds(d) != 0 {
					return fmt.Errorf("%d workers, %+v", n, d.Status.Warm.Workers)
				}
				return nil
			}},
		{phase: warm.Active, hold: rate(1 << 20), enter: release, workers: []warm.WorkerPhase{warm.WorkerBackfilling},
			inside: func(m engine.Migration) bool { return copied(m) > 0 },
			again:  func(b statusDocument, m engine.Migration) bool { return copied(m) > copied(b.Migration) },
			check: func(d statusDocument) error {
				if k := d.Status.Warm.Workers[0]; k.Gap != -1 || k.Lease == nil || k.Lease.ChangeID == "" || k.Count != 0 {
					return fmt.Errorf("%+v", k)
				}
				return nil
			}},
		{phase: warm.PreparingTarget, hold: nothing, enter: rate(0), workers: []warm.WorkerPhase{warm.WorkerConverged},
			inside: func(m engine.Migration) bool {
				return m.Status.Warm.Waiting == readyForTheWord && m.Status.Warm.Workers[0].Count > 2
			},
			again: func(b statusDocument, m engine.Migration) bool { return m.Status.Warm.Workers[0].Count > rounds(b)+1 },
			check: func(d statusDocument) error {
				k := d.Status.Warm.Workers[0]
				if k.Gap < 0 || k.Whole || k.Reader != "nbd" || k.Rounds[0].Kind != warm.KindFull || k.Rounds[1].Kind != warm.KindChanges {
					return fmt.Errorf("%+v", k)
				}
				if _, known := d.Status.Warm.Forecast.Total(); known || !d.Status.Warm.Forecast.CatchUp.Known {
					return fmt.Errorf("forecast %+v", d.Status.Warm.Forecast)
				}
				return nil
			}},
		{phase: warm.CuttingOver, hold: nothing, enter: func() error { return w.store.CutOver(t.Context(), m.UID, tester) },
			workers: []warm.WorkerPhase{warm.WorkerConverged},
			inside:  func(m engine.Migration) bool { return m.Status.Shutdown != nil && !m.Status.Shutdown.Sent.IsZero() },
			again:   asked,
			check: func(d statusDocument) error {
				if s := d.Status.Warm; s.Promised == nil || s.Word == "" || d.Status.Power != "on" {
					return fmt.Errorf("power %s, on the word %q, promised %+v", d.Status.Power, s.Word, s.Promised)
				}
				return nil
			}},
		{phase: warm.CatchingUp, hold: rate(32 << 10), enter: func() error { return w.host.SetPower("vm", esxsim.Off) },
			workers: []warm.WorkerPhase{warm.WorkerConverged, warm.WorkerCatchingUp},
			inside: func(m engine.Migration) bool {
				return m.Status.Warm.Workers[0].Phase == warm.WorkerCatchingUp && w.host.Counters().Requests > 0
			},
			again: func(statusDocument, engine.Migration) bool { return w.host.Counters().Requests > 0 },
			check: func(d statusDocument) error {
				if d.Status.Power != "off" || d.Status.Times.SourcePoweredOff.IsZero() {
					return fmt.Errorf("power %s since %s", d.Status.Power, d.Status.Times.SourcePoweredOff)
				}
				return nil
			}},
		{phase: warm.Completing, hold: stall, enter: rate(0), workers: []warm.WorkerPhase{warm.WorkerCompleting, warm.WorkerCompleted},
			inside: func(engine.Migration) bool { return reconfigures(1) },
			again:  func(statusDocument, engine.Migration) bool { return reconfigures(1) },
			check: func(d statusDocument) error {
				k := d.Status.Warm.Workers[0]
				if r := k.Rounds[len(k.Rounds)-1]; k.Gap != 0 || !k.CaughtUp || k.Lease != nil || r.Kind != warm.KindFinal {
					return fmt.Errorf("%+v, last round %+v", k, r)
				}
				return nil
			}},
	}
	wanted := warm.Options{Threshold: 8 << 20, MaxRounds: 10, Every: time.Second, Quiesce: true, NoConversion: true, Restore: true}
	var way []string
	look := func(h heldPhase, when string) statusDocument {
		t.Helper()
		d := w.statusDocument(m.UID)
		t.Logf("%s, %s:\n%s", h.phase, when, d)
		s := d.Status.Warm
		switch got := d.way(-1); {
		case s.Phase != h.phase:
			t.Fatalf("%s: the coordinator is %s", h.phase, s.Phase)
		case len(way) > 1 && !slices.Equal(got, way):
			t.Errorf("%s: the coordinator went %v, not %v", h.phase, got, way)
		case s.Options != wanted:
			t.Errorf("%s: options %+v, want %+v", h.phase, s.Options, wanted)
		}
		for _, k := range s.Workers {
			if !slices.Contains(h.workers, k.Phase) {
				t.Errorf("%s: disk %d is %s", h.phase, k.Index, k.Phase)
			}
			for i, r := range k.Rounds {
				if r.Number != i+1 {
					t.Errorf("%s: round %d stands at place %d", h.phase, r.Number, i+1)
				}
			}
		}
		if err := h.check(d); err != nil {
			t.Errorf("%s, %s: %v", h.phase, when, err)
		}
		return d
	}
	p := &process{}
	for i, h := range phases {
		way = append(way, string(h.phase))
		w.host.ResetCounters()
		if err := h.hold(); err != nil {
			t.Fatal(err)
		}
		if i == 0 {
			p = w.engine()
		}
		if err := h.enter(); err != nil {
			t.Fatal(err)
		}
		w.until(m.UID, string(h.phase)+" to be under way", func(m engine.Migration) bool {
			return m.Status.Warm != nil && m.Status.Warm.Phase == h.phase && h.inside(m)
		})
		before := look(h, "before the kill")
		p.kill()
		dead := look(h, "no engine runs")
		if h.phase != warm.Initializing { // whose calls are counted on
			w.host.ResetCounters()
		}
		logins = w.host.Counters().Logins
		p = w.engine()
		w.until(m.UID, string(h.phase)+" to be resumed", func(m engine.Migration) bool { return h.again(dead, m) })
		after := look(h, "another engine works on it")
		if b, a := before.Status.Warm, after.Status.Warm; a.Generation < b.Generation || len(a.History) < len(b.History) ||
			!slices.Equal(a.History[:len(b.History)], b.History) {
			t.Errorf("%s: the history was %+v, is %+v", h.phase, b.History, a.History)
		}
		if len(before.Status.Warm.Workers) > 0 && rounds(after) < rounds(before) {
			t.Errorf("%s: %d rounds, there were %d", h.phase, rounds(after), rounds(before))
		}
	}
	w.host.ClearFaults()
	m = w.phase(m.UID, engine.Completed)
	d := w.statusDocument(m.UID)
	t.Logf("at the end:\n%s", d)
	if got, want := d.way(-1), append(way, string(warm.Completed)); !slices.Equal(got, want) {
		t.Errorf("the coordinator went %v", got)
	}
	if got, want := d.way(0), []string{"PENDING", "ACQUIRING_LEASE", "BACKFILLING", "REPLAYING", "CONVERGING", "CONVERGED", "CATCHING_UP", "COMPLETING", "COMPLETED"}; !slices.Equal(got, want) {
		t.Errorf("disk 0 went %v", got)
	}
	if why := fullAgain(m); why != "" {
		t.Errorf("read whole again: %s", why)
	}
	w.equal(m)
	w.noSnapshots("vm")
	if !store.EngineAlive(w.workspace) || len(m.Status.Errors) > 0 {
		t.Errorf("errors: %+v", m.Status.Errors)
	}
}
