package migrations

import (
	"fmt"
	"strings"

	"landfall/engine"
	"landfall/engine/plaintext"
	"landfall/ui/pages"
	"landfall/ui/widget"
)

// View draws the counts, the table, and why the migration under the cursor stands where it does.
func (p *Page) View(width, height int) string {
	parts := []string{p.top(width)}
	left := height - 1
	if len(p.snap.Lines) == 0 {
		text := "No migration yet. On the inventory (1), m migrates the VM under the cursor."
		return parts[0] + "\n" + widget.Block(append([]string{""}, indent(widget.Fold(text, width-2))...), width, left, p.th.Glyph.More)
	}
	foot := 0
	if left >= 9 {
		foot = 4
	}
	now := p.now()
	cell := func(row, col int) string { return columns[col].text(p, p.rows[row], barWidth+5, now) }
	parts = append(parts, p.table.View(p.th, width, left-foot, cell, nil))
	if foot > 0 {
		parts = append(parts, widget.Block(p.foot(width, foot), width, foot, p.th.Glyph.More))
	}
	return strings.Join(parts, "\n")
}

func (p *Page) top(width int) string {
	if p.field.Focused() {
		return widget.Fit(" "+p.field.View(), width, p.th.Glyph.More)
	}
	names := []string{"need a person", "running", "retrying", "queued", "ended"}
	counts := make([]int, len(names))
	for _, l := range p.snap.Lines {
		counts[pages.StateOf(l)]++
	}
	var s []string
	for i, n := range counts {
		if n == 0 {
			continue
		}
		word := fmt.Sprintf("%d %s", n, names[i])
		if pages.State(i) == pages.Waits {
			word = p.th.Warn.Render(p.th.Glyph.Ask + " " + word)
		}
		s = append(s, word)
	}
	if len(s) == 0 {
		s = []string{"no migrations"}
	}
	if v := p.field.Value(); v != "" {
		s = append(s, "/"+v+" shows "+widget.Thousands(len(p.rows)))
	}
	return widget.Fit(" "+strings.Join(s, " "+p.th.Glyph.Dot+" "), width, p.th.Glyph.More)
}

func (p *Page) foot(width, height int) []string {
	out := []string{p.th.Border.Render(strings.Repeat(p.th.Glyph.Rule, width))}
	l, ok := p.current()
	if !ok {
		return append(out, " "+p.th.Muted.Render("no migration is like that; esc drops the filter"))
	}
	out = append(out, " "+p.th.Muted.Render("to ")+pages.Target(l)+p.th.Muted.Render("  from ")+plaintext.Label(l.Source+" "+l.Ref.String())+
		p.th.Muted.Render("  id ")+pages.Short(l.UID))
	return append(out, widget.Limit(indent(widget.Fold(p.why(l), width-2)), height-2, p.th.Glyph.More)...)
}

// why says what keeps a migration where it is.
func (p *Page) why(l engine.Line) string {
	switch stuck := l.Stuck(p.now()); {
	case l.Questions > 0:
		s := p.th.Warn.Render(widget.Count(l.Questions, "decision waits", "decisions wait") + ":")
		for _, d := range p.snap.Questions(l.UID) {
			s += " " + plaintext.Label(d.Question)
		}
		return s
	case stuck != "":
		return p.th.Warn.Render("nothing moved for "+widget.Age(p.now().Sub(l.Progress))+", check:") + " " + stuck
	case l.Message != "":
		return plaintext.Label(strings.TrimPrefix(l.Reason+": ", ": ") + l.Message)
	case l.Want == engine.WantCancel && !l.Phase.Terminal():
		return "cancelling was asked for"
	}
	if r, ok := engine.RowOf(l.Phase); ok {
		return p.th.Muted.Render("goal: ") + r.Goal
	}
	return ""
}

func indent(lines []string) []string {
	for i := range lines {
		lines[i] = " " + lines[i]
	}
	return lines
}
