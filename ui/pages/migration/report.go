package migration

import (
	"fmt"

	"landfall/engine"
	"landfall/engine/plaintext"
	"landfall/engine/warm"
	"landfall/ui/feed"
	"landfall/ui/pages"
	"landfall/ui/widget"
)

// report sums up a migration that has ended.
func (p *Page) report(s *widget.Sheet, l engine.Line, d *feed.Detail) {
	st, now := d.Migration.Status, p.now()
	glyph, style := pages.Sign(p.th, l)
	end := ""
	if r, ok := engine.RowOf(l.Phase); ok {
		end = r.Goal
	}
	s.Say(style.Render(glyph+" "+pages.Word(l.Phase))+" at "+widget.Clock(st.Times.Completed, now)+": "+end, 2)
	if st.Message != "" {
		s.Row("because", plaintext.Label(st.Message))
	}
	s.Row("try", plaintext.Label(st.Hint))
	if t := st.Times; !t.Completed.IsZero() {
		s.Row("took", widget.Span(t.Completed.Sub(t.Created)))
	}
	if t, running, ok := st.Times.Downtime(now); ok && !running {
		s.Row("downtime", widget.Span(t)+p.th.Muted.Render(" from the source's power-off ")+p.downEnd(st.Times))
	} else if !ok {
		s.Row("downtime", "none: the source was not powered off by this migration")
	}
	if st.Warm != nil && st.Warm.Promised != nil {
		if total, known := st.Warm.Promised.Total(); known {
			s.Row("promised", widget.Span(total)+" of downtime at the cutover")
		} else {
			s.Row("promised", "at least "+widget.Span(total)+" of downtime at the cutover; not all of it was known")
		}
	}
	if st.Warm != nil {
		s.Row("warm", followed(st.Warm))
	}
	if m := st.Machine; m != nil {
		s.Row("machine", plaintext.Label(m.Namespace+"/"+m.Name))
	}
	p.checks(s, st)
	p.proof(s, st)
	p.decided(s, d)
	s.Head("left")
	if len(st.Left) == 0 {
		s.Line(p.th.Good.Render(p.th.Glyph.Done) + " nothing")
	}
	for _, h := range st.Left {
		s.Say(p.th.Warn.Render(p.th.Glyph.Warn)+" "+p.heldLine(h), 2)
	}
	s.Blank()
	s.Say(p.th.Muted.Render("landfall report "+pages.Short(l.UID)+" writes all of it"), 0)
}

// followed says how a running source was followed, and what of it was left for the end.
func followed(w *warm.State) string {
	rounds, last, off := 0, int64(0), false
	for _, k := range w.Workers {
		rounds += k.Count
		if n := len(k.Rounds); n > 0 && k.Rounds[n-1].Kind == warm.KindFinal {
			last, off = last+k.Rounds[n-1].Bytes, true
		}
	}
	text := fmt.Sprintf("%d rounds", rounds)
	if off {
		text += ", the last of " + widget.Bytes(last) + " with the source off"
	}
	return text
}

func (p *Page) downEnd(t engine.Times) string {
	if t.VMStarted.IsZero() {
		return p.th.Muted.Render("to the end")
	}
	return p.th.Muted.Render("to the instance running")
}

// proof compares digests, disk by disk.
func (p *Page) proof(s *widget.Sheet, st engine.Status) {
	if len(st.Disks) == 0 {
		return
	}
	s.Head("proof of the copy")
	for _, k := range st.Disks {
		s.Line(fmt.Sprintf("disk %d  %s  %s", k.Index, widget.Bytes(k.Size), plaintext.Label(k.Label)))
		if k.Manifest != nil {
			s.Row("  root", plaintext.Label(k.Manifest.Root))
		}
		s.Row("  sha256", plaintext.Label(k.SHA256))
		if d := p.delivered(k); d != "" {
			s.Row("  sent", d)
		} else {
			s.Row("  sent", p.th.Muted.Render("nothing was delivered to its end"))
		}
	}
}

func (p *Page) decided(s *widget.Sheet, d *feed.Detail) {
	head := false
	for _, q := range d.Decisions {
		if q.Answer == "" {
			continue
		}
		if !head {
			s.Head("decisions")
			head = true
		}
		s.Say(plaintext.Label(q.Question), 2)
		s.Row("  answer", p.th.Bold.Render(plaintext.Label(optionLabel(q))))
		s.Row("  by", plaintext.Label(q.By+" from "+q.From)+" at "+widget.Clock(q.AnsweredAt, p.now()))
	}
}

func optionLabel(q engine.Decision) string {
	for _, o := range q.Options {
		if o.ID == q.Answer {
			return o.Label
		}
	}
	return q.Answer
}
