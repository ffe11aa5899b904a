// Package draft holds the VMs that are thought about: their documents as the operator shapes them, and what the engine
// found about each. The pages of pre-flight and plan share one. It does no I/O.
package draft

import (
	"cmp"
	"slices"
	"time"

	"landfall/engine"
	"landfall/engine/preflight"
	"landfall/engine/spec"
	"landfall/ui/feed"
)

// Item is one VM with its document.
type Item struct {
	VM       engine.Listed
	Document spec.Document
	Key      string
	// Draft is what the engine keeps of it, nil before it was asked.
	Draft *engine.Draft
	// Changed since the engine was asked last.
	Changed bool
	shared  []preflight.Finding // with others of the plan
}

// Set is the VMs of one plan, in the order in which they were chosen.
type Set struct {
	Items []Item
	snap  *feed.Snapshot
	// Version is raised by every change of a document.
	Version int
}

// New starts from the documents of the engine's drafts, and from the defaults where there is none.
func New(vms []engine.Listed, document func(engine.Listed) spec.Document, s *feed.Snapshot) *Set {
	d := &Set{Items: make([]Item, len(vms))}
	for i, vm := range vms {
		it := Item{VM: vm, Document: document(vm)}
		it.Key = engine.DraftKey(it.Document.Spec.Source)
		if old := s.Drafts[it.Key]; old != nil {
			it.Document = old.Document
		}
		d.Items[i] = it
	}
	d.Follow(s)
	d.compare()
	return d
}

// Follow takes what the engine found meanwhile; the documents stay as the operator has them.
func (d *Set) Follow(s *feed.Snapshot) {
	if d.snap == s {
		return
	}
	d.snap = s
	for i := range d.Items {
		d.Items[i].Draft = s.Drafts[d.Items[i].Key]
	}
}

// Edit changes the documents that pick takes; nil takes all.
func (d *Set) Edit(pick func(*Item) bool, change func(*spec.Document)) {
	for i := range d.Items {
		if it := &d.Items[i]; pick == nil || pick(it) {
			it.Document = owned(it.Document)
			change(&it.Document)
			it.Changed = true
		}
	}
	d.Version++
	d.compare()
}

// owned gives a document whose lists are its own, since those of an endpoint's defaults are shared.
func owned(d spec.Document) spec.Document {
	d.Spec.Storage.Mappings = slices.Clone(d.Spec.Storage.Mappings)
	d.Spec.Network.Mappings = slices.Clone(d.Spec.Network.Mappings)
	d.Spec.Validation.Checks = slices.Clone(d.Spec.Validation.Checks)
	d.Spec.Answers = slices.Clone(d.Spec.Answers)
	return d
}

// Documents gives those that want takes, and notes that the engine is asked about them.
func (d *Set) Documents(want func(*Item) bool) []spec.Document {
	var out []spec.Document
	for i := range d.Items {
		if it := &d.Items[i]; want == nil || want(it) {
			out = append(out, it.Document)
		}
	}
	return out
}

// Asked notes that the engine is being asked about those that want takes, and gives them.
func (d *Set) Asked(want func(*Item) bool) []spec.Document {
	out := d.Documents(want)
	for i := range d.Items {
		if it := &d.Items[i]; want == nil || want(it) {
			it.Changed = false
		}
	}
	return out
}

// Preview is what was found of the document, nil where nothing is known.
func (it *Item) Preview() *engine.Preview {
	if it.Draft == nil {
		return nil
	}
	return it.Draft.Preview
}

// Stale tells that the preview is not of the document as it is, or is old.
func (it *Item) Stale(now time.Time) bool {
	return it.Changed || it.Draft == nil || it.Draft.Stale(now)
}

// Pending tells that the engine was asked and has not answered.
func (it *Item) Pending() bool {
	return it.Draft != nil && (it.Draft.Preview == nil || it.Draft.Preview.Asked.Before(it.Draft.Asked))
}

// Name is the name that the VM gets.
func (it *Item) Name() string { return preflight.TargetName(it.VM.VM, it.Document.Spec) }

var order = map[preflight.Level]int{preflight.Blocker: 0, preflight.Decide: 1, preflight.Warning: 2, preflight.Info: 3}

// Findings gives what was found of the VM, and what it shares with others of the plan, the worst first.
func (it *Item) Findings() []preflight.Finding {
	var all []preflight.Finding
	if p := it.Preview(); p != nil {
		all = append(all, p.Findings...)
	}
	for _, f := range it.shared {
		if !slices.ContainsFunc(all, func(g preflight.Finding) bool { return g.ID() == f.ID() && g.Found == f.Found }) {
			all = append(all, f)
		}
	}
	slices.SortStableFunc(all, func(a, b preflight.Finding) int { return cmp.Compare(order[a.Level], order[b.Level]) })
	return all
}

// Answer gives the answer of the document to a finding. One that was given for another value does not hold.
func (it *Item) Answer(f preflight.Finding) (spec.Answer, bool) {
	for _, a := range it.Document.Spec.Answers {
		if a.Finding == f.ID() && a.Value == f.Found && (a.Answer == spec.Fix && f.Remedy != nil || a.Answer == spec.Accept && f.Level == preflight.Decide) {
			return a, true
		}
	}
	return spec.Answer{}, false
}

// Give replaces the answer to a finding; one without an answer takes it back.
func Give(d *spec.Document, a spec.Answer) {
	d.Spec.Answers = slices.DeleteFunc(d.Spec.Answers, func(o spec.Answer) bool { return o.Finding == a.Finding })
	if a.Answer != "" {
		d.Spec.Answers = append(d.Spec.Answers, a)
	}
}

// Count says how many findings of a level are open: those that were answered are not.
func (it *Item) Count(level preflight.Level) int {
	n := 0
	for _, f := range it.Findings() {
		if _, ok := it.Answer(f); f.Level == level && !ok {
			n++
		}
	}
	return n
}
