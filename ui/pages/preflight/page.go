// Package preflight is the page that says what stands in the way of the VMs that are thought about, and where a person
// decides. It reads previews and asks for looks; it looks at nothing itself.
package preflight

import (
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"landfall/engine/plaintext"
	"landfall/engine/preflight"
	"landfall/engine/spec"
	"landfall/ui/feed"
	"landfall/ui/keymap"
	"landfall/ui/pages"
	"landfall/ui/pages/draft"
	"landfall/ui/theme"
	"landfall/ui/widget"
)

// Page is the pre-flight.
type Page struct {
	th       theme.Theme
	now      func() time.Time
	readOnly bool
	alive    bool
	set      *draft.Set
	at       int // the VM that is shown in full
	list     widget.Table
}

// New gives an empty page.
func New(th theme.Theme, now func() time.Time, readOnly bool) *Page {
	return &Page{th: th, now: now, readOnly: readOnly, set: &draft.Set{}}
}

// Show takes the VMs, and asks for a look at those that none was taken of lately.
func (p *Page) Show(set *draft.Set) pages.Action {
	p.set, p.at = set, 0
	p.list.SetCursor(0)
	p.fit()
	if p.readOnly {
		return nil
	}
	now := p.now()
	return look(set, func(it *draft.Item) bool { return it.Stale(now) && !it.Pending() })
}

func look(set *draft.Set, want func(*draft.Item) bool) pages.Action {
	if docs := set.Asked(want); len(docs) > 0 {
		return pages.Look{Documents: docs}
	}
	return nil
}

// Set follows what the engine found.
func (p *Page) Set(s *feed.Snapshot) pages.Action {
	p.alive = s.Alive
	p.set.Follow(s)
	p.fit()
	return nil
}

func (p *Page) item() *draft.Item {
	if p.at >= len(p.set.Items) {
		return nil
	}
	return &p.set.Items[p.at]
}

func (p *Page) fit() {
	if it := p.item(); it != nil {
		p.list.SetRows(len(it.Findings()))
	} else {
		p.list.SetRows(0)
	}
}

func (p *Page) current() (preflight.Finding, bool) {
	it := p.item()
	if it == nil {
		return preflight.Finding{}, false
	}
	fs := it.Findings()
	if n := p.list.Cursor(); n >= 0 && n < len(fs) {
		return fs[n], true
	}
	return preflight.Finding{}, false
}

// Update takes a key.
func (p *Page) Update(msg tea.Msg) pages.Action {
	k, ok := msg.(tea.KeyPressMsg)
	if !ok || p.list.Press(k) {
		return nil
	}
	switch n := len(p.set.Items); {
	case n == 0:
		return nil
	case keymap.NextVM.Hit(k):
		p.turn((p.at + 1) % n)
	case keymap.PrevVM.Hit(k):
		p.turn((p.at + n - 1) % n)
	case keymap.ToPlan.Hit(k):
		return pages.AskPlan{}
	case p.readOnly:
		return nil
	case keymap.LookAgain.Hit(k):
		return look(p.set, nil)
	case keymap.Fix.Hit(k):
		f, ok := p.current()
		if !ok || f.Remedy == nil {
			return pages.Say{Text: "the engine cannot fix this: do what stands at fix"}
		}
		return p.ask(f)
	case keymap.Decide.Hit(k):
		if f, ok := p.current(); ok {
			return p.ask(f)
		}
	}
	return nil
}

func (p *Page) turn(to int) {
	p.at = to
	p.list.SetCursor(0)
	p.fit()
}

// ask offers what can be answered to a finding.
func (p *Page) ask(f preflight.Finding) pages.Action {
	it := p.item()
	key := it.Key
	give := func(a spec.Answer) func() pages.Action {
		return func() pages.Action {
			mine := func(it *draft.Item) bool { return it.Key == key }
			p.set.Edit(mine, func(d *spec.Document) { draft.Give(d, a) })
			return look(p.set, mine)
		}
	}
	a := spec.Answer{Finding: f.ID(), Value: f.Found}
	one := pages.AskOne{Title: f.Rule, Text: "VM " + plaintext.Label(it.VM.VM.Name+", "+f.Subject+": "+f.Found) + "\n" + plaintext.Label(f.Why)}
	if r := f.Remedy; r != nil {
		fix := a
		fix.Answer = spec.Fix
		choices := r.Choices
		if len(choices) == 0 {
			choices = []string{""}
		}
		for _, c := range choices {
			fix.Choice = c
			label := r.Label
			if c != "" {
				label += ": " + c
			}
			one.Choices = append(one.Choices, pages.Choice{Label: label, Effect: strings.TrimSuffix(r.Effect, ".") + "; the engine does it once the migration is started, with your consent on record", Take: give(fix)})
		}
	}
	if f.Level == preflight.Decide {
		yes := a
		yes.Answer = spec.Accept
		one.Choices = append(one.Choices, pages.Choice{Label: "Accept it as it is", Effect: "the migration goes on with this, as long as the value stays; your name goes on record with the migration", Take: give(yes)})
	}
	if _, ok := it.Answer(f); ok {
		one.Choices = append(one.Choices, pages.Choice{Label: "Take the answer back", Effect: "it is open again, and nothing starts before it is answered", Take: give(a)})
	}
	if len(one.Choices) == 0 {
		return pages.Say{Text: "there is nothing to decide here"}
	}
	return one
}

// Back means nothing of its own here.
func (p *Page) Back() bool { return false }

// Typing never.
func (p *Page) Typing() bool { return false }

// Theme changes the look.
func (p *Page) Theme(th theme.Theme) { p.th = th }

// Selected is the finding under the cursor.
func (p *Page) Selected() string {
	if f, ok := p.current(); ok {
		return plaintext.Label(f.ID() + ": " + f.Found)
	}
	return ""
}

// Keys are the page's own.
func (p *Page) Keys() []keymap.Binding {
	var keys []keymap.Binding
	f, ok := p.current()
	if ok && (f.Level == preflight.Decide || f.Remedy != nil) {
		keys = append(keys, keymap.Decide)
	}
	if ok && f.Remedy != nil {
		keys = append(keys, keymap.Fix)
	}
	keys = append(keys, keymap.LookAgain, keymap.ToPlan)
	if len(p.set.Items) > 1 {
		keys = append(keys, keymap.NextVM)
	}
	return keymap.Allowed(keys, p.readOnly)
}
