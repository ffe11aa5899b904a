// Package migration is the page of one migration: where it stands, what was seen, and what a person can do. It reads
// snapshots only.
package migration

import (
	"time"

	"landfall/engine"
	"landfall/engine/plaintext"
	"landfall/ui/feed"
	"landfall/ui/keymap"
	"landfall/ui/pages"
	"landfall/ui/theme"
	"landfall/ui/widget"
)

// The parts of the page.
const (
	partNow = iota
	partSteps
	partDisks
	partConditions
	partFindings
	partEvents
	partHeld
	partErrors
	parts
)

// Page shows one migration.
type Page struct {
	readOnly bool
	th       theme.Theme
	now      func() time.Time
	snap     *feed.Snapshot
	uid      string
	part     int
	panes    [parts]widget.Pane
	log      widget.Log
}

// New gives a page that shows nothing yet.
func New(th theme.Theme, now func() time.Time, readOnly bool) *Page {
	return &Page{th: th, now: now, readOnly: readOnly, snap: &feed.Snapshot{}, log: widget.NewLog()}
}

// Show turns the page to a migration.
func (p *Page) Show(uid string) {
	if uid == p.uid {
		return
	}
	p.uid, p.part, p.panes, p.log = uid, partNow, [parts]widget.Pane{}, widget.NewLog()
}

// UID is what is shown.
func (p *Page) UID() string { return p.uid }

// Theme changes the look.
func (p *Page) Theme(th theme.Theme) { p.th = th }

// Set takes a snapshot.
func (p *Page) Set(s *feed.Snapshot) pages.Action {
	p.snap = s
	return nil
}

// detail is the migration in full, nil while it is being read.
func (p *Page) detail() *feed.Detail {
	if d := p.snap.Detail; d != nil && d.Migration.UID == p.uid {
		return d
	}
	return nil
}

func (p *Page) line() (engine.Line, bool) { return p.snap.Line(p.uid) }

// Back ends a search.
func (p *Page) Back() bool { return p.part == partEvents && p.log.Back() }

// Typing tells whether keys go to the search.
func (p *Page) Typing() bool { return p.part == partEvents && p.log.Typing() }

// Selected is the UID: what every verb takes.
func (p *Page) Selected() string { return plaintext.Label(p.uid) }

// Keys are the page's own.
func (p *Page) Keys() []keymap.Binding {
	keys := []keymap.Binding{keymap.NextPart}
	if p.part == partEvents {
		keys = append(keys, keymap.Search, keymap.Follow, keymap.Wrap, keymap.Next, keymap.Previous)
	}
	if l, ok := p.line(); ok {
		keys = append(keys, pages.LineKeys(l)...)
		keys = append(keys, p.orderKeys()...)
	}
	return keymap.Allowed(keys, p.readOnly)
}
