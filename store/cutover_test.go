package store_test

import (
	"testing"

	"landfall/engine"
	"landfall/engine/fault"
	"landfall/engine/spec"
)

func TestCutOver(t *testing.T) {
	for name, c := range map[string]struct {
		change  func(*spec.Strategy)
		cancel  bool
		refused bool
	}{
		"warm":      {func(s *spec.Strategy) { s.Type = "Warm" }, false, false},
		"cold":      {func(*spec.Strategy) {}, false, true},
		"held":      {func(s *spec.Strategy) { s.Type, s.Warm.Hold = "Warm", true }, false, true},
		"cancelled": {func(s *spec.Strategy) { s.Type = "Warm" }, true, true},
		"with a word in the document that begins it": {func(s *spec.Strategy) { s.Type, s.Warm.CutOver = "Warm", true }, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			s := fresh(t)
			d := document(1)
			c.change(&d.Spec.Strategy)
			m := must(s.Apply(t.Context(), d, ann))(t)
			if m.Document.Spec.Strategy.Warm.CutOver {
				t.Error("a word was taken from a document that begins a migration")
			}
			if c.cancel {
				if err := s.Cancel(t.Context(), m.UID, ann); err != nil {
					t.Fatal(err)
				}
			}
			err := s.CutOver(t.Context(), m.UID, ann)
			if again := s.CutOver(t.Context(), m.UID, ann); (err == nil) != (again == nil) {
				t.Errorf("%v, then %v", err, again)
			}
			now := must(s.Migration(t.Context(), m.UID))(t)
			if given := now.Document.Spec.Strategy.Warm.CutOver; given == c.refused || (err != nil) != c.refused || c.refused && !fault.Is(err, fault.Refused) {
				t.Errorf("given %v: %v", given, err)
			}
			if !c.refused && now.Generation == m.Generation {
				t.Error("the engine is not told")
			}
		})
	}
}

func TestAHoldTakesTheWordBack(t *testing.T) {
	s := fresh(t)
	d := document(1)
	d.Spec.Strategy.Type = "Warm"
	m := must(s.Apply(t.Context(), d, ann))(t)
	if err := s.CutOver(t.Context(), m.UID, ann); err != nil {
		t.Fatal(err)
	}
	for _, hold := range []bool{true, false} {
		m = must(s.Migration(t.Context(), m.UID))(t)
		m.Document.Spec.Strategy.Warm.Hold = hold
		if err := s.Change(t.Context(), m.UID, m.Generation, m.Document, ann); err != nil {
			t.Fatal(err)
		}
		if m = must(s.Migration(t.Context(), m.UID))(t); m.Document.Spec.Strategy.Warm.CutOver {
			t.Errorf("hold %v: the word stands", hold)
		}
	}
	if m.Want != engine.WantRun {
		t.Errorf("want %s", m.Want)
	}
}
