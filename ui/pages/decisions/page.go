// Package decisions is the queue of what people are asked, over all migrations.
package decisions

import (
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"landfall/engine"
	"landfall/engine/plaintext"
	"landfall/ui/feed"
	"landfall/ui/keymap"
	"landfall/ui/pages"
	"landfall/ui/theme"
	"landfall/ui/widget"
)

// Page is the queue, oldest first.
type Page struct {
	readOnly bool
	th       theme.Theme
	now      func() time.Time
	snap     *feed.Snapshot
	table    widget.Table
	field    widget.Field
	rows     []engine.Decision
}

var columns = []widget.Column{
	{Title: "VM", Min: 14, Want: 24},
	{Title: "PHASE", Min: 11, Want: 11, Rank: 1},
	{Title: "WAITS", Min: 5, Want: 5, Right: true},
	{Title: "QUESTION", Min: 20, Want: 40, Flex: true},
}

// New gives an empty page.
func New(th theme.Theme, now func() time.Time, readOnly bool) *Page {
	return &Page{th: th, now: now, readOnly: readOnly, snap: &feed.Snapshot{}, field: widget.NewField("/"),
		table: widget.Table{Columns: columns, Sort: -1}}
}

// Theme changes the look.
func (p *Page) Theme(th theme.Theme) { p.th = th }

// Set takes a snapshot; the cursor stays on its decision.
func (p *Page) Set(s *feed.Snapshot) pages.Action {
	p.snap = s
	p.list()
	return nil
}

func (p *Page) list() {
	under, _ := p.current()
	want := strings.ToLower(strings.TrimSpace(p.field.Value()))
	p.rows = p.rows[:0]
	for _, d := range p.snap.Waiting {
		if want == "" || strings.Contains(strings.ToLower(p.vm(d)+" "+plaintext.Label(d.Question)+" "+string(d.Phase)), want) {
			p.rows = append(p.rows, d)
		}
	}
	p.table.SetRows(len(p.rows))
	for i, d := range p.rows {
		if d.ID == under.ID {
			p.table.SetCursor(i)
		}
	}
}

func (p *Page) current() (engine.Decision, bool) {
	if row := p.table.Cursor(); row >= 0 && row < len(p.rows) {
		return p.rows[row], true
	}
	return engine.Decision{}, false
}

// vm names the VM that a decision is about.
func (p *Page) vm(d engine.Decision) string {
	if l, ok := p.snap.Line(d.Migration); ok {
		return plaintext.Label(l.VM)
	}
	return plaintext.Label(d.Migration)
}

// Update takes a key or a paste into the filter.
func (p *Page) Update(msg tea.Msg) pages.Action {
	k, isKey := msg.(tea.KeyPressMsg)
	if p.field.Focused() {
		if isKey && keymap.Accept.Hit(k) {
			p.field.Blur()
			return nil
		}
		p.field.Update(msg)
		p.list()
		return nil
	}
	if !isKey || p.table.Press(k) {
		return nil
	}
	if keymap.Filter.Hit(k) {
		p.field.Focus()
		return nil
	}
	d, ok := p.current()
	switch {
	case !ok:
	case keymap.Answer.Hit(k):
		return pages.AskDecision{Decision: d}
	case keymap.Open.Hit(k):
		return pages.Open{UID: d.Migration}
	}
	return nil
}

// Back drops the filter.
func (p *Page) Back() bool {
	if !p.field.Focused() && p.field.Value() == "" {
		return false
	}
	p.field.Set("")
	p.field.Blur()
	p.list()
	return true
}

// Typing tells whether keys go to the filter.
func (p *Page) Typing() bool { return p.field.Focused() }

// Selected is the decision's ID.
func (p *Page) Selected() string {
	d, _ := p.current()
	return plaintext.Label(d.ID)
}

// Keys are the page's own.
func (p *Page) Keys() []keymap.Binding {
	if len(p.snap.Waiting) == 0 {
		return nil
	}
	return keymap.Allowed(keymap.OnDecisions.Bindings, p.readOnly)
}
