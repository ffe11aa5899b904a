package dialog

import (
	"strings"
	"testing"

	"landfall/engine"
	"landfall/engine/machine"
	"landfall/ui/pages"
	"landfall/ui/theme"
	"landfall/ui/uitest"

	"github.com/charmbracelet/x/ansi"
)

func TestTypeable(t *testing.T) {
	for name, c := range map[string]struct {
		vm, moref, want string
	}{
		"plain":                {"web-01", "vm-1", "web-01"},
		"with spaces inside":   {"DB primary", "vm-1", "DB primary"},
		"spaces at the end":    {"web ", "vm-1", "vm-1"},
		"no name":              {"", "vm-1", "vm-1"},
		"letters of a script":  {"東京", "vm-1", "vm-1"},
		"an accent":            {"Ko\u0308ln", "vm-1", "vm-1"},
		"hidden":               {"we\u200bb", "vm-1", "vm-1"},
		"escape":               {"a\x1b[2J", "vm-1", "vm-1"},
		"too long":             {strings.Repeat("a", 61), "vm-1", "vm-1"},
		"neither can be typed": {"東京", "é", "uid"},
	} {
		t.Run(name, func(t *testing.T) {
			if got, _ := Typeable(engine.Line{UID: "uid", VM: c.vm, Ref: machine.Ref{MoRef: c.moref}}); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

// Whatever a question holds, the frame keeps to its size, and the buttons stay on it.
func TestFrameKeepsToItsSize(t *testing.T) {
	long := strings.Repeat("a very long word of warning ", 60) + strings.Repeat("x", 300)
	l := engine.Line{UID: "u", VM: long, Source: long}
	q := engine.Decision{ID: "q", Question: long, Why: long, Value: long}
	for range 12 {
		q.Options = append(q.Options, engine.Option{ID: "o", Label: long, Effect: long, Dangerous: true})
	}
	choose := NewChoose(q, l, uitest.Noon)
	last := NewChoose(q, l, uitest.Noon)
	last.at = 12
	for name, d := range map[string]Dialog{
		"choose": choose, "choose the last": last, "danger": NewDanger(long, "Do it", long, l, nil, uitest.Noon), "notice": NewNotice("x", long),
		"one": NewOne(pages.AskOne{Title: long, Text: long + "\n" + long, Choices: []pages.Choice{{Label: long, Effect: long}}}, uitest.Noon),
	} {
		t.Run(name, func(t *testing.T) {
			for _, w := range []int{39, 40, 41, 60, 80, 129} {
				for _, h := range []int{10, 11, 12, 13, 15, 24, 49} {
					if !Fits(w, h) {
						continue
					}
					var s Stack
					s.Open(d)
					lines := strings.Split(ansi.Strip(s.View(theme.Default(true), w, h)), "\n")
					if len(lines) > h {
						t.Fatalf("%d lines of %d at width %d", len(lines), h, w)
					}
					for _, line := range lines {
						if ansi.StringWidth(line) > w {
							t.Fatalf("%d cells of %d", ansi.StringWidth(line), w)
						}
					}
					if all := strings.Join(lines, "\n"); name != "choose the last" && !strings.Contains(all, ">[") && !strings.Contains(all, "> Back") {
						t.Fatalf("what esc or enter does is not seen at %dx%d:\n%s", w, h, all)
					}
				}
			}
		})
	}
}
