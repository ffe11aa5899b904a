package migration

import (
	"fmt"
	"strings"

	"charm.land/lipgloss/v2"

	"landfall/engine"
	"landfall/engine/plaintext"
	"landfall/ui/feed"
	"landfall/ui/pages"
	"landfall/ui/widget"
)

const (
	stepperWidth = 15
	// roomy is the width from which the stepper stands at the left.
	roomy = 72
)

// View draws the heading, the stepper and the chosen part.
func (p *Page) View(width, height int) string {
	l, ok := p.line()
	d := p.detail()
	if !ok || d == nil {
		text := "reading the migration" + p.th.Glyph.More
		if !ok && len(p.snap.Lines) > 0 {
			text = "this migration is not there any more; esc goes back"
		}
		return widget.Block([]string{"", " " + text}, width, height, p.th.Glyph.More)
	}
	history := d.Migration.Status.History
	head := []string{p.title(l), p.clocks(l, d)}
	if width < roomy {
		head = append(head, p.strip(l, history))
		left := height - len(head)
		return widget.Block(head, width, len(head), p.th.Glyph.More) + "\n" + p.body(l, d, width, left)
	}
	head = append(head, "")
	left := height - len(head)
	rule := widget.Block(repeat(p.th.Border.Render("│"), left, p.th.Glyph.Rule == "-"), 1, left, "")
	return widget.Block(head, width, len(head), p.th.Glyph.More) + "\n" + lipgloss.JoinHorizontal(lipgloss.Top,
		widget.Block(p.stepper(l, history), stepperWidth, left, ""), rule, p.body(l, d, width-stepperWidth-1, left))
}

func repeat(s string, n int, ascii bool) []string {
	if ascii {
		s = "|"
	}
	out := make([]string, max(0, n))
	for i := range out {
		out[i] = s
	}
	return out
}

func (p *Page) title(l engine.Line) string {
	glyph, style := pages.Sign(p.th, l)
	s := " " + style.Render(glyph+" "+pages.Word(l.Phase)) + "  " + p.th.Bold.Render(plaintext.Label(l.VM)) + " " +
		p.th.Glyph.Arrow + " " + pages.Target(l)
	switch pages.StateOf(l) {
	case pages.Done:
		return s
	case pages.Queued:
		return s + fmt.Sprintf("  place %d in the line", l.Queue)
	case pages.Runs, pages.Rests, pages.Waits:
	}
	if n := widget.Percent(l.Done, l.Total); n >= 0 {
		s += "  " + widget.Bar(p.th, l.Done, l.Total, 12) + fmt.Sprintf(" %d%%", n)
		if r := widget.Rate(l.Rate); r != "" {
			s += "  " + r
		}
		if pages.StateOf(l) == pages.Runs && n < 100 {
			s += "  ETA " + widget.ETA(l.ETA)
		}
	}
	return s
}

func (p *Page) clocks(l engine.Line, d *feed.Detail) string {
	now := p.now()
	s := []string{"since " + widget.Since(l.Since, now)}
	if t, running, ok := l.Times.Downtime(now); ok {
		word := "downtime " + widget.Span(t)
		if running {
			word = p.th.Warn.Render(word + " so far")
		}
		s = append(s, word)
	} else {
		s = append(s, "no downtime yet")
	}
	s = append(s, "started "+widget.Clock(l.Created, now)+" by "+plaintext.Label(d.Migration.CreatedBy), "id "+pages.Short(l.UID))
	return "   " + strings.Join(s, p.th.Muted.Render(" "+p.th.Glyph.Dot+" "))
}

func (p *Page) body(l engine.Line, d *feed.Detail, width, height int) string {
	if height < 2 {
		return widget.Block(nil, width, height, "")
	}
	st := d.Migration.Status
	names := [parts]string{"Now", "Steps", "Disks", "Conditions", "Findings", "Events", "Held", "Errors"}
	if l.Phase.Terminal() {
		names[partNow] = "Report"
	}
	tabs := widget.Tabs(p.th, names[:], p.part, width)
	height--
	if p.part == partEvents {
		return tabs + "\n" + p.log.View(p.th, p.events(d.Events), width, height)
	}
	s := &widget.Sheet{Theme: p.th, Width: width - 2, Label: 9}
	switch p.part {
	case partNow:
		if l.Phase.Terminal() {
			p.report(s, l, d)
		} else {
			p.current(s, l, d)
		}
	case partSteps:
		p.steps(s, d.Migration, l)
	case partDisks:
		p.disks(s, st)
	case partConditions:
		p.conditions(s, st)
	case partFindings:
		p.findings(s, st)
	case partHeld:
		p.held(s, d.Held)
	case partErrors:
		p.errors(s, st)
	}
	for i := range s.Lines {
		s.Lines[i] = " " + s.Lines[i]
	}
	return tabs + "\n" + p.panes[p.part].View(p.th, s.Lines, width, height)
}
