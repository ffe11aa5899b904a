package app

import (
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"

	"landfall/engine"
	"landfall/ui/term"
	"landfall/ui/uitest"
)

// console drives the model without a program: what is done aside is done at once.
type console struct {
	t     *testing.T
	m     *Model
	desk  *uitest.Desk
	now   time.Time
	alive bool
	quit  bool
	raw   []string // sent to the terminal beside the screen
}

type option func(*Config, *term.Gate)

func readOnly(c *Config, _ *term.Gate) { c.ReadOnly = true }
func ascii(_ *Config, g *term.Gate)    { g.ASCII = true }

func open(t *testing.T, desk *uitest.Desk, width, height int, opts ...option) *console {
	t.Helper()
	c := &console{t: t, desk: desk, now: uitest.Noon, alive: true}
	cfg := defaults(Config{
		Desk: desk, Person: engine.Person{Name: "ana", From: "pts/1"}, Workspace: "lab", Now: func() time.Time { return c.now },
		EngineAlive: func() bool { return c.alive }, DefaultSpec: uitest.Document, Verdict: uitest.Verdict,
		StartEngine: func() error { c.alive = true; return nil },
	})
	var gate term.Gate
	for _, o := range opts {
		o(&cfg, &gate)
	}
	c.m = newModel(t.Context(), cfg, gate)
	c.m.after = func(time.Duration, func(time.Time) tea.Msg) tea.Cmd { return nil }
	c.send(tea.WindowSizeMsg{Width: width, Height: height})
	c.read()
	return c
}

// send gives a message to the model and does what it wants.
func (c *console) send(msg tea.Msg) {
	c.t.Helper()
	_, cmd := c.m.Update(msg)
	c.run(cmd)
	if c.m.crash != nil {
		c.t.Fatalf("the console crashed: %v\n%s", c.m.crash.reason, c.m.crash.stack)
	}
}

func (c *console) run(cmd tea.Cmd) {
	if cmd == nil {
		return
	}
	switch msg := cmd().(type) {
	case nil:
	case tea.BatchMsg:
		for _, x := range msg {
			c.run(x)
		}
	case tea.QuitMsg:
		c.quit = true
	case tea.RawMsg:
		c.raw = append(c.raw, msg.Msg.(string))
	case tea.SuspendMsg:
	default:
		c.send(msg)
	}
}

// read takes a snapshot of the desk.
func (c *console) read() {
	c.t.Helper()
	c.send(snapshotMsg{c.m.feed.Read(c.t.Context())})
}

func key(name string) tea.KeyPressMsg {
	codes := map[string]rune{"enter": tea.KeyEnter, "esc": tea.KeyEscape, "tab": tea.KeyTab, "up": tea.KeyUp, "down": tea.KeyDown,
		"left": tea.KeyLeft, "right": tea.KeyRight, "backspace": tea.KeyBackspace, "pgdown": tea.KeyPgDown, "pgup": tea.KeyPgUp}
	if r, ok := codes[name]; ok {
		return tea.KeyPressMsg{Code: r}
	}
	if r, ok := strings.CutPrefix(name, "ctrl+"); ok {
		return tea.KeyPressMsg{Code: rune(r[0]), Mod: tea.ModCtrl}
	}
	if name == "space" {
		return tea.KeyPressMsg{Code: tea.KeySpace, Text: " "}
	}
	return tea.KeyPressMsg{Code: []rune(name)[0], Text: name}
}

// press presses keys as a person does: half a second apart.
func (c *console) press(names ...string) {
	c.t.Helper()
	for _, n := range names {
		c.now = c.now.Add(500 * time.Millisecond)
		c.send(key(n))
	}
	c.read()
}

// burst presses keys with no time between, as an unbracketed paste comes in.
func (c *console) burst(names ...string) {
	c.t.Helper()
	for _, n := range names {
		c.send(key(n))
	}
	c.read()
}

// type types a text.
func (c *console) write(text string) {
	c.t.Helper()
	for _, r := range text {
		if r == ' ' {
			c.press("space")
			continue
		}
		c.press(string(r))
	}
}

func (c *console) lines() []string {
	c.t.Helper()
	return uitest.Screen(c.t, c.m.View().Content, c.m.width, c.m.height)
}

func (c *console) text() string { return strings.Join(c.lines(), "\n") }

func (c *console) shows(want ...string) {
	c.t.Helper()
	s := c.text()
	flat := folded(s)
	for _, w := range want {
		if !strings.Contains(s, w) && !strings.Contains(flat, w) {
			c.t.Errorf("%q is not on the screen:\n%s", w, s)
		}
	}
}

// folded joins what was broken into lines, inside of frames too.
func folded(s string) string {
	var words []string
	for line := range strings.SplitSeq(s, "\n") {
		if parts := strings.Split(line, "│"); len(parts) == 3 {
			line = parts[1]
		}
		words = append(words, strings.Fields(line)...)
	}
	return strings.Join(words, " ")
}

func (c *console) hides(unwanted ...string) {
	c.t.Helper()
	s := c.text()
	for _, w := range unwanted {
		if strings.Contains(s, w) {
			c.t.Errorf("%q is on the screen:\n%s", w, s)
		}
	}
}
