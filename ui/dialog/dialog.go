// Package dialog holds what opens over a page to ask a person: a decision, a dangerous act, a start, a notice. A dialog
// answers with an action and never acts itself; it knows no desk and does no I/O. Esc always goes back and never approves.
package dialog

import (
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"landfall/engine"
	"landfall/ui/feed"
	"landfall/ui/keymap"
	"landfall/ui/pages"
	"landfall/ui/theme"
	"landfall/ui/widget"
)

const (
	// deaf is how long a dialog takes no key after it opened: what was typed for the page below must not answer it.
	deaf = 400 * time.Millisecond
	// burst is the pause before a key that approves: without one it was pasted, not pressed.
	burst = 100 * time.Millisecond
)

// Dialog is one question.
type Dialog interface {
	// Update takes a message at a time. It gives an action, and whether the dialog is done with.
	Update(msg tea.Msg, now time.Time) (act pages.Action, done bool)
	// Set gives the newest snapshot.
	Set(s *feed.Snapshot, now time.Time) pages.Action
	// Lines draws what stands inside the frame, in at most width × height.
	Lines(th theme.Theme, width, height int) []string
	Title() string
}

// LookUp asks who took a decision; the answer comes as Taken.
type LookUp struct{ Decision engine.Decision }

// Taken tells how a decision stands now.
type Taken struct{ Decision engine.Decision }

// Confirm opens the dialog of a dangerous act over the one that asks for it.
type Confirm struct{ Danger *Danger }

// guard keeps keys away that were not meant for the dialog.
type guard struct {
	opened, last time.Time
}

// deafTo tells whether a key came too early.
func (g *guard) deafTo(now time.Time) bool { return now.Sub(g.opened) < deaf }

// pressed notes a key and tells whether it followed the one before as fast as only a paste does.
func (g *guard) pressed(now time.Time) (pasted bool) {
	pasted = now.Sub(g.last) < burst
	g.last = now
	return pasted
}

// Stack is the dialogs that are open, the topmost last.
type Stack struct{ open []Dialog }

// Open puts a dialog on top.
func (s *Stack) Open(d Dialog) { s.open = append(s.open, d) }

// Empty tells whether none is open.
func (s *Stack) Empty() bool { return len(s.open) == 0 }

// Clear closes all.
func (s *Stack) Clear() { s.open = nil }

// Update gives a message to the topmost dialog; one that is done with an action takes those below with it.
func (s *Stack) Update(msg tea.Msg, now time.Time) pages.Action {
	if len(s.open) == 0 {
		return nil
	}
	if t, ok := msg.(Taken); ok {
		for _, d := range s.open {
			d.Update(t, now)
		}
		return nil
	}
	act, done := s.open[len(s.open)-1].Update(msg, now)
	if c, ok := act.(Confirm); ok {
		s.Open(c.Danger)
		return nil
	}
	if done {
		s.open = s.open[:len(s.open)-1]
		if act != nil {
			s.open = nil
		}
	}
	return act
}

// Set gives a snapshot to all, and the first action that one of them asks for.
func (s *Stack) Set(snap *feed.Snapshot, now time.Time) pages.Action {
	var act pages.Action
	for _, d := range s.open {
		if a := d.Set(snap, now); a != nil && act == nil {
			act = a
		}
	}
	return act
}

// The least inside of a frame that can be answered.
const (
	minWidth  = 36
	minHeight = 9
)

// Fits tells whether a dialog can be shown whole; where it cannot, it must not be answered either.
func Fits(width, height int) bool { return width-4 >= minWidth && height-2 >= minHeight }

// View draws the topmost dialog as a box of at most width × height cells.
func (s *Stack) View(th theme.Theme, width, height int) string {
	d := s.open[len(s.open)-1]
	inner := min(width-4, 72)
	lines := d.Lines(th, inner, height-2)
	return frame(th, d.Title(), lines, inner)
}

// Keys are those of dialogs.
func (s *Stack) Keys() []keymap.Binding { return keymap.InDialog.Bindings }

func frame(th theme.Theme, title string, lines []string, inner int) string {
	b := th.Box
	title = ansi.Truncate(" "+title+" ", inner, th.Glyph.More)
	edge := th.Border.Render
	top := edge(b.TopLeft+b.Top) + th.Title.Render(title) + edge(strings.Repeat(b.Top, max(0, inner+1-ansi.StringWidth(title)))+b.TopRight)
	out := []string{top}
	for _, l := range lines {
		out = append(out, edge(b.Left)+" "+widget.Fit(l, inner, th.Glyph.More)+" "+edge(b.Right))
	}
	out = append(out, edge(b.BottomLeft+strings.Repeat(b.Bottom, inner+2)+b.BottomRight))
	return strings.Join(out, "\n")
}

// buttons draws the two buttons, Cancel first.
func buttons(th theme.Theme, names []string, at int) string {
	var s []string
	for i, n := range names {
		text := "[ " + n + " ]"
		if i == at {
			s = append(s, th.Chosen.Render(th.Glyph.Cursor+text))
		} else {
			s = append(s, " "+th.Button.Render(text))
		}
	}
	return strings.Join(s, "  ")
}
