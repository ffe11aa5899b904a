// Package help is the page that tells every key, from the bindings themselves.
package help

import (
	"slices"

	tea "charm.land/bubbletea/v2"

	"landfall/ui/feed"
	"landfall/ui/keymap"
	"landfall/ui/pages"
	"landfall/ui/theme"
	"landfall/ui/widget"
)

// Page is the help.
type Page struct {
	readOnly bool
	th       theme.Theme
	pane     widget.Pane
	first    string // the group of the page that it was opened on
}

// New gives the page.
func New(th theme.Theme, readOnly bool) *Page { return &Page{th: th, readOnly: readOnly} }

// Show puts the keys of the page that one comes from first.
func (p *Page) Show(group string) {
	p.first = group
	p.pane.Reset()
}

// Theme changes the look.
func (p *Page) Theme(th theme.Theme) { p.th = th }

// Set takes a snapshot: the help does not depend on it.
func (p *Page) Set(*feed.Snapshot) pages.Action { return nil }

// Update scrolls.
func (p *Page) Update(msg tea.Msg) pages.Action {
	if k, ok := msg.(tea.KeyPressMsg); ok {
		p.pane.Press(k)
	}
	return nil
}

// Back has nothing to leave.
func (p *Page) Back() bool { return false }

// Typing is never so.
func (p *Page) Typing() bool { return false }

// Selected is nothing.
func (p *Page) Selected() string { return "" }

// Keys are those of moving.
func (p *Page) Keys() []keymap.Binding { return []keymap.Binding{keymap.Back, keymap.Down, keymap.Up} }

// View draws the keys, in two columns where there is room.
func (p *Page) View(width, height int) string {
	half := (width - 3) / 2
	two := width >= 100
	var left, right []string
	groups := slices.Clone(keymap.Groups())
	slices.SortStableFunc(groups, func(a, b keymap.Group) int {
		switch p.first {
		case a.Name:
			return -1
		case b.Name:
			return 1
		}
		return 0
	})
	for _, g := range groups {
		lines := p.group(g)
		if two && len(left) > len(right) {
			right = append(right, lines...)
		} else {
			left = append(left, lines...)
		}
	}
	if !two {
		return p.pane.View(p.th, left, width, height)
	}
	for len(left) < len(right) {
		left = append(left, "")
	}
	for i := range left {
		left[i] = widget.Fit(left[i], half, p.th.Glyph.More)
		if i < len(right) {
			left[i] += "   " + right[i]
		}
	}
	return p.pane.View(p.th, left, width, height)
}

func (p *Page) group(g keymap.Group) []string {
	lines := []string{" " + p.th.Title.Render(g.Name)}
	for _, b := range keymap.Allowed(g.Bindings, p.readOnly) {
		h := b.Help()
		lines = append(lines, "  "+p.th.Key.Render(widget.Fit(h.Key, 17, ""))+" "+h.Desc)
	}
	return append(lines, "")
}
