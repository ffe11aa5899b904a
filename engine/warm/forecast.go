package warm

import (
	"fmt"
	"time"
)

// Forecast is how long the service would be down if the source were stopped now: the parts that follow each other while
// neither side serves.
type Forecast struct {
	CatchUp    Part `json:"catchUp"`
	Conversion Part `json:"conversion"`
	Delivery   Part `json:"delivery"`
	Boot       Part `json:"boot"`
}

// Part is one part of a forecast.
type Part struct {
	Known   bool    `json:"known"`
	Seconds float64 `json:"seconds"`
	From    string  `json:"from"` // where the figure is from, or why there is none
}

// Total is the projected downtime; known is false while a part of it is unknown.
func (f Forecast) Total() (total time.Duration, known bool) {
	known = true
	for _, p := range []Part{f.CatchUp, f.Conversion, f.Delivery, f.Boot} {
		total += time.Duration(p.Seconds * float64(time.Second))
		known = known && p.Known
	}
	return total, known
}

func unknown(why string) Part              { return Part{From: why} }
func part(seconds float64, of string) Part { return Part{Known: true, Seconds: seconds, From: of} }

// forecast reckons with what this migration measured, and for what it cannot measure before the cutover with what the
// operator gave.
func (s *State) forecast(now time.Time) Forecast {
	var bytes int64
	for _, w := range s.Workers {
		bytes += w.Size
	}
	f := Forecast{CatchUp: s.catchUp(now), Conversion: unknown("not measured in this migration, and no figure was given"),
		Delivery: unknown("not measured in this migration, and no figure was given"), Boot: unknown("not measured in this migration, and no figure was given")}
	o := s.Options
	switch {
	case o.NoConversion:
		f.Conversion = part(0, "no conversion")
	case o.ConvertRate > 0:
		f.Conversion = part(float64(bytes)/o.ConvertRate, "the operator's figure")
	}
	if o.DeliverRate > 0 {
		f.Delivery = part(float64(bytes)/o.DeliverRate, "the operator's figure")
	}
	if o.Boot > 0 {
		f.Boot = part(o.Boot.Seconds(), "the operator's figure")
	}
	return f
}

// catchUp is the time for the last pass: what is left of every disk at the rate at which the disk was read.
func (s *State) catchUp(now time.Time) Part {
	if len(s.Workers) == 0 {
		return unknown("nothing was read yet")
	}
	seconds, from := 0.0, "measured by rounds"
	for _, w := range s.Workers {
		gap := w.left(now)
		switch {
		case w.CaughtUp:
			continue
		case w.Full != "" && w.Base == "" && w.Rate > 0:
			gap, from = w.Size, "the whole disk is to be read: "+w.Full
		case gap < 0:
			return unknown("a disk has not made a round yet")
		case w.Rate <= 0:
			return unknown("a disk's rate was not measured yet")
		case w.Whole:
			from = "the gap as measured, at the rate of the first copy: the ranges are read only when the source is off"
		}
		seconds += float64(gap) / w.Rate
		if s.Options.Proved {
			seconds += float64(w.Size) / w.Rate // the source is read once more
		}
	}
	return part(seconds, from)
}

// left is how much of the disk is to be read, in bytes: what was found, and what the guest writes at its rate since. Of a
// round that was applied it is the one or the other, for what was found has been read. -1: not known yet.
func (w *Disk) left(now time.Time) int64 {
	if len(w.Rounds) == 0 || w.Gap < 0 {
		return w.Gap
	}
	last := w.Rounds[len(w.Rounds)-1]
	if last.Taken.IsZero() {
		return w.Gap
	}
	since := int64(w.Written * now.Truncate(reckoned).Sub(last.Taken).Seconds())
	if last.Kind == KindGap {
		return min(w.Gap+max(since, 0), w.Size)
	}
	return min(max(w.Gap, since), w.Size)
}

// reckoned is in what steps a gap is reckoned on, so that a status which says nothing new is not written anew.
const reckoned = 10 * time.Second

// Line is what a list shows of a State.
type Line struct {
	Phase CoordinatorPhase `json:"phase"`
	// Gap is what the last rounds found changed, in bytes, over all disks; -1 while it is not known of one.
	Gap     int64  `json:"gap"`
	Rounds  int    `json:"rounds"` // of the disk that has made the most
	Waiting string `json:"waiting,omitempty"`
}

// Line gives the slim projection.
func (s *State) Line() Line {
	l := Line{Phase: s.Phase, Waiting: s.Waiting, Gap: -1}
	for i, w := range s.Workers {
		l.Rounds = max(l.Rounds, w.Count)
		if i == 0 {
			l.Gap = 0
		}
		if w.Gap < 0 || l.Gap < 0 {
			l.Gap = -1
		} else {
			l.Gap += w.Gap
		}
	}
	return l
}

// Stuck gives the first things to check of every phase that nothing has moved in for longer than its patience. progress is
// when something last moved.
func (s *State) Stuck(now, progress time.Time) (lines []string) {
	late := func(since time.Time, patience time.Duration) bool {
		if progress.After(since) {
			since = progress
		}
		return patience > 0 && now.Sub(since) >= patience
	}
	if r, ok := Coordinator.Row(s.Phase); ok && s.Waiting == "" && late(s.Since, r.Patience) {
		lines = append(lines, string(r.Phase)+": "+r.Stuck)
	}
	for _, w := range s.Workers {
		if r, ok := Worker.Row(w.Phase); ok && w.Queue == 0 && late(w.Since, r.Patience) {
			lines = append(lines, fmt.Sprintf("disk %d %s: %s", w.Index, r.Phase, r.Stuck))
		}
	}
	return lines
}
