package app

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"

	"landfall/engine/preflight"
	"landfall/engine/spec"
	"landfall/ui/uitest"
)

func planned(t *testing.T, opts ...option) *console {
	t.Helper()
	c := open(t, uitest.World(clock), 80, 24, opts...)
	c.press("/")
	c.write("db-pri")
	c.press("enter", "p")
	return c
}

func answers(c *console) []spec.Answer { return c.m.draft.Items[0].Document.Spec.Answers }

func TestADecisionIsKeptWithTheDraft(t *testing.T) {
	c := planned(t)
	c.shows("1 blocker, 2 decisions", "Create the namespace", "host, source, target 3m ago")
	c.press("down", "d", "down", "enter")
	want := spec.Answer{Finding: "vm.rule2/vm", Value: "value " + uitest.Hostile[2], Answer: spec.Accept}
	kept := c.desk.Previews[0].Document.Spec.Answers
	if len(kept) != 1 || kept[0] != want {
		t.Fatalf("the draft keeps %+v", kept)
	}
	c.shows("accepted", "1 blocker, 1 decision")
	c.press("up", "up", "up", "x", "down", "enter")
	if a := answers(c); len(a) != 2 || a[1].Answer != spec.Fix {
		t.Fatalf("the document has %+v", a)
	}
	c.shows("to fix")
}

func TestEscAndEarlyKeysDecideNothing(t *testing.T) {
	for name, keys := range map[string][]string{"esc": {"down", "esc"}, "enter on back": {"enter"}} {
		t.Run(name, func(t *testing.T) {
			c := planned(t)
			c.press("x")
			c.press(keys...)
			if a := answers(c); len(a) != 0 {
				t.Errorf("decided %+v", a)
			}
		})
	}
	t.Run("at once", func(t *testing.T) {
		c := planned(t)
		c.press("x")
		c.burst("down", "enter")
		if a := answers(c); len(a) != 0 || c.m.dialogs.Empty() {
			t.Errorf("decided %+v", a)
		}
	})
}

func TestAnAnswerToAnotherValueDoesNotHold(t *testing.T) {
	c := planned(t)
	c.press("down", "d", "down", "enter")
	c.desk.Edit(func() { c.desk.Previews[0].Preview.Findings[2].Found = "another" })
	c.read()
	c.shows("1 blocker, 2 decisions")
}

func TestThePlanRefusesWhatIsNotDecided(t *testing.T) {
	c := planned(t)
	c.press("m", "enter")
	c.shows("Cannot start", "target.namespace blocks", "See what stands in the way")
	c.press("down", "enter")
	c.shows("Pre-flight")
	c.said(nothing)
}

func TestTheSavedPlanIsReadBack(t *testing.T) {
	t.Chdir(t.TempDir())
	c := planned(t)
	c.press("m", "s", "enter")
	path := "vm-2.yaml"
	read := func() []spec.Document {
		f, err := os.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		docs, err := spec.Read(f)
		if err != nil {
			t.Fatal(err)
		}
		return docs
	}
	if docs := read(); len(docs) != 1 || docs[0].Spec.Source.VM.Name != "db-primary" {
		t.Fatalf("read back %+v", docs)
	}
	if st, err := os.Stat(path); err != nil || st.Mode().Perm() != 0o600 {
		t.Errorf("%v %v", st.Mode(), err)
	}
	if err := os.WriteFile(path, []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	c.press("s", "enter")
	c.shows("is there already")
	c.press("enter")
	if b, _ := os.ReadFile(path); string(b) != "mine" {
		t.Fatal("replaced without a word")
	}
	c.press("s", "enter", "down", "enter")
	if len(read()) != 1 {
		t.Error("not replaced")
	}
	if left, _ := filepath.Glob(".landfall-*"); len(left) > 0 {
		t.Errorf("left %v", left)
	}
}

// A mapping is asked once for all VMs of a datastore, and touches no list that others share.
func TestAMappingIsForAllVMsOfADatastore(t *testing.T) {
	d := uitest.Many(clock, 40)
	c := open(t, d, 80, 24)
	c.press("a", "m")
	for range 30 {
		if strings.Contains(cursorLine(c), "ds ds1") {
			break
		}
		c.press("down")
	}
	c.press("enter")
	for range 20 {
		c.press("backspace")
	}
	c.write("slow")
	c.press("enter")
	n := 0
	for _, it := range c.m.draft.Items {
		m, _ := it.Document.Spec.StorageFor("ds1")
		on := it.VM.VM.DiskList[0].Datastore == "ds1"
		if on != (m.StorageClass == "slow") {
			t.Errorf("%s on %s goes to %q", it.VM.VM.Name, it.VM.VM.DiskList[0].Datastore, m.StorageClass)
		}
		if on {
			n++
		}
	}
	if n == 0 {
		t.Error("no VM is on ds1")
	}
}

// cursorLine is the row under the cursor.
func cursorLine(c *console) string {
	for _, l := range c.lines() {
		if strings.HasPrefix(l, "›") {
			return l
		}
	}
	return ""
}

func TestReadOnlyPlansNothing(t *testing.T) {
	c := planned(t, readOnly)
	c.shows("1 blocker")
	c.press("x", "d", "enter", "r", "m")
	if !c.m.dialogs.Empty() || c.m.at != atPreflight {
		t.Error("a read-only console goes on to the plan or asks")
	}
	c.said(nothing)
}

// Five thousand VMs in a plan hold up no snapshot.
func TestFiveThousandVMsDoNotFreeze(t *testing.T) {
	d := uitest.Many(clock, 5000)
	for _, l := range d.VMs {
		d.Foreseen(l, preflight.Warning, preflight.Decide)
	}
	c := open(t, d, 120, 40)
	c.press("a", "m")
	for _, at := range []string{"plan", "pre-flight"} {
		best := time.Hour
		for range 5 {
			s := c.m.feed.Read(t.Context())
			from := time.Now()
			_, _ = c.m.Update(snapshotMsg{s})
			best = min(best, time.Since(from))
		}
		t.Logf("%s: a snapshot is taken in %s", at, best)
		if best > 50*time.Millisecond {
			t.Errorf("%s: %s", at, best)
		}
		from := time.Now()
		c.m.Update(key("down"))
		_ = c.m.View()
		t.Logf("%s: a key and a view take %s", at, time.Since(from))
		c.m.Update(tea.KeyPressMsg{Code: 'p', Text: "p"})
	}
}
