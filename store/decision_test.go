package store_test

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"

	"landfall/engine"
	"landfall/store"
)

func powerOff(id string) engine.Decision {
	return engine.Decision{
		ID: id, Kind: "power-off", Subject: "web 1", Phase: engine.Preparing, Question: "Power the VM off hard?",
		Options: []engine.Option{{ID: "off", Label: "Power off", Dangerous: true}, {ID: "wait", Label: "Wait on"}},
	}
}

func asked(t testing.TB, s *store.Store, n int, ids ...string) engine.Migration {
	t.Helper()
	m := applied(t, s, n)
	c := engine.Checkpoint{Migration: m}
	for _, id := range ids {
		c.Ask = append(c.Ask, powerOff(id))
	}
	return commit(t, s, c)
}

func TestAnswers(t *testing.T) {
	ctx := t.Context()
	s := fresh(t)
	m := asked(t, s, 1, "first", "second", "third")

	if _, err := s.Answer(ctx, "none", 1, "off", ann); !errors.Is(err, engine.ErrNotFound) {
		t.Errorf("unknown decision: %v", err)
	}
	if _, err := s.Answer(ctx, "first", 1, "blow up", ann); err == nil || !strings.Contains(err.Error(), `"off", "wait"`) {
		t.Errorf("unknown option: %v", err)
	}
	if _, err := s.Answer(ctx, "first", 1, "", ann); err == nil {
		t.Error("an empty answer was taken")
	}
	if _, err := s.Answer(ctx, "first", 7, "off", ann); !errors.Is(err, engine.ErrStale) {
		t.Errorf("other version: %v", err)
	}
	if all := must(s.Decisions(ctx, m.UID))(t); !all[0].Open() || all[0].Version != 1 {
		t.Errorf("refused answers changed the decision: %+v", all[0])
	}

	before := changed(t, s)
	must(s.Answer(ctx, "first", 1, "off", ann))(t)
	if changed(t, s) == before {
		t.Error("an answer is not told to the readers")
	}
	d, err := s.Answer(ctx, "first", 1, "wait", bob)
	if !errors.Is(err, engine.ErrStale) || !strings.Contains(err.Error(), `"ann"`) || !strings.Contains(err.Error(), ann.From) {
		t.Errorf("second answer: %v", err)
	}
	if d.Answer != "off" || d.By != "ann" || d.From != ann.From {
		t.Errorf("the second does not see who took it: %+v", d)
	}

	notes := must(s.Notes(ctx, m.UID))(t)
	if last := notes[len(notes)-1]; last.Who != ann || !strings.Contains(last.What, `"off"`) || len(notes) != 2 {
		t.Errorf("audit of the answer: %+v", notes)
	}

	m = commit(t, s, engine.Checkpoint{Migration: m, Close: []string{"second"}})
	if d, err = s.Answer(ctx, "second", d.Version, "off", bob); !errors.Is(err, engine.ErrStale) || d.Closed.IsZero() {
		t.Errorf("answer to a question that fell away: %+v, %v", d, err)
	}
	open := must(s.Waiting(ctx))(t)
	if len(open) != 1 || open[0].ID != "third" {
		t.Errorf("waiting: %+v", open)
	}
	if l := must(s.Lines(ctx))(t)[0]; l.Questions != 1 {
		t.Errorf("%d questions in the line", l.Questions)
	}
	if _, err := s.Commit(ctx, engine.Checkpoint{Migration: m, Close: []string{"no such"}}); !errors.Is(err, engine.ErrNotFound) {
		t.Errorf("close of an unknown decision: %v", err)
	}
}

func TestQuestionsEndWithTheirMigration(t *testing.T) {
	s := fresh(t)
	m := asked(t, s, 1, "q")
	other := asked(t, s, 2, "other")
	enter(t, s, m, engine.Cancelled)
	if w := must(s.Waiting(t.Context()))(t); len(w) != 1 || w[0].Migration != other.UID {
		t.Errorf("waiting: %+v", w)
	}
	if _, err := s.Answer(t.Context(), "q", 1, "off", ann); !errors.Is(err, engine.ErrStale) || !strings.Contains(err.Error(), "fell away") {
		t.Errorf("answer after the end: %v", err)
	}
}

func TestAskingAgainChangesNothing(t *testing.T) {
	s := fresh(t)
	m := asked(t, s, 1, "q")
	must(s.Answer(t.Context(), "q", 1, "wait", ann))(t)
	was := must(s.Decisions(t.Context(), m.UID))(t)
	again := powerOff("q")
	again.Question = "Really?"
	m = commit(t, s, engine.Checkpoint{Migration: m, Ask: []engine.Decision{again}})
	same(t, "decision", was, must(s.Decisions(t.Context(), m.UID))(t))

	other := applied(t, s, 2)
	if _, err := s.Commit(t.Context(), engine.Checkpoint{Migration: other, Ask: []engine.Decision{again}}); err == nil {
		t.Error("a decision of another migration was taken for one's own")
	}
}

// Two consoles, each a process, and two handles in this one: every decision is taken by exactly one.
func TestADecisionIsTakenOnce(t *testing.T) {
	dir := t.TempDir() + "/workspace"
	s, s2 := open(t, dir), open(t, dir)
	var ids []string
	for i := range 40 {
		ids = append(ids, fmt.Sprintf("q%d", i))
	}
	m := asked(t, s, 1, ids...)
	p1, p2 := child(t, "answer", dir), child(t, "answer", dir)
	var wg sync.WaitGroup
	won := make([]int, 2)
	for i, h := range []*store.Store{s, s2} {
		wg.Go(func() {
			for _, id := range ids {
				_, err := h.Answer(t.Context(), id, 1, "wait", engine.Person{Name: fmt.Sprintf("here-%d", i)})
				if err == nil {
					won[i]++
				} else if !errors.Is(err, engine.ErrStale) {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	total := won[0] + won[1] + p1.count(t) + p2.count(t)
	if total != len(ids) {
		t.Errorf("%d answers were taken for %d decisions", total, len(ids))
	}
	for _, d := range must(s.Decisions(t.Context(), m.UID))(t) {
		if d.Version != 2 || d.By == "" {
			t.Errorf("%s was taken by %q at version %d", d.ID, d.By, d.Version)
		}
	}
	if n := len(must(s.Notes(t.Context(), m.UID))(t)); n != len(ids)+1 {
		t.Errorf("%d lines of audit for %d answers", n-1, len(ids))
	}
}

// answerAll takes every open decision that it can and prints one line for each.
func answerAll(dir string) error {
	s, err := openAs(dir)
	if err != nil {
		return err
	}
	defer s.Close()
	all, err := s.Waiting(background)
	if err != nil {
		return err
	}
	for _, d := range all {
		_, err := s.Answer(background, d.ID, d.Version, "off", engine.Person{Name: fmt.Sprint("process ", os.Getpid())})
		if err == nil {
			fmt.Println(d.ID)
		} else if !errors.Is(err, engine.ErrStale) {
			return err
		}
	}
	return nil
}
