package inventory

import (
	"strings"

	"landfall/engine"
	"landfall/engine/spec"
	"landfall/ui/pages/draft"
	"landfall/ui/pages/preflight"
)

// name the drafts of the VMs, once for a listing.
func (p *Page) nameDrafts() {
	type at struct {
		source spec.Source
		known  bool
	}
	of := map[string]at{}
	for _, e := range p.snap.Endpoints {
		of[e.Name] = at{e.Source, true}
	}
	p.drafts = make([]string, len(p.snap.Inventory))
	for i, l := range p.snap.Inventory {
		if e := of[l.Endpoint]; e.known {
			e.source.VM = spec.VM{Name: l.VM.Name, Ref: l.VM.Ref}
			p.drafts[i] = engine.DraftKey(e.source)
		}
	}
}

// preview gives what a look at the VM found, if there was one.
func (p *Page) preview(i int) (*engine.Draft, bool) {
	if i >= len(p.drafts) || len(p.snap.Drafts) == 0 {
		return nil, false
	}
	d := p.snap.Drafts[p.drafts[i]]
	return d, d != nil && d.Preview != nil
}

// newest is the verdict of the newest look, else the first view of the inventory if there is one.
func (p *Page) newest(i int) verdict {
	d, ok := p.preview(i)
	if !ok {
		return p.verdicts.known(i)
	}
	it := draft.Item{VM: *p.vm(i), Document: d.Document, Draft: d}
	_, level, text := preflight.Verdict(&it)
	text, _, _ = strings.Cut(text, ", ") // the worst
	return verdict{label: text, level: level, known: true, looked: true}
}
