package inventory

import (
	tea "charm.land/bubbletea/v2"

	"landfall/engine"
	"landfall/ui/keymap"
	"landfall/ui/pages"
)

// Update takes a key, a paste into the filter, or verdicts that were asked for.
func (p *Page) Update(msg tea.Msg) pages.Action {
	if v, ok := msg.(judged); ok {
		if p.verdicts.take(v) {
			return p.list(true)
		}
		return nil
	}
	if p.field.Focused() {
		return p.typed(msg)
	}
	k, ok := msg.(tea.KeyPressMsg)
	if !ok || p.table.Press(k) {
		return nil
	}
	switch {
	case keymap.Filter.Hit(k):
		p.field.Focus()
	case keymap.Mark.Hit(k):
		p.mark()
	case keymap.Range.Hit(k):
		p.markRange()
	case keymap.MarkAll.Hit(k):
		p.markAll()
	case keymap.Sort.Hit(k):
		p.table.NextSort(false)
		return p.list(true)
	case keymap.Reverse.Hit(k):
		p.table.Desc = !p.table.Desc
		return p.list(true)
	case keymap.Refresh.Hit(k):
		return pages.Refresh{}
	case keymap.Open.Hit(k):
		return p.open()
	case keymap.Check.Hit(k):
		if vms := p.chosen(); len(vms) > 0 {
			return pages.AskPreflight{VMs: vms}
		}
	case keymap.Migrate.Hit(k):
		return p.migrate()
	}
	return nil
}

func (p *Page) typed(msg tea.Msg) pages.Action {
	if k, ok := msg.(tea.KeyPressMsg); ok && keymap.Accept.Hit(k) {
		p.field.Blur()
		return nil
	}
	before := p.field.Value()
	p.field.Update(msg)
	if p.field.Value() == before {
		return nil
	}
	p.filter = parse(p.field.Value())
	return p.list(false)
}

// Back leaves the filter's field, drops the filter, then the marks.
func (p *Page) Back() bool {
	switch {
	case p.field.Focused() || p.field.Value() != "":
		p.field.Set("")
		p.field.Blur()
		p.filter = parse("")
		p.list(true)
	case len(p.marks) > 0:
		clear(p.marks)
		p.lastMark = -1
	default:
		return false
	}
	return true
}

func (p *Page) mark() {
	l, ok := p.current()
	if !ok {
		return
	}
	if p.marks[idOf(l)] {
		delete(p.marks, idOf(l))
	} else {
		p.marks[idOf(l)] = true
	}
	p.lastMark = p.table.Cursor()
	p.table.SetCursor(p.table.Cursor() + 1)
}

func (p *Page) markRange() {
	from, to := p.lastMark, p.table.Cursor()
	if to < 0 {
		return
	}
	if from < 0 || from >= len(p.rows) {
		from = to
	}
	p.lastMark = to
	for row := min(from, to); row <= max(from, to); row++ {
		p.marks[idOf(p.snap.Inventory[p.rows[row]])] = true
	}
}

// markAll marks all listed rows, or takes their marks when all have one.
func (p *Page) markAll() {
	all := true
	for _, i := range p.rows {
		all = all && p.marks[idOf(p.snap.Inventory[i])]
	}
	for _, i := range p.rows {
		if all {
			delete(p.marks, idOf(p.snap.Inventory[i]))
		} else {
			p.marks[idOf(p.snap.Inventory[i])] = true
		}
	}
}

// open shows the VM's migration; where there is none it offers to start one.
func (p *Page) open() pages.Action {
	l, ok := p.current()
	if !ok {
		return nil
	}
	if l.Migration != "" {
		return pages.Open{UID: l.Migration}
	}
	if p.readOnly {
		return pages.AskPreflight{VMs: []engine.Listed{l}}
	}
	return pages.AskPlan{VMs: []engine.Listed{l}}
}

// migrate offers to start migrations, and leaves out what is under way.
func (p *Page) migrate() pages.Action {
	var free []engine.Listed
	busy := 0
	for _, l := range p.chosen() {
		if ph := p.phase(l); l.Migration != "" && !ph.Terminal() {
			busy++
			continue
		}
		free = append(free, l)
	}
	switch {
	case len(free) > 0:
		return pages.AskPlan{VMs: free}
	case busy == 1:
		return pages.Say{Text: "this VM is being migrated already: enter opens it"}
	case busy > 1:
		return pages.Say{Text: "these VMs are being migrated already"}
	}
	return nil
}
