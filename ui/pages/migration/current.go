package migration

import (
	"fmt"
	"strings"

	"landfall/engine"
	"landfall/engine/plaintext"
	"landfall/engine/warm"
	"landfall/ui/feed"
	"landfall/ui/pages"
	"landfall/ui/widget"
)

// current tells where the migration stands: what a person must do first, then what the engine does.
func (p *Page) current(s *widget.Sheet, l engine.Line, d *feed.Detail) {
	m, now := d.Migration, p.now()
	st := m.Status
	for _, q := range d.Decisions {
		if !q.Open() {
			continue
		}
		s.Say(p.th.Warn.Render(p.th.Glyph.Ask+" "+plaintext.Label(q.Question)), 2)
		s.Row("  why", plaintext.Label(q.Why))
		s.Row("  value", plaintext.Label(q.Value))
		how := "d answers it"
		if p.readOnly {
			how = "this console is read-only"
		}
		s.Row("  waits", widget.Since(q.Opened, now)+"; "+how)
		s.Blank()
	}
	p.shutdown(s, st, l)
	if m.Want == engine.WantCancel && l.Phase != engine.Cancelling {
		s.Say(p.th.Warn.Render(p.th.Glyph.Warn+" cancelling was asked for; the engine does it at its next look"), 2)
	}
	at := l.Phase
	if at.Rest() {
		at = l.Resume
	}
	follows := st.Warm != nil && !st.Warm.Ended() && !l.Phase.Rest()
	if r, ok := engine.RowOf(at); ok && !follows { // else the coordinator's own says more
		s.Row("goal", r.Goal)
		s.Row("seen", seen(st))
	}
	p.rest(s, l, m)
	if st.Message != "" && l.Questions == 0 { // else it is the question
		s.Row("message", plaintext.Label(strings.TrimPrefix(st.Reason+": ", ": ")+st.Message))
	}
	if l.Questions == 0 {
		s.Row("try", plaintext.Label(st.Hint))
	}
	if stuck := l.Stuck(now); stuck != "" {
		s.Row("stuck", p.th.Warn.Render("nothing moved for "+widget.Age(now.Sub(l.Progress)))+"; check: "+stuck)
	}
	for _, x := range st.Drift {
		s.Row("drift", p.th.Warn.Render(p.th.Glyph.Warn)+" "+plaintext.Label(x))
	}
	if st.Power != "" {
		s.Row("source", "power "+string(st.Power))
	}
	if st.Instance != "" {
		s.Row("instance", plaintext.Label(st.Instance))
	}
	p.checks(s, st)
	switch {
	case st.Warm != nil && st.Warm.Phase != warm.Completed:
		if !follows {
			s.Blank()
		}
		p.warm(s, d)
	case len(st.Disks) > 0:
		if st.Warm != nil {
			p.forecast(s, st.Warm, st.Times)
		}
		s.Blank()
		for _, k := range st.Disks {
			s.Line(p.diskLine(k))
		}
	}
	if n := len(d.Events); n > 0 {
		s.Blank()
		for _, line := range p.events(d.Events[max(0, n-5):]) {
			s.Line(line)
		}
	}
}

func (p *Page) rest(s *widget.Sheet, l engine.Line, m engine.Migration) {
	st := m.Status
	limit := m.Document.Spec.Strategy.Retries()
	if st.Options != nil {
		limit = st.Options.Strategy.Retries()
	}
	switch {
	case l.Phase == engine.Retryable:
		s.Row("rests", fmt.Sprintf("tries again in %s, attempt %d of %d", widget.Span(l.NotUntil.Sub(p.now())), st.Attempt, limit))
	case l.Phase == engine.ManualInterventionRequired:
		if l.Questions > 0 {
			s.Row("rests", "until it is decided")
		} else {
			s.Row("rests", "until you mended what is named and press r, or change the document")
		}
	case st.Attempt > 0:
		s.Row("attempt", fmt.Sprintf("%d of %d", st.Attempt, limit))
	}
}

// shutdown counts down while the guest shuts down.
func (p *Page) shutdown(s *widget.Sheet, st engine.Status, l engine.Line) {
	sd := st.Shutdown
	if sd == nil {
		return
	}
	now := p.now()
	asked := "asked at " + widget.Clock(sd.Asked, now)
	switch left := sd.Deadline.Sub(now); {
	case sd.HandOver:
		s.Row("shutdown", p.th.Warn.Render("a person shuts the VM down")+"; waiting without end, "+asked)
	case left > 0:
		total := sd.Deadline.Sub(sd.Asked)
		s.Row("shutdown", p.th.Active.Render(widget.Span(left)+" left")+" of "+widget.Span(total)+" for the guest to shut down, "+asked)
		s.Row("", widget.Bar(p.th, int64(total-left), int64(total), min(30, max(4, s.Width-12))))
	case l.Questions == 0:
		s.Row("shutdown", p.th.Warn.Render("the time is over")+", "+asked)
	}
}

func (p *Page) checks(s *widget.Sheet, st engine.Status) {
	for _, c := range st.Checks {
		glyph := p.th.Muted.Render(p.th.Glyph.Todo)
		switch {
		case c.Passed:
			glyph = p.th.Good.Render(p.th.Glyph.Done)
		case c.Wrong:
			glyph = p.th.Bad.Render(p.th.Glyph.Bad)
		}
		s.Row("check", glyph+" "+plaintext.Label(c.Check.Type+checkWhere(c.Check.Port, c.Check.Path)+": "+c.Detail))
	}
}

func checkWhere(port int, path string) string {
	if port == 0 {
		return ""
	}
	return fmt.Sprintf(" :%d%s", port, path)
}

// events gives events as lines.
func (p *Page) events(events []engine.Event) []string {
	now := p.now()
	out := make([]string, len(events))
	for i, e := range events {
		sign := " "
		switch e.Level {
		case "warn":
			sign = p.th.Warn.Render(p.th.Glyph.Warn)
		case "error":
			sign = p.th.Bad.Render(p.th.Glyph.Bad)
		}
		out[i] = p.th.Muted.Render(widget.Clock(e.Time, now)) + " " + sign + " " + p.th.Muted.Render(widget.Fit(pages.Word(e.Phase), 11, "")) + " " +
			plaintext.Label(strings.TrimPrefix(e.Reason+": ", ": ")+e.Message)
	}
	return out
}
