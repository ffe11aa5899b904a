package store_test

import (
	"errors"
	"fmt"
	"os"
	"testing"

	"landfall/engine"
	"landfall/engine/machine"
)

// playEngine works through everything that two consoles apply, and asks once of each.
func playEngine(dir string) error {
	s, err := openAs(dir)
	if err != nil {
		return err
	}
	defer s.Close()
	for done := 0; done < 40; {
		all, err := s.Active(background)
		if err != nil {
			return err
		}
		for _, m := range all {
			if err := s.Heartbeat(background, engine.Heartbeat{PID: os.Getpid()}); err != nil {
				return err
			}
			if err := s.Ledger(m.UID, 0).Record(background, batch(m.Version)); err != nil {
				return err
			}
			asked, err := s.Decisions(background, m.UID)
			if err != nil {
				return err
			}
			c := step(m)
			c.Ask = nil
			switch {
			case len(asked) == 0:
				c.Ask = []engine.Decision{powerOff("q " + m.UID)}
			case asked[0].Answer != "":
				c.Migration.Status.Phase, c.Close = engine.Completed, []string{asked[0].ID}
				done++
			}
			if _, err := s.Commit(background, c); err != nil {
				return err
			}
		}
	}
	return nil
}

// playConsole applies twenty migrations and answers whatever it sees until all are done.
func playConsole(dir string) error {
	s, err := openAs(dir)
	if err != nil {
		return err
	}
	defer s.Close()
	who := engine.Person{Name: fmt.Sprint(os.Getpid())}
	for i := range 20 {
		d := document(i)
		d.Spec.Source.VM.Ref = machine.Ref{MoRef: fmt.Sprintf("vm-%d-%d", os.Getpid(), i)}
		if _, err := s.Apply(background, d, who); err != nil {
			return err
		}
	}
	seen := int64(-1)
	for {
		n, err := s.Changed(background)
		if err != nil {
			return err
		}
		if n == seen {
			continue
		}
		seen = n
		lines, err := s.Lines(background)
		if err != nil {
			return err
		}
		done := 0
		for _, l := range lines {
			if l.Phase == engine.Completed {
				done++
			}
		}
		if done == 40 {
			return nil
		}
		open, err := s.Waiting(background)
		if err != nil {
			return err
		}
		for _, d := range open {
			if _, err := s.Answer(background, d.ID, d.Version, "wait", who); err != nil && !errors.Is(err, engine.ErrStale) {
				return err
			}
		}
	}
}

func TestTwoConsolesAndAnEngine(t *testing.T) {
	dir := t.TempDir() + "/workspace" // the three also race to make it
	all := []*process{child(t, "engine", dir), child(t, "console", dir), child(t, "console", dir)}
	for _, p := range all {
		p.count(t)
	}
	s := open(t, dir)
	lines := must(s.Lines(t.Context()))(t)
	if len(lines) != 40 {
		t.Errorf("%d migrations", len(lines))
	}
	for _, l := range lines {
		if l.Phase != engine.Completed || l.Questions != 0 {
			t.Errorf("%s is in %s with %d questions", l.Name, l.Phase, l.Questions)
		}
		if notes := must(s.Notes(t.Context(), l.UID))(t); len(notes) != 2 { // applied, answered
			t.Errorf("audit of %s: %+v", l.Name, notes)
		}
	}
}
