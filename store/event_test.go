package store_test

import (
	"database/sql"
	"fmt"
	"strings"
	"testing"

	"landfall/engine"
)

// raw opens the database past the store.
func raw(t testing.TB, dir string) *sql.DB {
	t.Helper()
	pool, err := sql.Open("sqlite", "file:"+dir+"/landfall.db?_pragma=busy_timeout(2000)")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = pool.Close() })
	return pool
}

func TestTheStoryIsAppendOnly(t *testing.T) {
	s := fresh(t)
	commit(t, s, step(applied(t, s, 1)))
	pool := raw(t, s.Dir())
	for _, act := range []string{
		"UPDATE events SET message = 'nothing happened'", "DELETE FROM events",
		"UPDATE audit SET by_name = 'nobody'", "DELETE FROM audit",
	} {
		if _, err := pool.Exec(act); err == nil || !strings.Contains(err.Error(), "append-only") {
			t.Errorf("%s: %v", act, err)
		}
	}
	if e := must(s.Events(t.Context(), "", 0, 9))(t); len(e) != 1 || e[0].Message != "1" {
		t.Errorf("events: %+v", e)
	}
}

func TestEventsArePaged(t *testing.T) {
	ctx := t.Context()
	s := fresh(t)
	a, b := applied(t, s, 1), applied(t, s, 2)
	a.Status.Phase, b.Status.Phase = engine.Pending, engine.Pending
	for i := range 5 {
		a = commit(t, s, engine.Checkpoint{Migration: a, Events: []engine.Event{{Message: fmt.Sprint("a", i)}}})
		b = commit(t, s, engine.Checkpoint{Migration: b, Events: []engine.Event{{Message: fmt.Sprint("b", i)}, {Message: "more"}}})
	}
	var after int64
	var told []string
	for {
		page := must(s.Events(ctx, a.UID, after, 2))(t)
		if len(page) == 0 {
			break
		}
		for _, e := range page {
			told, after = append(told, e.Message), e.Seq
			if e.Migration != a.UID || e.Time.IsZero() {
				t.Errorf("event %+v", e)
			}
		}
	}
	if got := strings.Join(told, " "); got != "a0 a1 a2 a3 a4" {
		t.Errorf("pages: %s", got)
	}
	if all := must(s.Events(ctx, "", 0, 100))(t); len(all) != 15 || all[0].Seq >= all[14].Seq {
		t.Errorf("all: %+v", all)
	}
}
