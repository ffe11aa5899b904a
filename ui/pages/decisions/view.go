package decisions

import (
	"fmt"
	"strings"

	"landfall/engine"
	"landfall/engine/plaintext"
	"landfall/ui/pages"
	"landfall/ui/widget"
)

// View draws the queue, and the decision under the cursor in full.
func (p *Page) View(width, height int) string {
	top := widget.Count(len(p.snap.Waiting), "decision waits", "decisions wait")
	if p.field.Focused() {
		top = p.field.View()
	} else if v := p.field.Value(); v != "" {
		top += " " + p.th.Glyph.Dot + " /" + v + " shows " + widget.Thousands(len(p.rows))
	}
	head := widget.Fit(" "+top, width, p.th.Glyph.More)
	height--
	if len(p.snap.Waiting) == 0 {
		return head + "\n" + widget.Block(pad(append([]string{"", "No question waits for an answer."}, p.resting(width-2)...)), width, height, p.th.Glyph.More)
	}
	list := height
	if height >= 9 {
		list = max(3, min(len(p.rows)+1, height/3))
	}
	now := p.now()
	cell := func(row, col int) string {
		d := p.rows[row]
		switch col {
		case 0:
			return p.th.Warn.Render(p.th.Glyph.Ask) + " " + p.vm(d)
		case 1:
			return pages.Word(d.Phase)
		case 2:
			return widget.Since(d.Opened, now)
		}
		return plaintext.Label(d.Question)
	}
	out := head + "\n" + p.table.View(p.th, width, list, cell, nil)
	if height > list {
		out += "\n" + widget.Block(p.detail(width), width, height-list, p.th.Glyph.More)
	}
	return out
}

// resting tells of what waits for a person without a question: something must be mended first.
func (p *Page) resting(width int) []string {
	n := 0
	for _, l := range p.snap.Lines {
		if l.Phase == engine.ManualInterventionRequired && l.Questions == 0 {
			n++
		}
	}
	if n == 0 {
		return nil
	}
	text := widget.Count(n, "migration rests", "migrations rest") + " until a person mended something; 2 lists what."
	return append([]string{""}, widget.Fold(p.th.Warn.Render(p.th.Glyph.Ask)+" "+text, width)...)
}

func (p *Page) detail(width int) []string {
	s := &widget.Sheet{Theme: p.th, Width: width - 2, Label: 9}
	s.Line(p.th.Border.Render(strings.Repeat(p.th.Glyph.Rule, max(0, width-2))))
	d, ok := p.current()
	if !ok {
		s.Line(p.th.Muted.Render("no decision is like that; esc drops the filter"))
		return pad(s.Lines)
	}
	s.Say(p.th.Bold.Render(plaintext.Label(d.Question)), 0)
	s.Row("about", p.vm(d)+about(d))
	s.Row("why", plaintext.Label(d.Why))
	s.Row("value", plaintext.Label(d.Value))
	s.Row("asked", widget.Clock(d.Opened, p.now())+", "+widget.Since(d.Opened, p.now())+" ago")
	for i, o := range d.Options {
		text := p.th.Bold.Render(plaintext.Label(o.Label))
		if o.Dangerous {
			text += p.th.Bad.Render(" " + p.th.Glyph.Warn + " cannot be undone")
		}
		s.Row(fmt.Sprintf("option %d", i+1), text+p.th.Muted.Render(": ")+plaintext.Label(o.Effect))
	}
	return pad(s.Lines)
}

func about(d engine.Decision) string {
	if d.Subject == "" {
		return ""
	}
	return ", " + plaintext.Label(d.Subject)
}

func pad(lines []string) []string {
	for i := range lines {
		lines[i] = " " + lines[i]
	}
	return lines
}
