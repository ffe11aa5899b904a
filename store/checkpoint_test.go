package store_test

import (
	"errors"
	"math"
	"testing"

	"landfall/engine"
	"landfall/engine/fault"
	"landfall/sources"
)

func TestACheckpointIsStaleAfterAnother(t *testing.T) {
	ctx := t.Context()
	s := fresh(t)
	m := applied(t, s, 1)
	commit(t, s, step(m))
	was := must(s.Migration(ctx, m.UID))(t)
	if _, err := open(t, s.Dir()).Commit(ctx, step(m)); !errors.Is(err, engine.ErrStale) {
		t.Errorf("commit over another engine's: %v", err)
	}
	same(t, "migration", was, must(s.Migration(ctx, m.UID))(t))
	if n := len(must(s.Events(ctx, m.UID, 0, 9))(t)); n != 1 {
		t.Errorf("%d events after a stale commit", n)
	}
	m.UID = "no such"
	if _, err := s.Commit(ctx, engine.Checkpoint{Migration: m}); !errors.Is(err, engine.ErrNotFound) {
		t.Errorf("commit of none: %v", err)
	}
}

func TestACheckpointIsWholeOrNothing(t *testing.T) {
	ctx := t.Context()
	s := fresh(t)
	m := commit(t, s, step(applied(t, s, 1)))
	lines, number := must(s.Lines(ctx))(t), changed(t, s)
	bad := map[string]func(c *engine.Checkpoint){
		"closes an unknown decision": func(c *engine.Checkpoint) { c.Close = []string{"no such"} },
		"no number":                  func(c *engine.Checkpoint) { c.Migration.Status.Disks[0].Rate = math.NaN() },
		"no phase":                   func(c *engine.Checkpoint) { c.Migration.Status.Phase = "Resting" },
		"empty phase":                func(c *engine.Checkpoint) { c.Migration.Status.Phase = "" },
	}
	for name, spoil := range bad {
		c := step(m)
		spoil(&c)
		if _, err := s.Commit(ctx, c); err == nil {
			t.Errorf("%s: committed", name)
		}
		same(t, name+": migration", m, must(s.Migration(ctx, m.UID))(t))
		same(t, name+": lines", lines, must(s.Lines(ctx))(t))
		if n := len(must(s.Events(ctx, "", 0, 9))(t)); n != 1 {
			t.Errorf("%s: %d events", name, n)
		}
		if h := must(s.Held(ctx, m.UID))(t); len(h) != 1 || h[0].Name != "1" {
			t.Errorf("%s: held %+v", name, h)
		}
		if changed(t, s) != number {
			t.Errorf("%s: the readers were told", name)
		}
	}
}

func TestCommitLeavesTheCallersStatusAlone(t *testing.T) {
	s := fresh(t)
	c := step(applied(t, s, 1))
	commit(t, s, c)
	if len(c.Migration.Status.Disks[0].Extents) != 1 {
		t.Error("the committed status lost its extents")
	}
}

func TestAllocatedAreasFollowTheirDisk(t *testing.T) {
	s := fresh(t)
	m := applied(t, s, 1)
	areas := []sources.Extent{{Offset: 0, Length: 1 << 20}, {Offset: 1 << 40, Length: 512}, {Offset: 4096, Length: math.MaxInt64 - 4096}}
	m.Status.Phase = engine.Preparing
	for name, disks := range map[string][]engine.Disk{
		"one":      {{Index: 0, Extents: areas}},
		"second":   {{Index: 0}, {Index: 1, Extents: areas[:1]}},
		"swapped":  {{Index: 1, Extents: areas[:1]}, {Index: 0, Extents: areas}},
		"unsorted": {{Index: 0, Extents: []sources.Extent{areas[1], areas[0]}}},
		"none":     nil,
	} {
		m.Status.Disks = disks
		m = commit(t, s, engine.Checkpoint{Migration: m})
		same(t, name, disks, m.Status.Disks)
		same(t, name+", active", disks, must(s.Active(t.Context()))(t)[0].Status.Disks)
	}
}

func TestHeld(t *testing.T) {
	ctx := t.Context()
	s := fresh(t)
	m, other := applied(t, s, 1), applied(t, s, 2)
	a := engine.Held{Kind: "datavolume", Where: "shop", Name: "web-1-0", Since: start}
	b := engine.Held{Kind: "file", Where: "/staging", Name: "disk-0", Since: start}
	m.Status.Phase, other.Status.Phase = engine.Importing, engine.Importing
	m = commit(t, s, engine.Checkpoint{Migration: m, Hold: []engine.Held{a, b}})
	other = commit(t, s, engine.Checkpoint{Migration: other, Hold: []engine.Held{a}})
	again := a
	again.Keep, again.Note, again.Since = true, "the migrated disk", start.AddDate(1, 0, 0)
	m = commit(t, s, engine.Checkpoint{Migration: m, Hold: []engine.Held{again}, Gone: []engine.Held{b, {Kind: "service", Name: "never was"}}})
	got := must(s.Held(ctx, m.UID))(t)
	if len(got) != 1 || !got[0].Keep || got[0].Note == "" || !got[0].Since.Equal(start) {
		t.Errorf("held: %+v", got)
	}
	commit(t, s, engine.Checkpoint{Migration: m, Gone: []engine.Held{a}})
	if got := must(s.Held(ctx, other.UID))(t); len(got) != 1 {
		t.Errorf("another's was struck off: %+v", got)
	}
}

func TestChangeNumber(t *testing.T) {
	ctx := t.Context()
	s := fresh(t)
	m := applied(t, s, 1)
	m.Status.Phase = engine.Preparing
	if err := s.PutEndpoint(ctx, engine.Endpoint{Name: "esx1", Source: document(1).Spec.Source}, ann); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name   string
		act    func() error
		raised bool
	}{
		{"heartbeat", func() error { return s.Heartbeat(ctx, engine.Heartbeat{PID: 1}) }, false},
		{"record", func() error { return s.Ledger(m.UID, 0).Record(ctx, batch(1)) }, false},
		{"ledger reset", func() error { return s.ResetLedger(ctx, m.UID, 0) }, false},
		{"reading", func() error { _, err := s.Lines(ctx); return err }, false},
		{"refused", func() error { _ = s.Cancel(ctx, "no such", ann); return nil }, false},
		{"progress", func() error { _, err := s.Commit(ctx, engine.Checkpoint{Migration: m}); return err }, true},
		{"inventory", func() error { return s.PutInventory(ctx, "esx1", nil, "", "") }, true},
		{"inventory failed", func() error { return s.PutInventory(ctx, "esx1", nil, "", "no route") }, true},
		{"refresh", func() error { return s.Refresh(ctx, "esx1", ann) }, true},
	} {
		was := changed(t, s)
		if err := c.act(); err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		if now := changed(t, s); now < was || (now > was) != c.raised {
			t.Errorf("%s: %d became %d", c.name, was, now)
		}
	}
	if n := changed(t, s); changed(t, open(t, s.Dir())) != n {
		t.Error("another handle has another number")
	}
	if _, err := s.Beat(ctx); err != nil {
		t.Error(err)
	}
	if _, err := fresh(t).Beat(ctx); !errors.Is(err, engine.ErrNotFound) {
		t.Errorf("beat where none was: %v", err)
	}
	if fault.ClassOf(s.Refresh(ctx, "no such", ann)) != "" || !errors.Is(s.Refresh(ctx, "no such", ann), engine.ErrNotFound) {
		t.Error("an unknown endpoint can be refreshed")
	}
}
