package migration

import (
	tea "charm.land/bubbletea/v2"

	"landfall/ui/keymap"
	"landfall/ui/pages"
)

// Update takes a key, or a paste into the search.
func (p *Page) Update(msg tea.Msg) pages.Action {
	if p.Typing() {
		p.log.Update(msg)
		return nil
	}
	k, ok := msg.(tea.KeyPressMsg)
	if !ok {
		return nil
	}
	switch {
	case keymap.NextPart.Hit(k):
		p.part = (p.part + 1) % parts
		return nil
	case keymap.PrevPart.Hit(k):
		p.part = (p.part + parts - 1) % parts
		return nil
	case p.part == partEvents && p.log.Update(msg):
		return nil
	case p.part != partEvents && p.panes[p.part].Press(k):
		return nil
	case keymap.Search.Hit(k):
		p.part = partEvents
		p.log.Update(msg)
		return nil
	case keymap.Open.Hit(k):
		return nil
	}
	if a, ok := p.order(k); ok {
		return a
	}
	if l, ok := p.line(); ok {
		return pages.OnLine(k, p.snap, l)
	}
	return nil
}
