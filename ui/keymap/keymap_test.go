package keymap

import (
	"flag"
	"os"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write docs/keybindings.md")

// Every key does one thing in a place: on a page the keys of everywhere, of lists and of the page are live together.
func TestNoKeyMeansTwoThings(t *testing.T) {
	places := map[string][]Group{
		"inventory":  {Global, Moving, OnInventory},
		"migrations": {Global, Moving, OnList},
		"migration":  {Global, Moving, OnMigration},
		"decisions":  {Global, Moving, OnDecisions},
		"dialog":     {InDialog},
	}
	for place, groups := range places {
		t.Run(place, func(t *testing.T) {
			seen := map[string]string{}
			for _, g := range groups {
				for _, b := range g.Bindings {
					for _, k := range b.Keys() {
						if other, ok := seen[k]; ok {
							t.Errorf("%q is both %q and %q", k, other, b.Help().Desc)
						}
						seen[k] = b.Help().Desc
					}
				}
			}
		})
	}
}

// A slow line tears an arrow into esc, "[" (or "O") and a letter: none of them may do anything but go back.
func TestTornArrowsDoNothing(t *testing.T) {
	torn := []string{"[", "O", "A", "B", "C", "D", "H", "F", "Z", "~"}
	for _, g := range Groups() {
		for _, b := range g.Bindings {
			for _, k := range b.Keys() {
				if slices.Contains(torn, k) {
					t.Errorf("%s: %q is bound to %q", g.Name, k, b.Help().Desc)
				}
			}
		}
	}
}

func TestReadOnlyHidesWhatChanges(t *testing.T) {
	for _, g := range Groups() {
		for _, b := range Allowed(g.Bindings, true) {
			if b.Changes {
				t.Errorf("%s: %q is still there", g.Name, b.Help().Desc)
			}
		}
	}
	if n := len(Allowed(OnList.Bindings, true)); n != 4 {
		t.Errorf("the list of migrations keeps %d keys, want 4", n)
	}
}

func TestDocument(t *testing.T) {
	const path = "../../docs/keybindings.md"
	if *update {
		if err := os.MkdirAll("../../docs", 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(Document()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(string(b), Document()); d != "" {
		t.Errorf("docs/keybindings.md is old (-file +code), write it with -update:\n%s", d)
	}
}
