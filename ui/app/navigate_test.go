package app

import (
	"errors"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"

	"landfall/engine"
	"landfall/engine/spec"
	"landfall/ui/uitest"
)

type specDocument = spec.Document

func TestLeaving(t *testing.T) {
	t.Run("q detaches", func(t *testing.T) {
		c := open(t, uitest.World(clock), 80, 24)
		c.press("q")
		if !c.quit {
			t.Error("it goes on")
		}
	})
	t.Run("q in the filter is a letter", func(t *testing.T) {
		c := open(t, uitest.World(clock), 80, 24)
		c.press("/", "q")
		if c.quit {
			t.Error("it left")
		}
	})
	t.Run("ctrl+c twice leaves, even from a dialog", func(t *testing.T) {
		c := danger(t)
		c.press("ctrl+c")
		c.shows("ctrl+c again leaves")
		if c.quit {
			t.Fatal("once was enough")
		}
		c.press("ctrl+c")
		if !c.quit {
			t.Error("it goes on")
		}
		c.said(nothing)
	})
	t.Run("ctrl+c twice, slowly, does not", func(t *testing.T) {
		c := open(t, uitest.World(clock), 80, 24)
		c.press("ctrl+c")
		c.now = c.now.Add(3 * time.Second)
		c.press("ctrl+c")
		if c.quit {
			t.Error("it left")
		}
	})
}

func TestEscGoesBack(t *testing.T) {
	c := open(t, uitest.World(clock), 80, 24)
	c.press("2", "down", "enter", "?")
	c.shows("Migration", "next part")
	c.press("esc")
	c.shows("legacy-erp → vms/vm-3")
	c.press("esc")
	c.shows("2 need a person")
}

func TestShutdownCountsDown(t *testing.T) {
	d := uitest.NewDesk(clock)
	d.VMs = append(d.VMs, uitest.VM(1, "slow"))
	m := d.Migrate("5107", d.VMs[0], engine.Preparing, time.Minute)
	m.Status.Shutdown = &engine.Shutdown{Asked: uitest.Noon.Add(-time.Minute), Deadline: uitest.Noon.Add(4 * time.Minute)}
	c := open(t, d, 80, 24)
	c.send(key("2"))
	c.send(key("enter"))
	c.read()
	c.shows("4m00s left of 5m00s for the guest to shut down")
	c.now = c.now.Add(90 * time.Second)
	c.send(tickMsg{c.m.ticks})
	c.shows("2m30s left")
	c.desk.Edit(func() { d.Migrations[0].Status.Shutdown.HandOver = true })
	c.read()
	c.shows("a person shuts the VM down")
}

func TestStuckSaysWhatToCheck(t *testing.T) {
	d := uitest.World(clock)
	c := open(t, d, 80, 24)
	c.desk.Edit(func() { d.Migrations[0].Status.Progress = uitest.Noon.Add(-11 * time.Minute) })
	c.press("2", "down", "down")
	c.shows("nothing moved for 11m", "copy permits of the host")
	c.press("enter")
	c.shows("stuck", "copy permits of the host")
}

func TestEngineDead(t *testing.T) {
	c := open(t, uitest.World(clock), 80, 24)
	c.alive = false
	c.read()
	c.shows("✗ no engine runs: E starts it")
	if c.m.snap.Moving() {
		t.Error("clocks would tick with no engine")
	}
	c.press("E")
	c.shows("✓ engine runs")
}

func TestDeskFails(t *testing.T) {
	c := open(t, uitest.World(clock), 80, 24)
	c.desk.Edit(func() { c.desk.Broken = errors.New("database disk image is malformed\x1b[2J") })
	c.read()
	c.shows(`database disk image is malformed\x1b[2J`, "legacy-erp")
	c.desk.Edit(func() { c.desk.Broken = nil })
	c.read()
	c.hides("malformed")
}

func TestCopy(t *testing.T) {
	c := open(t, uitest.World(clock), 80, 24)
	c.press("2", "down", "down", "y")
	c.shows("copied: 4f21e9")
	if !strings.Contains(strings.Join(c.raw, ""), "\x1b]52;c;NGYyMWU5") {
		t.Errorf("sent %q", c.raw)
	}
}

func TestTitleAndStatus(t *testing.T) {
	c := open(t, uitest.World(clock), 80, 24)
	v := c.m.View()
	if v.WindowTitle != "(2) landfall lab" {
		t.Errorf("title %q", v.WindowTitle)
	}
	if v.ProgramStatus == nil || v.ProgramStatus.State != tea.ProgramStateBlocked {
		t.Errorf("status %+v while decisions wait", v.ProgramStatus)
	}
	if v.ProgressBar != nil {
		t.Error("a terminal that may not know it is sent a progress bar")
	}
	c.m.gate.Progress = true
	if p := c.m.View().ProgressBar; p == nil || p.Value != 50 || p.State != tea.ProgressBarWarning {
		t.Errorf("progress %+v", p)
	}
}

// A panic on a page ends the console in order, with the reason kept.
func TestPanicIsCaught(t *testing.T) {
	c := open(t, uitest.World(clock), 80, 24)
	c.m.cfg.DefaultSpec = func(engine.Listed) spec.Document { panic("no such\x1b[2J") }
	c.m.now = c.m.now.Add(time.Second)
	_, cmd := c.m.Update(key("m"))
	if c.m.crash == nil || cmd == nil {
		t.Fatal("it goes on")
	}
	if _, ok := cmd().(tea.QuitMsg); !ok {
		t.Error("it does not end")
	}
	kept := ""
	c.m.cfg.Crash = func(reason string, stack []byte) string { kept = reason; return "/tmp/x" }
	err := c.m.leave(nil)
	if err == nil || !strings.Contains(err.Error(), "/tmp/x") || strings.Contains(err.Error(), "\x1b") || kept == "" {
		t.Errorf("said %v, kept %q", err, kept)
	}
}
