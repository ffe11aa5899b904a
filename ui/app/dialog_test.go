package app

import (
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"

	"landfall/engine"
	"landfall/ui/uitest"
)

// legacy opens the console on the decision about legacy-erp and goes to its dangerous option.
func legacy(t *testing.T) *console {
	t.Helper()
	c := open(t, uitest.World(clock), 80, 24)
	c.press("3", "down", "d")
	c.shows("legacy-erp did not shut down", "Back, and decide nothing now")
	return c
}

// danger goes on to the dialog that needs the name typed.
func danger(t *testing.T) *console {
	t.Helper()
	c := legacy(t)
	c.press("2", "enter")
	c.shows("Type legacy-erp to confirm", "the plug of legacy-erp is pulled on esxi-lab", "›[ Cancel ]")
	return c
}

func (c *console) said(want string) {
	c.t.Helper()
	if got := c.desk.Said(); got != want {
		c.t.Errorf("the desk was told %q, want %q\n%s", got, want, c.text())
	}
}

const nothing = ""

func TestDangerousAnswer(t *testing.T) {
	const hard = "answer power-off/c30b52 hard"
	for name, c := range map[string]struct {
		do   func(c *console)
		want string
	}{
		"typed and confirmed":             {func(c *console) { c.write("legacy-erp"); c.press("tab", "enter") }, hard},
		"confirmed without the name":      {func(c *console) { c.press("tab", "enter") }, nothing},
		"half the name":                   {func(c *console) { c.write("legacy"); c.press("tab", "enter") }, nothing},
		"another name":                    {func(c *console) { c.write("legacy-erp2"); c.press("tab", "enter") }, nothing},
		"mistyped and mended":             {func(c *console) { c.write("legacy-erpp"); c.press("backspace", "tab", "enter") }, hard},
		"enter stays on Cancel":           {func(c *console) { c.write("legacy-erp"); c.press("enter") }, nothing},
		"tab twice is Cancel again":       {func(c *console) { c.write("legacy-erp"); c.press("tab", "tab", "enter") }, nothing},
		"esc after the name":              {func(c *console) { c.write("legacy-erp"); c.press("tab", "esc") }, nothing},
		"bracketed paste of name and end": {func(c *console) { c.send(tea.PasteMsg{Content: "legacy-erp\t\n"}); c.press("tab", "enter") }, nothing},
		"paste, then enter":               {func(c *console) { c.send(tea.PasteMsg{Content: "legacy-erp"}); c.press("enter") }, nothing},
		"unbracketed paste of all": {func(c *console) {
			c.now = c.now.Add(time.Second)
			c.burst("l", "e", "g", "a", "c", "y", "-", "e", "r", "p", "tab", "enter", "enter")
		}, nothing},
		"a torn arrow": {func(c *console) { c.write("legacy-erp"); c.press("tab", "esc", "[", "A") }, nothing},
	} {
		t.Run(name, func(t *testing.T) {
			cons := danger(t)
			c.do(cons)
			cons.said(c.want)
		})
	}
}

// What was typed for the page below must not answer what opened meanwhile.
func TestDialogIsDeafAtFirst(t *testing.T) {
	for name, c := range map[string]struct {
		after  time.Duration
		closes bool
	}{
		"at once":        {0, false},
		"after 399 ms":   {399 * time.Millisecond, false},
		"after 400 ms":   {400 * time.Millisecond, true},
		"after a second": {time.Second, true},
	} {
		t.Run(name, func(t *testing.T) {
			cons := open(t, uitest.World(clock), 80, 24)
			cons.press("2", "down", "down", "x")
			cons.now = cons.now.Add(c.after)
			cons.send(key("esc"))
			if got := cons.m.dialogs.Empty(); got != c.closes {
				t.Errorf("closed: %t, want %t", got, c.closes)
			}
		})
	}
	t.Run("a name typed too early does not count", func(t *testing.T) {
		c := open(t, uitest.World(clock), 80, 24)
		c.press("2", "down", "down", "x")
		c.burst("w", "e", "b", "-", "0", "1")
		c.press("tab", "enter")
		c.said(nothing)
	})
}

func TestHarmlessAnswer(t *testing.T) {
	c := legacy(t)
	c.press("down", "enter")
	c.said("answer power-off/c30b52 wait")
	c.shows("decided: Wait on")
	c.press("3")
	c.hides("legacy-erp did not shut down")
}

func TestEscNeverAnswers(t *testing.T) {
	c := legacy(t)
	c.press("down", "esc")
	c.said(nothing)
	if !c.m.dialogs.Empty() {
		t.Error("the dialog is still open")
	}
}

// Two people: the second sees who took it.
func TestTakenByAnother(t *testing.T) {
	other := engine.Person{Name: "ben", From: "pts/7"}
	take := func(c *console) {
		if _, err := c.desk.Answer(t.Context(), "power-off/c30b52", 1, "wait", other); err != nil {
			t.Fatal(err)
		}
	}
	t.Run("while the dialog is open", func(t *testing.T) {
		c := danger(t)
		c.write("legacy-erp")
		take(c)
		c.read()
		c.shows("taken already: Wait on, by ben from pts/7")
		c.press("tab", "enter")
		c.said("answer power-off/c30b52 wait")
	})
	t.Run("between the last look and the answer", func(t *testing.T) {
		c := legacy(t)
		c.press("down")
		take(c)
		c.now = c.now.Add(time.Second)
		c.send(key("enter"))
		c.shows("Not decided by you", "taken already: Wait on, by ben from pts/7")
		c.said("answer power-off/c30b52 wait")
	})
	t.Run("the question changes under the dialog", func(t *testing.T) {
		c := danger(t)
		c.write("legacy-erp")
		c.desk.Edit(func() { c.desk.Decided[0].Version++; c.desk.Decided[0].Question = "Really?" })
		c.press("tab", "enter")
		c.said(nothing)
		c.shows("Really?", "the question changed")
	})
}

func TestCancelMigration(t *testing.T) {
	c := open(t, uitest.World(clock), 80, 24)
	c.press("2", "down", "down", "x")
	c.shows("Cancel the migration", "web-01", "powered off by this migration and stays off")
	c.write("web-01")
	c.press("tab", "enter")
	c.said("cancel")
	c.shows("cancelling web-01 was asked for")
	c.press("x")
	c.shows("being cancelled already")
}

func TestStart(t *testing.T) {
	t.Run("one", func(t *testing.T) {
		c := open(t, uitest.World(clock), 80, 24)
		c.press("/")
		c.write("build")
		c.press("enter", "m")
		c.shows("Plan of build-agent", "vms", "GracefulThenAsk", "fast Block", "HTTP:80/")
		c.press("m", "enter") // on going back
		c.said(nothing)
		c.press("m", "down", "enter")
		c.said("apply")
		c.press("down")
		c.shows("Pending", "build-agent")
	})
	t.Run("several, one of which is under way, two to one name", func(t *testing.T) {
		d := uitest.World(clock)
		c := open(t, d, 80, 24)
		c.m.cfg.DefaultSpec = func(l engine.Listed) (doc specDocument) {
			doc = uitest.Document(l)
			if l.VM.Name == "../../etc/passwd" {
				doc.Spec.Destination.VMName = "vm-2"
			}
			return doc
		}
		c.press("/")
		for _, n := range []string{"web-01", "db-primary", "passwd"} {
			c.press("esc", "/")
			c.write(n)
			c.press("enter", "space")
		}
		c.press("esc", "m")
		c.shows("Plan of 2 VMs", "2 blocked")
		c.press("m")
		c.shows("Cannot start", "nic.mac.conflict blocks")
		c.press("down", "enter")
		c.shows("Pre-flight", "target.name.collision")
		c.said("look at 1")
	})
	t.Run("a document that is wrong", func(t *testing.T) {
		c := open(t, uitest.World(clock), 80, 24)
		c.m.cfg.DefaultSpec = func(engine.Listed) (doc specDocument) { return doc }
		c.press("/")
		c.write("db-pri")
		c.press("enter", "m")
		c.press("m")
		c.shows("Cannot start", "spec.source.address: is required")
		c.press("enter")
		c.said("look at 1")
	})
}

// A read-only console shows all and changes nothing, whatever is pressed.
func TestReadOnlyChangesNothing(t *testing.T) {
	for _, page := range []string{"1", "2", "3"} {
		for _, k := range []string{"m", "r", "d", "x", "E"} {
			t.Run(page+k, func(t *testing.T) {
				c := open(t, uitest.World(clock), 80, 24, readOnly)
				c.press(page, "down", k)
				if !c.m.dialogs.Empty() {
					t.Error("a dialog opened")
				}
				c.press("tab", "enter")
				c.said(nothing)
				c.press(page)
				if hints := strings.Join(c.lines()[23:], ""); strings.Contains(hints, "migrate ") || strings.Contains(hints, "cancel") {
					t.Errorf("keys that change something are offered: %s", hints)
				}
			})
		}
	}
}

// What cannot be seen must not be answered.
func TestDialogOnTinyScreen(t *testing.T) {
	c := danger(t)
	c.write("legacy-erp")
	c.send(tea.WindowSizeMsg{Width: 20, Height: 5})
	c.shows("enlarge the termina")
	c.press("tab", "enter")
	c.said(nothing)
	c.send(tea.WindowSizeMsg{Width: 80, Height: 24})
	c.press("tab", "enter")
	c.said("answer power-off/c30b52 hard")
}
