// Package migrations is the page that lists every migration: those that wait for a person first.
package migrations

import (
	"cmp"
	"slices"
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

// Page is the list.
type Page struct {
	readOnly bool
	th       theme.Theme
	now      func() time.Time
	snap     *feed.Snapshot
	table    widget.Table
	field    widget.Field
	rows     []engine.Line
}

// New gives an empty page.
func New(th theme.Theme, now func() time.Time, readOnly bool) *Page {
	p := &Page{th: th, now: now, readOnly: readOnly, snap: &feed.Snapshot{}, field: widget.NewField("/")}
	p.table.Sort = -1
	for _, c := range columns {
		p.table.Columns = append(p.table.Columns, c.Column)
	}
	return p
}

// Theme changes the look.
func (p *Page) Theme(th theme.Theme) { p.th = th }

// Set takes a snapshot; the cursor stays on its migration.
func (p *Page) Set(s *feed.Snapshot) pages.Action {
	p.snap = s
	p.list()
	return nil
}

func (p *Page) list() {
	under, _ := p.current()
	p.rows = p.rows[:0]
	want := strings.ToLower(strings.TrimSpace(p.field.Value()))
	for _, l := range p.snap.Lines {
		if want == "" || strings.Contains(words(l), want) {
			p.rows = append(p.rows, l)
		}
	}
	order := standing
	if c := p.table.Sort; c >= 0 {
		order = columns[c].order
	}
	slices.SortStableFunc(p.rows, func(a, b engine.Line) int {
		n := order(a, b)
		if p.table.Desc {
			n = -n
		}
		return n
	})
	p.table.SetRows(len(p.rows))
	for i, l := range p.rows {
		if l.UID == under.UID {
			p.table.SetCursor(i)
		}
	}
}

// words is what the filter looks in.
func words(l engine.Line) string {
	return strings.ToLower(plaintext.Label(strings.Join([]string{l.VM, l.Name, l.Namespace, l.Target, string(l.Phase), pages.Word(l.Phase)}, " ")))
}

// standing orders by who must act: a person, the engine, the clock, the line; and then what has ended, newest first.
func standing(a, b engine.Line) int {
	sa, sb := pages.StateOf(a), pages.StateOf(b)
	if sa != sb {
		return cmp.Compare(sa, sb)
	}
	switch sa {
	case pages.Queued:
		return cmp.Compare(a.Queue, b.Queue)
	case pages.Done:
		return b.Times.Completed.Compare(a.Times.Completed)
	case pages.Waits, pages.Runs, pages.Rests:
	}
	return a.Created.Compare(b.Created)
}

func (p *Page) current() (engine.Line, bool) {
	if row := p.table.Cursor(); row >= 0 && row < len(p.rows) {
		return p.rows[row], true
	}
	return engine.Line{}, false
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
	switch {
	case keymap.Filter.Hit(k):
		p.field.Focus()
	case keymap.Sort.Hit(k):
		p.table.NextSort(true)
		p.list()
	case keymap.Reverse.Hit(k):
		p.table.Desc = !p.table.Desc
		p.list()
	default:
		if l, ok := p.current(); ok {
			return pages.OnLine(k, p.snap, l)
		}
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

// Selected is the UID of the migration under the cursor: what every verb takes.
func (p *Page) Selected() string {
	l, _ := p.current()
	return plaintext.Label(l.UID)
}

// Keys are the page's own.
func (p *Page) Keys() []keymap.Binding {
	keys := []keymap.Binding{keymap.Open}
	if l, ok := p.current(); ok {
		keys = append(keys, pages.LineKeys(l)...)
	}
	return keymap.Allowed(append(keys, keymap.Filter, keymap.Sort, keymap.Reverse), p.readOnly)
}
