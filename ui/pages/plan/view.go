package plan

import (
	"fmt"
	"strings"
	"time"

	"landfall/engine"
	"landfall/engine/plaintext"
	"landfall/engine/preflight"
	"landfall/ui/pages/draft"
	check "landfall/ui/pages/preflight"
	"landfall/ui/widget"
)

// beside is the width from which on the form and what it leads to stand side by side.
const beside = 110

var columns = []widget.Column{{Title: "WHAT", Min: 18, Want: 26}, {Title: "VALUE", Min: 20, Want: 30, Flex: true}}

// View draws the form, and beside it or instead of it the estimate and the YAML.
func (p *Page) View(width, height int) string {
	if len(p.set.Items) == 0 {
		return widget.Block([]string{"", " no VM is chosen: mark some on the inventory and press m"}, width, height, p.th.Glyph.More)
	}
	head := widget.Fit(" "+p.th.Bold.Render(p.what())+"  "+p.state(), width, p.th.Glyph.More)
	height--
	if width < beside {
		if p.side == 1 {
			return head + "\n" + p.lead(width, height)
		}
		cost := widget.Fit(" "+p.th.Muted.Render(p.cost()), width, p.th.Glyph.More)
		return head + "\n" + cost + "\n" + p.form(width, height-1)
	}
	left := width/2 - 1
	form, lead := strings.Split(p.form(left, height), "\n"), strings.Split(p.lead(width-left-2, height), "\n")
	for i := range form {
		bar := p.th.Border.Render("|")
		if p.side == 1 {
			bar = p.th.Key.Render(p.th.Glyph.Cursor)
		}
		form[i] += " " + bar + lead[i]
	}
	return head + "\n" + strings.Join(form, "\n")
}

func (p *Page) what() string {
	if len(p.set.Items) == 1 {
		return "Plan of " + plaintext.Label(p.set.Items[0].VM.VM.Name)
	}
	return "Plan of " + widget.Count(len(p.set.Items), "VM", "VMs")
}

// state counts the VMs by how they stand.
func (p *Page) state() string {
	var ready, open, blocked, pending int
	for i := range p.set.Items {
		it := &p.set.Items[i]
		switch {
		case it.Count(preflight.Blocker) > 0:
			blocked++
		case it.Pending() || it.Preview() == nil || it.Changed:
			pending++
		case it.Count(preflight.Decide) > 0 || it.Preview().Failure != "":
			open++
		default:
			ready++
		}
	}
	var s []string
	for _, c := range []struct {
		n    int
		text string
	}{{blocked, p.th.Bad.Render(p.th.Glyph.Bad) + " %d blocked"}, {open, p.th.Warn.Render(p.th.Glyph.Ask) + " %d to decide"},
		{pending, p.th.Glyph.Rest + " %d not looked at"}, {ready, p.th.Good.Render(p.th.Glyph.Done) + " %d ready"}} {
		if c.n > 0 {
			s = append(s, fmt.Sprintf(c.text, c.n))
		}
	}
	return strings.Join(s, "  ")
}

func (p *Page) form(width, height int) string {
	p.list.Columns = columns
	cell := func(row, col int) string {
		switch {
		case row == 0 && col == 0:
			return p.th.Key.Render("[ Start ]")
		case row == 0:
			return p.th.Muted.Render("asks before it does")
		case row <= len(p.fields):
			f := p.fields[row-1]
			if col == 0 {
				return p.th.Muted.Render(plaintext.Label(f.label))
			}
			switch {
			case f.value == "":
				return p.th.Muted.Render(f.none())
			case f.unit != "" && f.value != differs:
				return plaintext.Label(f.value) + " " + f.unit
			}
			return plaintext.Label(f.value)
		}
		it := &p.set.Items[row-1-len(p.fields)]
		if col == 0 {
			return "VM " + plaintext.Label(it.VM.VM.Name)
		}
		return p.th.Glyph.Arrow + " " + plaintext.Label(it.Name()) + "  " + p.verdict(it)
	}
	return p.list.View(p.th, width, height, cell, nil)
}

// none says what an empty value means.
func (f field) none() string {
	switch {
	case strings.HasPrefix(f.label, "ds "), strings.HasPrefix(f.label, "net "):
		return "no mapping"
	case f.label == "checks":
		return "none besides that it runs"
	}
	return "not set"
}

func (p *Page) verdict(it *draft.Item) string {
	_, level, text := check.Verdict(it)
	switch level {
	case preflight.Blocker:
		return p.th.Bad.Render(p.th.Glyph.Bad + " " + text)
	case preflight.Decide:
		return p.th.Warn.Render(p.th.Glyph.Ask + " " + text)
	case preflight.Warning, preflight.Info:
	}
	return p.th.Muted.Render(text)
}

// total adds the estimates; known is of how many VMs there is one.
func (p *Page) total() (sum engine.Estimate, known int) {
	for i := range p.set.Items {
		pv := p.set.Items[i].Preview()
		if pv == nil || pv.Estimate == nil {
			continue
		}
		e := pv.Estimate
		known++
		sum.Capacity += e.Capacity
		sum.Read += e.Read
		sum.Copy += e.Copy
		sum.Deliver += e.Deliver
		sum.Boot = max(sum.Boot, e.Boot)
		sum.Downtime = max(sum.Downtime, e.Downtime)
		sum.Shutdown = max(sum.Shutdown, e.Shutdown)
		if known == 1 {
			sum.Rate, sum.RateFrom = e.Rate, e.RateFrom
		} else if sum.Rate != e.Rate {
			sum.Rate, sum.RateFrom = min(sum.Rate, e.Rate), "the slowest of them"
		}
	}
	return sum, known
}

func span(seconds float64) string { return widget.Span(time.Duration(seconds * float64(time.Second))) }

func (p *Page) cost() string {
	e, known := p.total()
	if known == 0 {
		return "no estimate yet"
	}
	s := fmt.Sprintf("%s to read of %s at %s; off for about %s", widget.Bytes(e.Read), widget.Bytes(e.Capacity), widget.Rate(e.Rate), span(e.Downtime))
	if n := len(p.set.Items); n > 1 {
		s += " at most each"
		if known < n {
			s += fmt.Sprintf(" (%d of %d VMs)", known, n)
		}
	}
	return s
}

// lead is what the plan leads to: the estimate in full, then what would be created for the VM that is looked at.
func (p *Page) lead(width, height int) string {
	s := &widget.Sheet{Theme: p.th, Width: width - 2, Label: 9}
	e, known := p.total()
	if known == 0 {
		s.Row("estimate", "none yet: the engine looks first")
	} else {
		n := len(p.set.Items)
		of := ""
		if known < n {
			of = fmt.Sprintf(", of %d of %d VMs", known, n)
		}
		s.Row("read", widget.Bytes(e.Read)+" at most, of "+widget.Bytes(e.Capacity)+of)
		s.Row("rate", widget.Rate(e.Rate)+", "+plaintext.Label(e.RateFrom))
		each, one := "", ""
		if n > 1 {
			each, one = "the longest ", ", all one after the other"
		}
		if e.Shutdown > 0 {
			s.Row("shutdown", each+"up to "+span(e.Shutdown)+" before")
		}
		s.Row("copy", span(e.Copy)+", then delivery "+span(e.Deliver)+one)
		s.Row("downtime", each+"about "+span(e.Downtime)+", with "+span(e.Boot)+" to boot")
	}
	it := &p.set.Items[p.vm]
	pv := it.Preview()
	s.Head("What would be created for " + plaintext.Label(it.VM.VM.Name))
	switch {
	case pv == nil:
		s.Say("not looked at yet", 0)
	case it.Stale(p.now()):
		s.Say(p.th.Warn.Render(p.th.Glyph.Warn+" stale: of the plan as it was, or long ago; r looks again"), 0)
	case pv.Rehearsed:
		s.Say(p.th.Good.Render(p.th.Glyph.Done)+" the cluster would take all of it", 0)
	}
	if pv != nil {
		if pv.Failure != "" {
			s.Say(p.th.Bad.Render(p.th.Glyph.Bad+" ")+plaintext.Label(pv.Failure), 2)
			s.Say(plaintext.Label(pv.Hint), 2)
		}
		for _, n := range pv.Notes {
			s.Say(p.th.Glyph.Dot+" "+plaintext.Label(n), 2)
		}
		for l := range strings.SplitSeq(pv.Manifest, "\n") {
			s.Line(plaintext.Label(l))
		}
	}
	for i, l := range s.Lines {
		s.Lines[i] = " " + l
	}
	return p.pane.View(p.th, s.Lines, width, height)
}
