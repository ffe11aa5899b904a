package migration

import (
	"time"

	"charm.land/lipgloss/v2"

	"landfall/engine"
	"landfall/engine/plaintext"
	"landfall/ui/pages"
	"landfall/ui/widget"
)

// reached is the index of the checkpoint that a migration is at, or was when it turned to its end.
func reached(l engine.Line, history []engine.Transition) int {
	at := l.Phase
	if at.Rest() {
		at = l.Resume
	}
	if n := step(at); n >= 0 {
		return n
	}
	for i := len(history) - 1; i >= 0; i-- {
		if n := step(history[i].From); n >= 0 {
			return n
		}
	}
	return 0
}

func step(ph engine.Phase) int {
	for i, r := range engine.Steps() {
		if r.Phase == ph {
			return i
		}
	}
	return -1
}

// stepSign gives a checkpoint's glyph and colour.
func (p *Page) stepSign(i, at int, l engine.Line) (string, lipgloss.Style) {
	switch {
	case i < at || l.Phase == engine.Completed:
		return p.th.Glyph.Done, p.th.Good
	case i > at:
		return p.th.Glyph.Todo, p.th.Muted
	}
	switch l.Phase {
	case engine.Failing, engine.Failed, engine.Cancelling, engine.Cancelled:
		return p.th.Glyph.Bad, p.th.Bad
	}
	return pages.Sign(p.th, l)
}

// stepper draws the ten checkpoints one below the other.
func (p *Page) stepper(l engine.Line, history []engine.Transition) []string {
	at := reached(l, history)
	var out []string
	for i, r := range engine.Steps() {
		glyph, style := p.stepSign(i, at, l)
		name := string(r.Phase)
		if i == at {
			name = p.th.Bold.Render(name)
		} else if i > at {
			name = p.th.Muted.Render(name)
		}
		out = append(out, " "+style.Render(glyph)+" "+name)
	}
	if step(l.Phase) < 0 {
		glyph, style := pages.Sign(p.th, l)
		out = append(out, "", " "+style.Render(glyph+" "+pages.Word(l.Phase)))
	}
	return out
}

// strip draws the checkpoints in one line, for narrow screens.
func (p *Page) strip(l engine.Line, history []engine.Transition) string {
	at := reached(l, history)
	s := " "
	for i := range engine.Steps() {
		glyph, style := p.stepSign(i, at, l)
		s += style.Render(glyph)
	}
	return s + " " + string(engine.Steps()[at].Phase)
}

// steps tells of each checkpoint what must be true to leave it, and what was seen.
func (p *Page) steps(s *widget.Sheet, m engine.Migration, l engine.Line) {
	at := reached(l, m.Status.History)
	now := p.now()
	for i, r := range engine.Steps() {
		glyph, style := p.stepSign(i, at, l)
		entered, left, why := visit(r.Phase, m)
		when := ""
		switch {
		case !left.IsZero() && i < at:
			when = widget.Clock(entered, now) + " took " + widget.Span(left.Sub(entered))
		case !entered.IsZero() && i == at:
			when = widget.Clock(entered, now)
		}
		s.Line(style.Render(glyph) + " " + p.th.Bold.Render(widget.Fit(string(r.Phase), 12, "")) + p.th.Muted.Render(when))
		s.Row("  goal", r.Goal)
		if i == at {
			s.Row("  seen", seen(m.Status))
		} else if why != "" && i < at {
			s.Row("  seen", plaintext.Label(why))
		}
	}
}

// visit tells when a checkpoint was first entered, when it was left for good, and with what evidence.
func visit(ph engine.Phase, m engine.Migration) (entered, left time.Time, why string) {
	if ph == engine.Pending {
		entered = m.Created
	}
	for _, t := range m.Status.History {
		if t.To == ph && entered.IsZero() {
			entered = t.Time
		}
		if t.From == ph && step(t.To) > step(ph) {
			left, why = t.Time, t.Reason
		}
	}
	return entered, left, why
}

// seen says the last observation.
func seen(st engine.Status) string {
	switch {
	case st.Sight == "":
		return plaintext.Label(st.Seen)
	case st.Seen == "":
		return string(st.Sight)
	}
	return string(st.Sight) + ": " + plaintext.Label(st.Seen)
}
