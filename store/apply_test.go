package store_test

import (
	"errors"
	"regexp"
	"strings"
	"testing"

	"landfall/engine"
	"landfall/engine/fault"
	"landfall/engine/machine"
	"landfall/engine/spec"
	"landfall/store"
)

func TestApply(t *testing.T) {
	s := fresh(t)
	before := changed(t, s)
	m := applied(t, s, 1)
	if !regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`).MatchString(m.UID) {
		t.Errorf("UID %q is not a UUID of version 4", m.UID)
	}
	if m.Generation != 1 || m.Version != 1 || m.Want != engine.WantRun || m.CreatedBy != "ann" || m.Status.Phase != engine.Pending ||
		m.Created.IsZero() || !m.Status.Times.Created.Equal(m.Created) {
		t.Errorf("a new migration is %+v", m)
	}
	if changed(t, s) == before {
		t.Error("a new migration is not told to the readers")
	}
	if notes := must(s.Notes(t.Context(), m.UID))(t); len(notes) != 1 || notes[0].Who != ann {
		t.Errorf("audit: %+v", notes)
	}
	if again := applied(t, fresh(t), 2); again.UID != m.UID {
		t.Errorf("UIDs do not come from the source of randomness, which is seeded: %s, %s", m.UID, again.UID)
	}
	if again := applied(t, s, 2); again.UID == m.UID {
		t.Error("one UID for two")
	}
}

func TestApplyRefusesWhatIsNotChecked(t *testing.T) {
	s := fresh(t)
	d := document(1)
	d.Spec.Source.Address = "https://root:hunter2@esx1"
	if _, err := s.Apply(t.Context(), d, ann); err == nil || strings.Contains(err.Error(), "hunter2") {
		t.Errorf("a password in the address: %v", err)
	}
}

func TestOneMigrationForAVM(t *testing.T) {
	for name, c := range map[string]struct {
		first, second machine.Ref
		address       string
		refused       bool
	}{
		"same moref":                        {machine.Ref{MoRef: "vm-1"}, machine.Ref{MoRef: "vm-1"}, "esx1.example", true},
		"same instance":                     {machine.Ref{InstanceUUID: "a"}, machine.Ref{InstanceUUID: "a"}, "esx1.example", true},
		"same instance, address spelt anew": {machine.Ref{InstanceUUID: "a"}, machine.Ref{MoRef: "x", InstanceUUID: "a"}, "https://ESX1.example:443/sdk", true},
		"other VM":                          {machine.Ref{MoRef: "vm-1"}, machine.Ref{MoRef: "vm-2"}, "esx1.example", false},
		"same moref on another host":        {machine.Ref{MoRef: "vm-1"}, machine.Ref{MoRef: "vm-1"}, "esx2.example", false},
		"same moref on another port":        {machine.Ref{MoRef: "vm-1"}, machine.Ref{MoRef: "vm-1"}, "https://esx1.example:8443", false},
		"both known by name alone":          {machine.Ref{}, machine.Ref{}, "esx1.example", false},
	} {
		t.Run(name, func(t *testing.T) {
			s := fresh(t)
			d := document(1)
			d.Spec.Source.VM.Ref = c.first
			m := must(s.Apply(t.Context(), d, ann))(t)
			d = document(2)
			d.Spec.Source.VM.Ref, d.Spec.Source.Address = c.second, c.address
			_, err := s.Apply(t.Context(), d, bob)
			if c.refused != (err != nil) {
				t.Fatalf("refused: %v, want %v", err, c.refused)
			}
			if !c.refused {
				return
			}
			if !fault.Is(err, fault.Conflict) || !strings.Contains(err.Error(), `"web-1" (`+m.UID[:8]+", Pending)") {
				t.Errorf("the other one is not named: %v", err)
			}
			enter(t, s, m, engine.Failed)
			if _, err := s.Apply(t.Context(), d, bob); err != nil {
				t.Errorf("after the first has ended: %v", err)
			}
		})
	}
}

// A VM that is written by its name becomes known when it is found: then it must not be another's.
func TestOneMigrationForAVMFoundByName(t *testing.T) {
	s := fresh(t)
	applied(t, s, 1)
	d := document(2)
	d.Spec.Source.VM = spec.VM{Name: "web 1"}
	m := must(s.Apply(t.Context(), d, bob))(t)
	m.Status.Phase = engine.Discovering
	m.Status.Inventory = &machine.VM{Summary: machine.Summary{Ref: machine.Ref{MoRef: "vm-1"}}}
	_, err := s.Commit(t.Context(), engine.Checkpoint{Migration: m, Events: []engine.Event{{Message: "found"}}})
	if !fault.Is(err, fault.Conflict) || fault.ClassOf(err) != fault.Blocked || !strings.Contains(err.Error(), `"web-1"`) {
		t.Errorf("second migration of a found VM: %v", err)
	}
	if e := must(s.Events(t.Context(), m.UID, 0, 9))(t); len(e) != 0 {
		t.Errorf("a refused checkpoint left %+v", e)
	}
	m.Status.Inventory = nil
	enter(t, s, m, engine.Failing)
}

func TestChange(t *testing.T) {
	ctx := t.Context()
	s := fresh(t)
	m := applied(t, s, 1)
	d := m.Document
	d.Metadata.Name, d.Spec.Strategy.Paused, d.Spec.Destination.VMName = "web-one", true, "one"
	before := changed(t, s)
	if err := s.Change(ctx, m.UID, 1, d, bob); err != nil {
		t.Fatal(err)
	}
	if changed(t, s) == before {
		t.Error("a change is not told to the readers")
	}
	if err := s.Change(ctx, m.UID, 1, document(1), ann); !errors.Is(err, engine.ErrStale) {
		t.Errorf("change of what somebody else changed: %v", err)
	}
	got := must(s.Migration(ctx, m.UID))(t)
	if got.Generation != 2 || got.Version != 1 || got.Document.Metadata.Name != "web-one" || !got.Document.Spec.Strategy.Paused {
		t.Errorf("changed migration: %+v", got)
	}

	// The engine read before the change and commits after it: neither write may undo the other.
	m.Status.Phase, m.Status.Attempt = engine.Discovering, 3
	m = commit(t, s, engine.Checkpoint{Migration: m})
	if m.Generation != 2 || m.Document.Metadata.Name != "web-one" || m.Status.Attempt != 3 {
		t.Errorf("after the engine's commit: %+v", m)
	}
	if l := must(s.Lines(ctx))(t)[0]; l.Name != "web-one" || l.Target != "one" || l.Phase != engine.Discovering {
		t.Errorf("line: %+v", l)
	}

	d = m.Document
	d.Spec.Source.VM = spec.VM{Ref: machine.Ref{MoRef: "vm-7"}}
	if err := s.Change(ctx, m.UID, 2, d, ann); err != nil {
		t.Errorf("another VM before one was found: %v", err)
	}
	m.Status.Inventory = &machine.VM{Summary: machine.Summary{Name: "found", Ref: machine.Ref{MoRef: "vm-7", InstanceUUID: "u7"}}}
	m = commit(t, s, engine.Checkpoint{Migration: m})
	d.Spec.Source.VM = spec.VM{Ref: machine.Ref{MoRef: "vm-8"}}
	if err := s.Change(ctx, m.UID, 3, d, ann); err == nil || fault.HintOf(err) == "" {
		t.Errorf("another VM after one was found: %v", err)
	}
	if err := s.Change(ctx, "no such", 3, d, ann); !errors.Is(err, engine.ErrNotFound) {
		t.Errorf("change of none: %v", err)
	}
}

func TestEndedMigrationsAreLeftAlone(t *testing.T) {
	ctx := t.Context()
	for _, end := range []engine.Phase{engine.Completed, engine.Failed, engine.Cancelled} {
		s := fresh(t)
		m := enter(t, s, applied(t, s, 1), end)
		notes := must(s.Notes(ctx, ""))(t)
		for act, err := range map[string]error{
			"change": s.Change(ctx, m.UID, 1, document(1), ann),
			"cancel": s.Cancel(ctx, m.UID, ann),
			"retry":  s.RetryNow(ctx, m.UID, ann),
		} {
			if !errors.Is(err, store.ErrEnded) || !strings.Contains(err.Error(), string(end)) {
				t.Errorf("%s of a migration that is %s: %v", act, end, err)
			}
		}
		same(t, "audit", notes, must(s.Notes(ctx, ""))(t))
		same(t, "migration", m, must(s.Migration(ctx, m.UID))(t))
		if all := must(s.Active(ctx))(t); len(all) != 0 {
			t.Errorf("active: %+v", all)
		}
		m.Status.Phase = engine.Pending
		if _, err := s.Commit(ctx, engine.Checkpoint{Migration: m}); !errors.Is(err, store.ErrEnded) {
			t.Errorf("%s was left for Pending: %v", end, err)
		}
	}
}

func TestCancelAndRetry(t *testing.T) {
	ctx := t.Context()
	s := fresh(t)
	m := applied(t, s, 1)
	for range 2 {
		before := changed(t, s)
		if err := errors.Join(s.Cancel(ctx, m.UID, bob), s.RetryNow(ctx, m.UID, bob)); err != nil {
			t.Fatal(err)
		}
		if changed(t, s) != before+2 {
			t.Error("cancel and retry are not told to the readers")
		}
	}
	got := must(s.Migration(ctx, m.UID))(t)
	if got.Want != engine.WantCancel || got.Retry != 2 || got.Version != m.Version {
		t.Errorf("wants %s, retry %d, version %d", got.Want, got.Retry, got.Version)
	}
	if notes := must(s.Notes(ctx, m.UID))(t); len(notes) != 5 || notes[4].Who != bob {
		t.Errorf("audit: %+v", notes)
	}
	// The engine's older read does not take the want back.
	if m = enter(t, s, m, engine.Discovering); m.Want != engine.WantCancel {
		t.Error("a commit took the wish to cancel back")
	}
	for _, err := range []error{s.Cancel(ctx, "no such", ann), s.RetryNow(ctx, "no such", ann)} {
		if !errors.Is(err, engine.ErrNotFound) {
			t.Errorf("act on none: %v", err)
		}
	}
}
