package dialog

import (
	"fmt"
	"time"

	tea "charm.land/bubbletea/v2"

	"landfall/engine"
	"landfall/engine/plaintext"
	"landfall/ui/feed"
	"landfall/ui/keymap"
	"landfall/ui/pages"
	"landfall/ui/theme"
	"landfall/ui/widget"
)

// Choose asks a decision. It starts on going back; a dangerous option opens its own dialog.
type Choose struct {
	asked
	guard
	line   engine.Line
	at     int // 0 goes back, n is option n-1
	remark string
}

// NewChoose asks a decision about the migration of a line.
func NewChoose(d engine.Decision, l engine.Line, now time.Time) *Choose {
	return &Choose{asked: asked{decision: d}, line: l, guard: guard{opened: now}}
}

// Title of the frame.
func (c *Choose) Title() string { return "Decision" }

// Set follows the decision.
func (c *Choose) Set(s *feed.Snapshot, now time.Time) pages.Action {
	act, changed := c.follow(s)
	if changed {
		c.at, c.opened, c.remark = 0, now, "the question changed: read it again"
	}
	return act
}

// Update takes a key.
func (c *Choose) Update(msg tea.Msg, now time.Time) (pages.Action, bool) {
	switch m := msg.(type) {
	case Taken:
		c.taken(m, now)
	case tea.KeyPressMsg:
		pasted := c.pressed(now)
		if c.deafTo(now) {
			return nil, false
		}
		return c.press(m, pasted, now)
	}
	return nil, false
}

func (c *Choose) press(k tea.KeyPressMsg, pasted bool, now time.Time) (pages.Action, bool) {
	n := len(c.decision.Options) + 1
	if c.gone != "" {
		return nil, keymap.Back.Hit(k) || keymap.Accept.Hit(k)
	}
	switch {
	case keymap.Back.Hit(k):
		return nil, true
	case keymap.NextChoice.Hit(k):
		c.at = (c.at + 1) % n
	case keymap.PrevChoice.Hit(k):
		c.at = (c.at + n - 1) % n
	case keymap.Accept.Hit(k) && !pasted:
		if c.at == 0 {
			return nil, true
		}
		return c.take(c.decision.Options[c.at-1], now)
	case len(k.Text) == 1 && k.Text[0] >= '1' && int(k.Text[0]-'0') < n:
		c.at = int(k.Text[0] - '0')
	}
	return nil, false
}

func (c *Choose) take(o engine.Option, now time.Time) (pages.Action, bool) {
	give := pages.GiveAnswer{Decision: c.decision, Option: o}
	if !o.Dangerous {
		return give, true
	}
	label := plaintext.Label(o.Label)
	d := NewDanger(label, label, o.Effect, c.line, give, now)
	d.asked = &asked{decision: c.decision}
	return Confirm{Danger: d}, false
}

// Lines draws the question, the options, and what the chosen one does.
func (c *Choose) Lines(th theme.Theme, width, height int) []string {
	foot := &widget.Sheet{Theme: th, Width: width}
	if c.gone != "" {
		foot.Blank()
		foot.Say(th.Warn.Render(th.Glyph.Warn+" "+c.gone), 2)
		foot.Blank()
		foot.Line(buttons(th, []string{"Back"}, 0))
	} else {
		c.options(foot, th, height)
	}
	head := &widget.Sheet{Theme: th, Width: width, Label: 5}
	head.Say(th.Bold.Render(plaintext.Label(c.decision.Question)), 0)
	head.Row("VM", plaintext.Label(c.line.VM)+" ("+plaintext.Label(c.line.Ref.String())+")")
	head.Row("why", plaintext.Label(c.decision.Why))
	head.Row("value", plaintext.Label(c.decision.Value))
	return append(widget.Limit(head.Lines, height-len(foot.Lines), th.Glyph.More), foot.Lines...)
}

func (c *Choose) options(s *widget.Sheet, th theme.Theme, height int) {
	if c.remark != "" {
		s.Line(th.Warn.Render(c.remark))
	}
	s.Blank()
	rows := []string{"Back, and decide nothing now"}
	for i, o := range c.decision.Options {
		row := fmt.Sprintf("%d  %s", i+1, plaintext.Label(o.Label))
		if o.Dangerous {
			row += "  " + th.Glyph.Warn + " cannot be undone"
		}
		rows = append(rows, row)
	}
	// Where not all options have room, those around the chosen one are shown.
	room := max(2, height-7)
	from := max(0, min(c.at-room+1, len(rows)-room))
	for i := from; i < min(len(rows), from+room); i++ {
		row := widget.Fit(rows[i], s.Width-2, th.Glyph.More)
		if i == c.at {
			s.Line(th.Chosen.Render(th.Glyph.Cursor + " " + row))
		} else {
			s.Line("  " + row)
		}
	}
	s.Blank()
	effect := "nothing is done, and the question goes on waiting"
	if c.at > 0 {
		effect = plaintext.Label(c.decision.Options[c.at-1].Effect)
	}
	before := len(s.Lines)
	s.Say(th.Muted.Render("then: ")+effect, 6)
	s.Lines = append(s.Lines[:before], widget.Limit(s.Lines[before:], 3, th.Glyph.More)...)
}
