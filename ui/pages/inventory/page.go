// Package inventory is the page that lists every VM of the sources. It reads snapshots and knows no source.
package inventory

import (
	"slices"

	"landfall/engine"
	"landfall/engine/plaintext"
	"landfall/ui/feed"
	"landfall/ui/keymap"
	"landfall/ui/pages"
	"landfall/ui/theme"
	"landfall/ui/widget"
)

// id names a VM for good.
type id struct{ endpoint, moref, uuid string }

func idOf(l engine.Listed) id {
	return id{l.Endpoint, l.VM.Ref.MoRef, l.VM.Ref.InstanceUUID}
}

// Page is the inventory.
type Page struct {
	readOnly bool
	noSource string
	th       theme.Theme
	snap     *feed.Snapshot
	listing  int
	lines    map[string]engine.Line // migrations by UID

	table    widget.Table
	field    widget.Field
	filter   filter
	rows     []int // indexes into the inventory, as listed
	marks    map[id]bool
	lastMark int // row of the last mark, -1
	verdicts verdicts
	drafts   []string // keys of the drafts, by the inventory
}

// New gives an empty page. noSource is said while no source is known.
func New(th theme.Theme, verdict pages.Verdict, readOnly bool, noSource string) *Page {
	p := &Page{
		th: th, readOnly: readOnly, noSource: noSource, snap: &feed.Snapshot{}, field: widget.NewField("/"),
		marks: map[id]bool{}, lastMark: -1, verdicts: verdicts{judge: verdict}, filter: parse(""),
	}
	p.table.Columns = make([]widget.Column, len(columns))
	for i, c := range columns {
		p.table.Columns[i] = c.Column
	}
	return p
}

// Theme changes the look.
func (p *Page) Theme(th theme.Theme) { p.th = th }

// Set takes a snapshot. The rows are found anew only when the VMs changed, or what they are ordered or chosen by did.
func (p *Page) Set(s *feed.Snapshot) pages.Action {
	under, had := p.under() // of the old inventory
	p.snap = s
	p.lines = make(map[string]engine.Line, len(s.Lines))
	for _, l := range s.Lines {
		p.lines[l.UID] = l
	}
	if s.Listing != p.listing {
		p.listing = s.Listing
		p.verdicts.reset(s.Listing, len(s.Inventory))
		p.nameDrafts()
		return p.order(under, had)
	}
	if len(s.Drafts) > 0 && (p.filter.verdicts() || (p.table.Sort >= 0 && columns[p.table.Sort].judges)) {
		return p.list(true)
	}
	if p.filter.migrations() || (p.table.Sort >= 0 && columns[p.table.Sort].moves) {
		return p.list(true)
	}
	return nil
}

// list chooses and orders the rows; the cursor stays on its VM where keep says so.
func (p *Page) list(keep bool) pages.Action {
	under, had := p.under()
	if !keep {
		p.table.SetCursor(0)
	}
	return p.order(under, had && keep)
}

// order does so, with the cursor on the VM named under where keep says so.
func (p *Page) order(under id, keep bool) pages.Action {
	p.rows = p.rows[:0]
	for i := range p.snap.Inventory {
		if p.filter.takes(p, i) {
			p.rows = append(p.rows, i)
		}
	}
	if c := p.table.Sort; c >= 0 && c < len(columns) {
		slices.SortStableFunc(p.rows, func(a, b int) int {
			n := columns[c].order(p, a, b)
			if p.table.Desc {
				n = -n
			}
			return n
		})
	}
	p.filter.rank(p)
	p.table.SetRows(len(p.rows))
	p.lastMark = -1
	if keep {
		for row, i := range p.rows {
			if idOf(p.snap.Inventory[i]) == under {
				p.table.SetCursor(row)
				break
			}
		}
	}
	if p.filter.verdicts() || (p.table.Sort >= 0 && columns[p.table.Sort].judges) {
		return p.verdicts.all(p.snap.Inventory)
	}
	return nil
}

// under gives the VM under the cursor, as it was when the rows were made.
func (p *Page) under() (id, bool) {
	l, ok := p.current()
	return idOf(l), ok
}

func (p *Page) current() (engine.Listed, bool) {
	row := p.table.Cursor()
	if row < 0 || row >= len(p.rows) || p.rows[row] >= len(p.snap.Inventory) {
		return engine.Listed{}, false
	}
	return p.snap.Inventory[p.rows[row]], true
}

// phase is a VM's migration as it is now.
func (p *Page) phase(l engine.Listed) engine.Phase {
	if line, ok := p.lines[l.Migration]; ok && l.Migration != "" {
		return line.Phase
	}
	return l.Phase
}

// chosen gives the marked VMs, else the one under the cursor.
func (p *Page) chosen() []engine.Listed {
	var out []engine.Listed
	for _, l := range p.snap.Inventory {
		if p.marks[idOf(l)] {
			out = append(out, l)
		}
	}
	if l, ok := p.current(); len(out) == 0 && ok {
		out = append(out, l)
	}
	return out
}

// Typing tells whether keys go to the filter.
func (p *Page) Typing() bool { return p.field.Focused() }

// Selected is the name of the VM under the cursor.
func (p *Page) Selected() string {
	if l, ok := p.current(); ok {
		return plaintext.Label(l.VM.Name)
	}
	return ""
}

// Keys are the page's own.
func (p *Page) Keys() []keymap.Binding {
	return keymap.Allowed([]keymap.Binding{keymap.Migrate, keymap.Check, keymap.Filter, keymap.Mark, keymap.Open, keymap.Sort, keymap.Refresh, keymap.Reverse, keymap.Range, keymap.MarkAll}, p.readOnly)
}
