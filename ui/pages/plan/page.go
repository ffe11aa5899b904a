// Package plan is the page on which a migration takes its shape: a form over the documents of one VM or many, with what
// would be created and what it will cost beside it. It saves and starts nothing itself.
package plan

import (
	"fmt"
	"time"

	tea "charm.land/bubbletea/v2"

	"landfall/engine/plaintext"
	"landfall/engine/spec"
	"landfall/ui/feed"
	"landfall/ui/keymap"
	"landfall/ui/pages"
	"landfall/ui/pages/draft"
	"landfall/ui/theme"
	"landfall/ui/widget"
)

// lookedAtOnce is for how many VMs a changed document is looked at without being told to.
const lookedAtOnce = 50

// Page is the plan.
type Page struct {
	th       theme.Theme
	now      func() time.Time
	readOnly bool
	alive    bool
	set      *draft.Set
	fields   []field
	version  int // of the set that the fields are of
	list     widget.Table
	side     int // 0 form, 1 estimate and YAML, where there is no room for both
	pane     widget.Pane
	vm       int // whose YAML is shown
}

// New gives an empty page.
func New(th theme.Theme, now func() time.Time, readOnly bool) *Page {
	p := &Page{th: th, now: now, readOnly: readOnly, set: &draft.Set{}}
	p.list.Sort = -1
	return p
}

// Show takes the VMs, and asks for a look at those that none was taken of lately.
func (p *Page) Show(set *draft.Set) pages.Action {
	if set != p.set {
		p.list.SetCursor(0)
		p.side, p.vm = 0, 0
		p.pane.Reset()
	}
	p.set, p.version = set, -1
	p.fit()
	if p.readOnly {
		return nil
	}
	now := p.now()
	return p.look(func(it *draft.Item) bool { return it.Stale(now) && !it.Pending() })
}

func (p *Page) look(want func(*draft.Item) bool) pages.Action {
	if docs := p.set.Asked(want); len(docs) > 0 {
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

// fit makes the fields anew where a document changed. Row 0 starts, then come the fields, then the VMs.
func (p *Page) fit() {
	if p.version != p.set.Version {
		p.version = p.set.Version
		p.fields = fields(p.set)
	}
	n := 0
	if len(p.set.Items) > 0 {
		n = 1 + len(p.fields) + len(p.set.Items)
	}
	p.list.SetRows(n)
	p.vm = min(p.vm, max(0, len(p.set.Items)-1))
}

// Update takes a key.
func (p *Page) Update(msg tea.Msg) pages.Action {
	k, ok := msg.(tea.KeyPressMsg)
	if !ok {
		return nil
	}
	if p.side == 1 && p.pane.Press(k) {
		return nil
	}
	if p.side == 0 && p.list.Press(k) {
		if i := p.list.Cursor() - 1 - len(p.fields); i >= 0 && i != p.vm {
			p.vm = i
			p.pane.Reset()
		}
		return nil
	}
	switch {
	case len(p.set.Items) == 0:
		return nil
	case keymap.Side.Hit(k), keymap.PrevPart.Hit(k):
		p.side = 1 - p.side
	case keymap.Check.Hit(k):
		return pages.AskPreflight{}
	case p.readOnly:
		return nil
	case keymap.LookAgain.Hit(k):
		return p.look(nil)
	case keymap.Save.Hit(k):
		return p.save()
	case keymap.Begin.Hit(k):
		return p.start()
	case keymap.Edit.Hit(k):
		return p.edit()
	}
	return nil
}

// edit does what the row under the cursor is for.
func (p *Page) edit() pages.Action {
	row := p.list.Cursor()
	switch {
	case p.side == 1 || row < 0:
		return nil
	case row == 0:
		return p.start()
	case row <= len(p.fields):
		return p.change(p.fields[row-1])
	}
	it := &p.set.Items[row-1-len(p.fields)]
	key := it.Key
	return pages.AskText{Title: "Name in the cluster", Text: "What shall " + it.VM.VM.Name + " be called? Empty: made from its name.", Value: it.Name(),
		Take: func(v string) pages.Action {
			return p.put(func(it *draft.Item) bool { return it.Key == key }, func(d *spec.Document) { d.Spec.Destination.VMName = v })
		}}
}

// change asks for a field's value.
func (p *Page) change(f field) pages.Action {
	if f.options == nil {
		return pages.AskText{Title: f.label, Text: f.help, Value: f.typed, Take: func(v string) pages.Action { return p.take(f, v) }}
	}
	one := pages.AskOne{Title: f.label, Text: f.help + "\nnow: " + plaintext.Label(f.value)}
	for _, o := range f.options {
		one.Choices = append(one.Choices, pages.Choice{Label: o.value, Effect: o.effect, Take: func() pages.Action { return p.take(f, o.value) }})
	}
	return one
}

// take gives a value to every VM that the field concerns. One that makes a document wrong is refused as a whole.
func (p *Page) take(f field, v string) pages.Action {
	if problem := f.check(v); problem != "" {
		return pages.Say{Text: f.label + ": " + problem}
	}
	return p.put(f.concerns, func(d *spec.Document) { f.set(&d.Spec, v) })
}

func (p *Page) put(pick func(*draft.Item) bool, change func(*spec.Document)) pages.Action {
	p.set.Edit(pick, change)
	p.fit()
	if len(p.set.Items) > lookedAtOnce {
		return pages.Say{Text: "changed; r has the engine look at it"}
	}
	return p.look(func(it *draft.Item) bool { return it.Changed })
}

func (p *Page) save() pages.Action {
	name := "migrations.yaml"
	if len(p.set.Items) == 1 {
		name = p.set.Items[0].Name() + ".yaml"
	}
	docs := p.set.Documents(nil)
	return pages.AskText{Title: "Save the plan", Text: fmt.Sprintf("Into which file? %s; landfall apply -f takes it.", widget.Count(len(docs), "document", "documents")), Value: name,
		Take: func(v string) pages.Action {
			if v == "" {
				return pages.Say{Text: "nothing was saved: no file was named"}
			}
			return pages.Save{Path: v, Documents: docs}
		}}
}

// Back leaves the side that is over the form.
func (p *Page) Back() bool {
	if p.side == 0 {
		return false
	}
	p.side = 0
	return true
}

// Typing never: what is typed is typed into dialogs.
func (p *Page) Typing() bool { return false }

// Theme changes the look.
func (p *Page) Theme(th theme.Theme) { p.th = th }

// Selected is the target of the VM that is looked at.
func (p *Page) Selected() string {
	if len(p.set.Items) == 0 {
		return ""
	}
	it := &p.set.Items[p.vm]
	return plaintext.Label(it.Document.Spec.Destination.Namespace + "/" + it.Name())
}

// Keys are the page's own.
func (p *Page) Keys() []keymap.Binding {
	return keymap.Allowed([]keymap.Binding{keymap.Edit, keymap.Begin, keymap.Side, keymap.Save, keymap.Check, keymap.LookAgain}, p.readOnly)
}
