package migrations

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"landfall/engine"
	"landfall/engine/plaintext"
	"landfall/ui/pages"
	"landfall/ui/widget"
)

type column struct {
	widget.Column
	text  func(p *Page, l engine.Line, width int, now time.Time) string
	order func(a, b engine.Line) int
}

const barWidth = 8

var columns = []column{
	{Column: widget.Column{Title: "VM", Min: 15, Want: 28, Flex: true},
		text: func(p *Page, l engine.Line, _ int, _ time.Time) string {
			glyph, style := pages.Sign(p.th, l)
			return style.Render(glyph) + " " + plaintext.Label(l.VM)
		},
		order: by(func(l engine.Line) string { return strings.ToLower(l.VM) })},
	{Column: widget.Column{Title: "PHASE", Min: 12, Want: 12},
		text: func(p *Page, l engine.Line, _ int, _ time.Time) string {
			_, style := pages.Sign(p.th, l)
			return style.Render(pages.Word(l.Phase))
		},
		order: by(func(l engine.Line) string { return string(l.Phase) })},
	{Column: widget.Column{Title: "PROGRESS", Min: barWidth + 5, Want: barWidth + 5},
		text: progress,
		order: by(func(l engine.Line) int {
			return widget.Percent(l.Done, l.Total)
		})},
	{Column: widget.Column{Title: "RATE", Min: 9, Want: 10, Right: true, Rank: 2},
		text: func(_ *Page, l engine.Line, _ int, _ time.Time) string {
			if pages.StateOf(l) == pages.Done {
				return ""
			}
			return widget.Rate(l.Rate)
		},
		order: by(func(l engine.Line) float64 { return l.Rate })},
	{Column: widget.Column{Title: "ETA", Min: 7, Want: 7, Right: true, Rank: 1},
		text:  eta,
		order: by(func(l engine.Line) float64 { return l.ETA })},
	{Column: widget.Column{Title: "DOWN", Min: 6, Want: 7, Right: true, Rank: 1},
		text:  func(_ *Page, l engine.Line, _ int, now time.Time) string { return pages.Downtime(l.Times, now) },
		order: func(a, b engine.Line) int { return a.Times.SourcePoweredOff.Compare(b.Times.SourcePoweredOff) }},
	{Column: widget.Column{Title: "SINCE", Min: 5, Want: 5, Right: true},
		text:  func(_ *Page, l engine.Line, _ int, now time.Time) string { return widget.Since(l.Since, now) },
		order: func(a, b engine.Line) int { return b.Since.Compare(a.Since) }},
	{Column: widget.Column{Title: "TARGET", Min: 14, Want: 30, Rank: 3},
		text:  func(_ *Page, l engine.Line, _ int, _ time.Time) string { return pages.Target(l) },
		order: by(func(l engine.Line) string { return l.Namespace + "/" + l.Target })},
}

func by[T cmp.Ordered](of func(l engine.Line) T) func(a, b engine.Line) int {
	return func(a, b engine.Line) int { return cmp.Compare(of(a), of(b)) }
}

func progress(p *Page, l engine.Line, width int, _ time.Time) string {
	switch pages.StateOf(l) {
	case pages.Queued:
		return p.th.Muted.Render(fmt.Sprintf("place %d", l.Queue))
	case pages.Done:
		return ""
	case pages.Waits, pages.Runs, pages.Rests:
	}
	n := widget.Percent(l.Done, l.Total)
	if n < 0 {
		return ""
	}
	return widget.Bar(p.th, l.Done, l.Total, max(1, width-5)) + fmt.Sprintf(" %3d%%", n)
}

func eta(_ *Page, l engine.Line, _ int, now time.Time) string {
	switch s := pages.StateOf(l); {
	case s == pages.Rests && l.NotUntil.After(now):
		return "in " + widget.Age(l.NotUntil.Sub(now))
	case s != pages.Runs || l.Total == 0:
		return ""
	}
	return widget.ETA(l.ETA)
}
