package preflight

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"charm.land/lipgloss/v2"

	"landfall/engine/plaintext"
	"landfall/engine/preflight"
	"landfall/ui/pages/draft"
	"landfall/ui/widget"
)

var columns = []widget.Column{
	{Title: "LEVEL", Min: 11, Want: 11}, {Title: "SUBJECT", Min: 8, Want: 20, Rank: 1}, {Title: "RULE", Min: 14, Want: 22}, {Title: "FOUND", Min: 16, Want: 30, Flex: true},
}

// View draws the VMs, the findings of the one that is looked at, and the finding under the cursor in full.
func (p *Page) View(width, height int) string {
	it := p.item()
	if it == nil {
		return widget.Block([]string{"", " no VM is chosen: mark some on the inventory and press p"}, width, height, p.th.Glyph.More)
	}
	parts := p.vms(width, min(5, height/4))
	parts = append(parts, " "+p.looked(it))
	if pv := it.Preview(); pv != nil && pv.Failure != "" {
		s := &widget.Sheet{Theme: p.th, Width: width - 2}
		what := "not looked at"
		if len(pv.Findings) > 0 {
			what = "not looked at to the end"
		}
		s.Say(p.th.Bad.Render(p.th.Glyph.Bad+" "+what+": ")+plaintext.Label(pv.Failure), 2)
		if pv.Hint != "" {
			s.Say("Try: "+plaintext.Label(pv.Hint), 2)
		}
		for _, l := range widget.Limit(s.Lines, 4, p.th.Glyph.More) {
			parts = append(parts, " "+l)
		}
	}
	fs := it.Findings()
	room := height - len(parts)
	foot := min(9, room/2)
	if len(fs) == 0 {
		return widget.Block(append(parts, "", " "+p.none(it)), width, height, p.th.Glyph.More)
	}
	p.list.Columns, p.list.Sort = columns, -1
	p.list.SetRows(len(fs))
	cell := func(row, col int) string { return p.cell(it, fs[row], col) }
	table := p.list.View(p.th, width, max(1, room-foot), cell, nil)
	lines := append(parts, strings.Split(table, "\n")...)
	return widget.Block(append(lines, p.detail(it, fs[max(0, p.list.Cursor())], width, foot)...), width, height, p.th.Glyph.More)
}

func (p *Page) none(it *draft.Item) string {
	switch pv := it.Preview(); {
	case pv != nil && pv.Failure == "":
		return p.th.Good.Render(p.th.Glyph.Done) + " nothing stands in the way"
	case it.Pending() && p.alive:
		return "the engine is looking at it" + p.th.Glyph.More
	case it.Pending():
		return "it will be looked at when an engine runs"
	case pv == nil:
		return "it was not looked at yet"
	}
	return ""
}

// vms lists several VMs with how many findings are open, around the one that is shown.
func (p *Page) vms(width, room int) []string {
	all := p.set.Items
	if len(all) == 1 {
		it := &all[0]
		return []string{widget.Fit(" "+p.th.Bold.Render(plaintext.Label(it.VM.VM.Name))+" "+p.th.Glyph.Arrow+" "+
			plaintext.Label(it.Document.Spec.Destination.Namespace+"/"+it.Name())+"  "+p.counts(it), width, p.th.Glyph.More)}
	}
	room = max(1, min(room, len(all)))
	from := max(0, min(p.at-room/2, len(all)-room))
	out := []string{" " + p.th.Bold.Render(fmt.Sprintf("VM %s of %s", widget.Thousands(p.at+1), widget.Thousands(len(all))))}
	for i := from; i < from+room; i++ {
		it := &all[i]
		name := widget.Fit(plaintext.Label(it.VM.VM.Name), min(28, width/3), p.th.Glyph.More)
		sign := "  "
		if i == p.at {
			sign, name = p.th.Glyph.Cursor+" ", p.th.Chosen.Render(name)
		}
		out = append(out, widget.Fit(sign+name+" "+p.counts(it), width, p.th.Glyph.More))
	}
	return out
}

func (p *Page) counts(it *draft.Item) string {
	sign, style, text := Verdict(it)
	switch style {
	case preflight.Blocker:
		return p.th.Bad.Render(p.th.Glyph.Bad + " " + text)
	case preflight.Decide, preflight.Warning:
		g := p.th.Glyph.Ask
		if style == preflight.Warning {
			g = p.th.Glyph.Warn
		}
		return p.th.Warn.Render(g + " " + text)
	}
	if sign {
		return p.th.Good.Render(p.th.Glyph.Done + " " + text)
	}
	return p.th.Muted.Render(text)
}

// Verdict says how a VM stands in words, how its worst open finding weighs, and whether it was looked at.
func Verdict(it *draft.Item) (known bool, worst preflight.Level, text string) {
	pv := it.Preview()
	var parts []string
	for _, l := range []struct {
		level     preflight.Level
		one, many string
	}{{preflight.Blocker, "blocker", "blockers"}, {preflight.Decide, "decision", "decisions"}, {preflight.Warning, "warning", "warnings"}} {
		if n := it.Count(l.level); n > 0 {
			parts = append(parts, widget.Count(n, l.one, l.many))
			if worst == "" {
				worst = l.level
			}
		}
	}
	switch {
	case pv == nil && it.Pending():
		parts = append(parts, "being looked at")
	case pv == nil:
		parts = append(parts, "not looked at")
	case pv.Failure != "" && worst == preflight.Blocker: // which says why
	case pv.Failure != "":
		parts = append(parts, "the look failed")
		worst = preflight.Decide
	case len(parts) == 0:
		return true, "", "ready"
	}
	return pv != nil, worst, strings.Join(parts, ", ")
}

// looked says when each part was looked at, and whether that is old.
func (p *Page) looked(it *draft.Item) string {
	pv := it.Preview()
	if pv == nil {
		return p.th.Muted.Render("not looked at yet")
	}
	now := p.now()
	var s []string
	last := ""
	for _, part := range slices.Sorted(maps.Keys(pv.Looked)) {
		age := widget.Since(pv.Looked[part], now)
		if whole, _, ok := strings.Cut(part, "/"); ok && age == widget.Since(pv.Looked[whole], now) {
			continue // as old as the whole that it is a part of
		}
		if n := len(s); age == last {
			s[n-1] = strings.TrimSuffix(s[n-1], " "+age+" ago")
		}
		s, last = append(s, plaintext.Label(part)+" "+age+" ago"), age
	}
	text := "looked at: " + strings.Join(s, ", ")
	if len(s) == 0 {
		text = "looked at " + widget.Since(pv.Taken, now) + " ago"
	}
	switch {
	case it.Pending() && p.alive:
		return p.th.Muted.Render(text) + "  looking again" + p.th.Glyph.More
	case it.Pending():
		return p.th.Muted.Render(text) + "  " + p.th.Warn.Render("no engine looks again")
	case it.Stale(now):
		return p.th.Warn.Render(p.th.Glyph.Warn+" "+text) + "  stale: r looks again"
	}
	return p.th.Muted.Render(text)
}

func (p *Page) cell(it *draft.Item, f preflight.Finding, col int) string {
	switch col {
	case 0:
		return p.level(it, f)
	case 1:
		return plaintext.Label(f.Subject)
	case 2:
		return plaintext.Label(f.Rule)
	}
	return plaintext.Label(f.Found)
}

func (p *Page) level(it *draft.Item, f preflight.Finding) string {
	if a, ok := it.Answer(f); ok {
		word := "accepted"
		if a.Answer == "fix" {
			word = "to fix"
		}
		return p.th.Good.Render(p.th.Glyph.Done + " " + word)
	}
	glyph, style := p.sign(f.Level)
	return style.Render(glyph + " " + string(f.Level))
}

func (p *Page) sign(l preflight.Level) (string, lipgloss.Style) {
	switch l {
	case preflight.Blocker:
		return p.th.Glyph.Bad, p.th.Bad
	case preflight.Decide:
		return p.th.Glyph.Ask, p.th.Warn
	case preflight.Warning:
		return p.th.Glyph.Warn, p.th.Warn
	case preflight.Info:
	}
	return p.th.Glyph.Todo, p.th.Muted
}

func (p *Page) detail(it *draft.Item, f preflight.Finding, width, room int) []string {
	s := &widget.Sheet{Theme: p.th, Width: width - 1, Label: 7}
	found := plaintext.Label(f.Found)
	if f.Unchecked {
		found = "could not be checked: " + found
	}
	s.Row("found", plaintext.Label(f.Subject)+": "+found)
	s.Row("why", plaintext.Label(f.Why))
	s.Row("fix", plaintext.Label(f.Fix))
	if r := f.Remedy; r != nil {
		s.Row("engine", p.th.Key.Render("x")+" "+plaintext.Label(r.Label)+": "+plaintext.Label(r.Effect))
	}
	if a, ok := it.Answer(f); ok {
		s.Row("answer", plaintext.Label(strings.TrimSpace(a.Answer+" "+a.Choice))+", kept with the document; who and when is recorded at the start")
	}
	lines := []string{p.th.Border.Render(strings.Repeat(p.th.Glyph.Rule, width))}
	for _, l := range widget.Limit(s.Lines, room-1, p.th.Glyph.More) {
		lines = append(lines, " "+l)
	}
	return lines
}
