package migration

import (
	"fmt"
	"strings"

	"landfall/engine"
	"landfall/engine/plaintext"
	"landfall/engine/spec"
	"landfall/engine/warm"
	"landfall/ui/feed"
	"landfall/ui/widget"
)

// warm tells how a running source is followed: the coordinator, what the cutover would cost, and every disk's worker.
func (p *Page) warm(s *widget.Sheet, d *feed.Detail) {
	st, now := d.Migration.Status, p.now()
	w := st.Warm
	s.Row("warm", p.phase(string(w.Phase), w.Failure != "")+" since "+widget.Since(w.Since, now)+p.path(w))
	if r, ok := warm.Coordinator.Row(w.Phase); ok && w.Waiting == "" {
		s.Row("goal", r.Goal)
	}
	s.Row("waits", plaintext.Label(w.Waiting))
	if w.Failure != "" {
		s.Row("failed", p.th.Bad.Render(p.th.Glyph.Bad)+" "+plaintext.Label(w.Failure))
	}
	for _, line := range w.Stuck(now, st.Progress) {
		s.Row("stuck", p.th.Warn.Render(p.th.Glyph.Warn)+" check "+plaintext.Label(line))
	}
	p.forecast(s, w, st.Times)
	p.orders(s, d.Migration.Document.Spec.Default().Strategy, w)
	for _, k := range w.Workers {
		p.worker(s, k)
	}
}

func (p *Page) phase(name string, failed bool) string {
	if failed {
		return p.th.Bad.Render(name)
	}
	return p.th.Bold.Render(name)
}

// path draws the coordinator's way as dots.
func (p *Page) path(w *warm.State) string {
	var b strings.Builder
	passed := true
	for _, r := range warm.Coordinator.Rows {
		if r.Phase == warm.Cancelling {
			break
		}
		switch {
		case r.Phase == w.Phase:
			passed = false
			b.WriteString(p.th.Active.Render(p.th.Glyph.Cursor))
		case passed:
			b.WriteString(p.th.Good.Render(p.th.Glyph.Done))
		default:
			b.WriteString(p.th.Muted.Render(p.th.Glyph.Todo))
		}
	}
	if passed {
		return "" // it is on its way to another end
	}
	return "  " + b.String()
}

// forecast says how long the service would be down, and of what it is made up.
func (p *Page) forecast(s *widget.Sheet, w *warm.State, t engine.Times) {
	f, word := w.Forecast, "projected"
	if w.Promised != nil {
		f, word = *w.Promised, "promised"
	}
	total, known := f.Total()
	text := p.th.Bold.Render(widget.Span(total))
	if !known {
		text = p.th.Warn.Render("unknown")
	}
	if w.Options.Budget > 0 {
		text += ", the budget is " + widget.Span(w.Options.Budget)
		if known && total > w.Options.Budget {
			text += " " + p.th.Warn.Render(p.th.Glyph.Warn+" over it")
		}
	}
	if took, running, ok := t.Downtime(p.now()); ok {
		text += "; measured " + widget.Span(took)
		if running {
			text += " so far"
		}
	}
	s.Row(word, text)
	missing := map[string][]string{}
	var whys []string
	for _, part := range []struct {
		name string
		warm.Part
	}{{"catch-up", f.CatchUp}, {"conversion", f.Conversion}, {"delivery", f.Delivery}, {"boot", f.Boot}} {
		if part.Known {
			continue
		}
		if missing[part.From] == nil {
			whys = append(whys, part.From)
		}
		missing[part.From] = append(missing[part.From], part.name)
	}
	for _, why := range whys {
		s.Row("", strings.Join(missing[why], ", ")+": "+plaintext.Label(why))
	}
}

// orders are what a person said about it: the word, holds, limits, the window.
func (p *Page) orders(s *widget.Sheet, o spec.Strategy, w *warm.State) {
	var said []string
	switch {
	case o.Warm.Hold:
		said = append(said, p.th.Warn.Render("the cutover is held"))
	case w.Word != "":
		said = append(said, "cut over: "+plaintext.Label(w.Word))
	case o.Warm.CutOver:
		said = append(said, p.th.Active.Render("the word to cut over is given"))
	}
	if o.Paused {
		said = append(said, p.th.Warn.Render("paused"))
	}
	if o.Throttle > 0 {
		said = append(said, "at most "+widget.Rate(float64(o.Throttle)))
	}
	if n := o.Warm.Window; n != nil {
		said = append(said, "window "+widget.Clock(n.From, p.now())+" to "+widget.Clock(n.Until, p.now()))
	}
	s.Row("orders", strings.Join(said, "; "))
}

// worker tells of one disk in a few lines.
func (p *Page) worker(s *widget.Sheet, k warm.Disk) {
	s.Blank()
	s.Line(fmt.Sprintf("disk %d %s ", k.Index, widget.Bytes(k.Size)) + p.phase(string(k.Phase), k.Phase == warm.WorkerFailed || k.Phase == warm.WorkerFailing) +
		" since " + widget.Since(k.Since, p.now()))
	if r, ok := warm.Worker.Row(k.Phase); ok && k.Phase != warm.WorkerConverged { // which the coordinator leaves
		s.Row("  goal", r.Goal)
	}
	if k.Queue > 0 {
		s.Row("  permit", fmt.Sprintf("waits for one, place %d in the line", k.Queue))
	}
	s.Row("  gap", p.gap(k))
	var rates []string
	if r := widget.Rate(k.Written); r != "" && k.Phase != warm.WorkerCatchingUp && !k.CaughtUp { // the source runs
		rates = append(rates, "the guest writes "+r)
	}
	if r := widget.Rate(k.Rate); r != "" {
		rates = append(rates, "read at "+r)
	}
	s.Row("  rates", strings.Join(rates, ", "))
	if k.Whole {
		s.Row("", "its ranges are read only when the source is off: rounds measure the gap")
	}
	if n := len(k.Rounds); n > 0 {
		s.Row("  round", round(k.Rounds[n-1]))
	}
	if k.Full != "" {
		s.Row("  whole", p.th.Warn.Render(p.th.Glyph.Warn)+" read whole again: "+plaintext.Label(k.Full))
	}
	s.Row("  lease", p.lease(k))
}

// gap is what was found changed, and when: since then the guest may have written more.
func (p *Page) gap(k warm.Disk) string {
	if k.Gap < 0 {
		return "not known yet"
	}
	text := widget.Bytes(k.Gap)
	if n := len(k.Rounds); n > 0 && !k.CaughtUp && !k.Rounds[n-1].Taken.IsZero() {
		text += " at " + widget.Clock(k.Rounds[n-1].Taken, p.now())
	}
	return text + "  " + widget.Sparkline(p.th, gaps(k), 16)
}

// gaps are what the rounds after the first copy found changed.
func gaps(k warm.Disk) (out []int64) {
	for _, r := range k.Rounds {
		if r.Kind != warm.KindFull {
			out = append(out, r.Bytes)
		}
	}
	return out
}

func round(r warm.Round) string {
	s := fmt.Sprintf("%d %s, %s in %.1f s", r.Number, plaintext.Label(r.Kind), widget.Bytes(r.Bytes), r.Seconds)
	if r.Reason != "" {
		s += ": " + plaintext.Label(r.Reason)
	}
	return s
}

func (p *Page) lease(k warm.Disk) string {
	if k.Lease == nil {
		return ""
	}
	s := fmt.Sprintf("our snapshot %d of ", k.Lease.Generation) + widget.Clock(k.Lease.Taken, p.now())
	if !k.Lease.Quiesced {
		s += ", not quiesced"
	}
	if k.Lease.Dropping {
		s += ", is removed"
	}
	return s
}

// rounds lists a worker's rounds, the newest first.
func (p *Page) rounds(s *widget.Sheet, w *warm.State, disk int) {
	if w == nil || disk >= len(w.Workers) {
		return
	}
	label := "rounds"
	for i := len(w.Workers[disk].Rounds) - 1; i >= 0; i-- {
		r := w.Workers[disk].Rounds[i]
		s.Row(label, p.th.Muted.Render(widget.Clock(r.Started, p.now()))+" "+round(r))
		label = " "
	}
}
