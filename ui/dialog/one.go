package dialog

import (
	"fmt"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"landfall/engine/plaintext"
	"landfall/ui/feed"
	"landfall/ui/keymap"
	"landfall/ui/pages"
	"landfall/ui/theme"
	"landfall/ui/widget"
)

// One offers choices. It starts on going back.
type One struct {
	guard
	ask  pages.AskOne
	at   int // 0 goes back, n is choice n-1
	pane widget.Pane
}

// NewOne offers the choices of ask.
func NewOne(ask pages.AskOne, now time.Time) *One { return &One{ask: ask, guard: guard{opened: now}} }

// Title of the frame.
func (o *One) Title() string { return plaintext.Label(o.ask.Title) }

// Set needs nothing of a snapshot.
func (o *One) Set(*feed.Snapshot, time.Time) pages.Action { return nil }

// Update takes a key.
func (o *One) Update(msg tea.Msg, now time.Time) (pages.Action, bool) {
	k, ok := msg.(tea.KeyPressMsg)
	if !ok {
		return nil, false
	}
	pasted := o.pressed(now)
	if o.deafTo(now) {
		return nil, false
	}
	n := len(o.ask.Choices) + 1
	switch {
	case keymap.Back.Hit(k):
		return nil, true
	case keymap.PageUp.Hit(k), keymap.PageDown.Hit(k):
		o.pane.Press(k)
	case keymap.NextChoice.Hit(k):
		o.at = (o.at + 1) % n
	case keymap.PrevChoice.Hit(k):
		o.at = (o.at + n - 1) % n
	case keymap.Accept.Hit(k) && !pasted:
		if o.at == 0 {
			return nil, true
		}
		return Take{o.ask.Choices[o.at-1].Take}, true
	case len(k.Text) == 1 && k.Text[0] >= '1' && int(k.Text[0]-'0') < n:
		o.at = int(k.Text[0] - '0')
	}
	return nil, false
}

// Take asks the root to run what a dialog was given for its end.
type Take struct{ Run func() pages.Action }

// Lines draws the text, which scrolls, the choices, and what the chosen one does.
func (o *One) Lines(th theme.Theme, width, height int) []string {
	foot := &widget.Sheet{Theme: th, Width: width}
	rows := []string{"Back, and change nothing"}
	for i, c := range o.ask.Choices {
		rows = append(rows, fmt.Sprintf("%d  %s", i+1, plaintext.Label(c.Label)))
	}
	room := max(2, height-7)
	from := max(0, min(o.at-room+1, len(rows)-room))
	foot.Blank()
	for i := from; i < min(len(rows), from+room); i++ {
		row := widget.Fit(rows[i], width-2, th.Glyph.More)
		if i == o.at {
			foot.Line(th.Chosen.Render(th.Glyph.Cursor + " " + row))
		} else {
			foot.Line("  " + row)
		}
	}
	effect := "nothing is changed"
	if o.at > 0 {
		effect = plaintext.Label(o.ask.Choices[o.at-1].Effect)
	}
	then := &widget.Sheet{Theme: th, Width: width}
	then.Say(th.Muted.Render("then: ")+effect, 6)
	foot.Blank()
	foot.Lines = append(foot.Lines, widget.Limit(then.Lines, 3, th.Glyph.More)...)
	head := &widget.Sheet{Theme: th, Width: width}
	for line := range strings.SplitSeq(plaintext.Text(o.ask.Text), "\n") {
		head.Say(line, 2)
	}
	high := min(len(head.Lines), max(1, height-len(foot.Lines)))
	return append(strings.Split(o.pane.View(th, head.Lines, width, high), "\n"), foot.Lines...)
}

// Text asks for one line. Enter takes it, pasted newlines do not.
type Text struct {
	guard
	ask   pages.AskText
	field widget.Field
}

// NewText asks for the text of ask.
func NewText(ask pages.AskText, now time.Time) *Text {
	t := &Text{ask: ask, field: widget.NewField("> "), guard: guard{opened: now}}
	t.field.Set(ask.Value)
	t.field.Focus()
	return t
}

// Title of the frame.
func (t *Text) Title() string { return plaintext.Label(t.ask.Title) }

// Set needs nothing of a snapshot.
func (t *Text) Set(*feed.Snapshot, time.Time) pages.Action { return nil }

// Update takes keys and pastes.
func (t *Text) Update(msg tea.Msg, now time.Time) (pages.Action, bool) {
	k, ok := msg.(tea.KeyPressMsg)
	if !ok {
		t.field.Update(msg)
		return nil, false
	}
	pasted := t.pressed(now)
	if t.deafTo(now) {
		return nil, false
	}
	switch {
	case keymap.Back.Hit(k):
		return nil, true
	case keymap.Accept.Hit(k):
		if pasted {
			return nil, false
		}
		value := strings.TrimSpace(t.field.Value())
		return Take{func() pages.Action { return t.ask.Take(value) }}, true
	}
	t.field.Update(msg)
	return nil, false
}

// Lines draws it.
func (t *Text) Lines(th theme.Theme, width, height int) []string {
	s := &widget.Sheet{Theme: th, Width: width}
	s.Say(plaintext.Label(t.ask.Text), 0)
	lines := widget.Limit(s.Lines, max(1, height-4), th.Glyph.More)
	return append(lines, "", widget.Fit(t.field.View(), width, ""), "", th.Muted.Render("enter takes it, esc goes back"))
}
