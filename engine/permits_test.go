package engine

import "testing"

func TestPermits(t *testing.T) {
	type ask struct {
		uid, key string
		granted  bool
		place    int
	}
	p := newPermits(2)
	for i, a := range []ask{
		{"a", "a/0", true, 0},
		{"a", "a/1", true, 0},
		{"a", "a/2", false, 1},
		{"b", "b/0", false, 1}, // holds none: goes before a's third
		{"a", "a/2", false, 2},
		{"a", "a/1", true, 0}, // asked again while held
	} {
		if ok, place := p.ask("h", a.uid, a.key); ok != a.granted || place != a.place {
			t.Errorf("ask %d, %s: %v at %d, want %v at %d", i, a.key, ok, place, a.granted, a.place)
		}
	}
	if ok, _ := p.ask("other host", "b", "b/0"); !ok {
		t.Error("another host's permits are its own")
	}
	p.free("a", "a/0")
	if ok, _ := p.ask("h", "a", "a/2"); ok {
		t.Error("the freed permit went to the migration that holds one, before the one that holds none")
	}
	if ok, _ := p.ask("h", "b", "b/0"); !ok {
		t.Error("the freed permit did not go to the one that holds none")
	}
	p.leave("a", func(key string) bool { return key == "a/1" })
	if _, place := p.ask("h", "c", "c/0"); place != 1 {
		t.Errorf("place %d after the other left the line and kept its working copy, want 1", place)
	}
	p.leave("a", func(string) bool { return false })
	if ok, _ := p.ask("h", "c", "c/0"); !ok {
		t.Error("a migration that left with no copy at work keeps its permit")
	}
}

func TestNoPermitsPauses(t *testing.T) {
	if ok, place := newPermits(0).ask("h", "a", "a/0"); ok || place != 1 {
		t.Errorf("granted %v at %d, want none at 1", ok, place)
	}
}

// TestPermitsOfHostAndTarget: a copy needs one of each, and takes none where it does not get both.
func TestPermitsOfHostAndTarget(t *testing.T) {
	p := newPermits(1)
	both := func(host, target string) []string { return []string{host, target} }
	if ok, _ := p.askAll(both("h1", "t1"), "a", "a/0"); !ok {
		t.Fatal("the first did not get its permits")
	}
	if ok, place := p.askAll(both("h2", "t1"), "b", "b/0"); ok || place != 1 {
		t.Errorf("a second copy into the target: %v at %d", ok, place)
	}
	if ok, _ := p.ask("h2", "c", "c/0"); ok {
		t.Error("who came later went before who waits for the other permit")
	}
	p.leave("b", func(string) bool { return false })
	if ok, _ := p.ask("h2", "c", "c/0"); !ok {
		t.Error("who waited for a target held the host's permit")
	}
	p.free("c", "c/0")
	p.free("a", "a/0")
	if ok, _ := p.askAll(both("h2", "t1"), "b", "b/0"); !ok {
		t.Error("both are free and were not given")
	}
	p.max = 0
	if ok, _ := p.askAll(both("h2", "t1"), "b", "b/0"); !ok {
		t.Error("lowering the limit took a permit away")
	}
	if ok, place := p.askAll(both("h3", "t3"), "d", "d/0"); ok || place != 1 {
		t.Errorf("a limit of 0 pauses: %v at %d", ok, place)
	}
}
