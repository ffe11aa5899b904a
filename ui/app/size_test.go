package app

import (
	"fmt"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"landfall/ui/uitest"
)

var sgr = regexp.MustCompile(`\x1b\[[0-9;]*m`)

// frame holds what was drawn to the size, and to codes that only change colours.
func (c *console) frame() {
	c.t.Helper()
	content := c.m.View().Content
	lines := strings.Split(content, "\n")
	if len(lines) != c.m.height {
		c.t.Errorf("%d lines on %dx%d", len(lines), c.m.width, c.m.height)
	}
	for _, l := range lines {
		if w := ansi.StringWidth(l); w > c.m.width {
			c.t.Errorf("a line of %d cells on %dx%d: %q", w, c.m.width, c.m.height, l)
		}
		for _, r := range sgr.ReplaceAllString(l, "") {
			if r < 0x20 || (r >= 0x7f && r < 0xa0) || r == 0x202e || (r >= 0x200b && r <= 0x200f) || r == 0xfeff || r == utf8.RuneError {
				c.t.Fatalf("U+%04X reaches the terminal: %q", r, l)
			}
		}
	}
}

func TestEverySize(t *testing.T) {
	c := open(t, uitest.World(clock), 80, 24)
	tour := [][]string{{"1"}, {"2"}, {"2", "enter"}, {"2", "enter", "tab", "tab"}, {"2", "down", "down", "enter", "tab", "tab", "tab", "tab", "tab", "w"}, {"3"}, {"?"}, {"1", "p"}, {"m"}, {"tab"}, {"enter"}, {"esc", "esc", "1", "p", "enter"}, {"esc", "3", "down", "d"}, {"down", "down", "enter"}}
	for _, keys := range tour {
		c.press(keys...)
		for _, w := range []int{1, 2, 3, 7, 15, 20, 36, 39, 40, 41, 59, 60, 61, 71, 72, 79, 80, 100, 131, 200} {
			for _, h := range []int{1, 2, 3, 4, 5, 9, 10, 11, 12, 14, 15, 16, 24, 25, 50} {
				c.send(tea.WindowSizeMsg{Width: w, Height: h})
				c.frame()
				if t.Failed() {
					t.Fatalf("after %v", keys)
				}
			}
		}
		c.send(tea.WindowSizeMsg{Width: 80, Height: 24})
	}
}

func TestSizeNoughtIsAPlainTerminal(t *testing.T) {
	c := open(t, uitest.World(clock), 0, 0)
	if c.m.width != 80 || c.m.height != 24 {
		t.Errorf("drawn as %dx%d", c.m.width, c.m.height)
	}
	c.frame()
}

// Whatever any text from outside holds, nothing raw reaches the terminal, and the frame keeps.
func FuzzTextFromOutside(f *testing.F) {
	for _, s := range uitest.Hostile {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		d := uitest.World(clock)
		for i := range d.VMs {
			d.VMs[i].Endpoint, d.VMs[i].VM.Name, d.VMs[i].VM.Folder, d.VMs[i].VM.Guest = s, s, s, s
			d.VMs[i].VM.Addresses = []string{s}
		}
		for i := range d.Migrations {
			m := &d.Migrations[i]
			m.Document.Spec.Source.VM.Name, m.CreatedBy, m.Document.Spec.Destination.Namespace = s, s, s
			m.Status.Reason, m.Status.Message, m.Status.Hint, m.Status.Seen = s, s, s, s
			m.Status.Drift, m.Status.Instance = []string{s}, s
		}
		for i := range d.Decided {
			q := &d.Decided[i]
			q.Question, q.Why, q.Value, q.Subject, q.Options[0].Label, q.Options[0].Effect = s, s, s, s, s, s
		}
		d.Sources[0].Name, d.Sources[0].Failure, d.Sources[0].Target.Context = s, s, s
		c := open(t, d, 80, 24)
		for _, keys := range [][]string{{}, {"2"}, {"2", "enter"}, {"tab", "tab", "tab"}, {"3"}, {"d", "down"}} {
			c.press(keys...)
			c.frame()
		}
	})
}

// Random keys at random sizes: it never crashes, never draws out of its frame, and never says anything to the desk that
// was not typed by name.
func TestMonkey(t *testing.T) {
	keys := []string{"1", "2", "3", "?", "esc", "E", "y", "ctrl+l", "k", "j", "pgup", "pgdown", "g", "G", "enter", "/", "s", "S", "space", "v", "a", "m", "p", "r", "d", "x", "tab", "h", "l", "n", "N", "f", "w", "up", "down", "left", "right", "backspace", "[", "A", "é", "東"}
	t.Chdir(t.TempDir()) // a plan may be saved
	for seed := range uint64(20) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			rng := rand.New(rand.NewPCG(seed, 7))
			c := open(t, uitest.World(clock), 80, 24)
			for range 300 {
				switch rng.IntN(12) {
				case 0:
					c.send(tea.WindowSizeMsg{Width: rng.IntN(140), Height: rng.IntN(50)})
				case 1:
					c.send(tea.PasteMsg{Content: uitest.Hostile[rng.IntN(len(uitest.Hostile))] + "\n"})
				default:
					c.press(keys[rng.IntN(len(keys))])
				}
				c.frame()
				if t.Failed() {
					return
				}
			}
			if said := c.desk.Said(); strings.Contains(said, "hard") || strings.Contains(said, "cancel") {
				t.Errorf("a monkey did what cannot be undone: %s", said)
			}
		})
	}
}
