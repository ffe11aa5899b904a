package migration

import (
	"fmt"
	"strings"

	"charm.land/lipgloss/v2"

	"landfall/engine"
	"landfall/engine/plaintext"
	"landfall/engine/preflight"
	"landfall/ui/pages"
	"landfall/ui/widget"
)

func (p *Page) conditions(s *widget.Sheet, st engine.Status) {
	if len(st.Conditions) == 0 {
		s.Say(p.th.Muted.Render("No condition yet."), 0)
	}
	now := p.now()
	for _, c := range st.Conditions {
		glyph := p.th.Muted.Render(p.th.Glyph.Todo)
		switch c.Status {
		case "True":
			glyph = p.th.Good.Render(p.th.Glyph.Done)
		case "False":
			glyph = p.th.Warn.Render(p.th.Glyph.Bad)
		}
		s.Line(glyph + " " + widget.Fit(plaintext.Label(c.Type), 17, p.th.Glyph.More) + " " + widget.Fit(plaintext.Label(c.Status), 7, "") + " " +
			p.th.Muted.Render(widget.Clock(c.LastTransitionTime, now)) + " " + plaintext.Label(c.Reason))
		if c.Message != "" {
			s.Row("  ", plaintext.Label(c.Message))
		}
	}
}

var levels = []preflight.Level{preflight.Blocker, preflight.Decide, preflight.Warning, preflight.Info}

func (p *Page) findings(s *widget.Sheet, st engine.Status) {
	if len(st.Findings) == 0 {
		s.Say(p.th.Muted.Render("No finding: the rules have nothing to say, or were not asked yet."), 0)
	}
	for _, level := range levels {
		glyph, style := p.levelSign(level)
		for _, f := range st.Findings {
			if f.Level != level {
				continue
			}
			mark := ""
			if f.Unchecked {
				mark = " (could not be checked)"
			}
			s.Say(style.Render(glyph+" "+string(level))+" "+plaintext.Label(f.Subject+": "+f.Found)+mark, 2)
			s.Row("  why", plaintext.Label(f.Why))
			s.Row("  fix", plaintext.Label(f.Fix))
			s.Row("  rule", plaintext.Label(f.Rule))
		}
	}
}

func (p *Page) levelSign(l preflight.Level) (string, lipgloss.Style) {
	switch l {
	case preflight.Blocker:
		return p.th.Glyph.Bad, p.th.Bad
	case preflight.Decide:
		return p.th.Glyph.Ask, p.th.Warn
	case preflight.Warning:
		return p.th.Glyph.Warn, p.th.Warn
	case preflight.Info:
	}
	return p.th.Glyph.Dot, p.th.Info
}

func (p *Page) held(s *widget.Sheet, held []engine.Held) {
	if len(held) == 0 {
		s.Say(p.th.Muted.Render("Nothing is held outside: nothing was made, or all of it was seen gone."), 0)
	}
	for _, h := range held {
		s.Say(p.heldLine(h), 2)
	}
}

func (p *Page) heldLine(h engine.Held) string {
	line := widget.Fit(plaintext.Label(h.Kind), 14, p.th.Glyph.More) + " " + plaintext.Label(strings.Trim(h.Where+"/"+h.Name, "/")) +
		p.th.Muted.Render(" since "+widget.Clock(h.Since, p.now()))
	if h.Keep {
		line += p.th.Muted.Render(", stays")
	}
	if h.Note != "" {
		line += " " + plaintext.Label(h.Note)
	}
	return line
}

func (p *Page) errors(s *widget.Sheet, st engine.Status) {
	if len(st.Errors) == 0 {
		s.Say(p.th.Muted.Render("No error was met."), 0)
	}
	for i := len(st.Errors) - 1; i >= 0; i-- {
		p.failure(s, st.Errors[i])
	}
	if f := st.FirstError; f != nil && len(st.Errors) > 0 && *f != st.Errors[0] {
		s.Head("the first error")
		p.failure(s, *f)
	}
}

func (p *Page) failure(s *widget.Sheet, f engine.Failure) {
	s.Say(p.th.Bad.Render(p.th.Glyph.Bad)+" "+widget.Clock(f.Time, p.now())+" "+pages.Word(f.Phase)+
		fmt.Sprintf(" attempt %d ", f.Attempt)+p.th.Muted.Render(plaintext.Label(f.Class+" "+f.Reason)), 2)
	s.Row("  error", plaintext.Label(f.Message))
	s.Row("  try", plaintext.Label(f.Hint))
}
