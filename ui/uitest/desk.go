// Package uitest is what the console's tests share: a desk in memory, worlds with hostile names in it, an emulated terminal
// and a real pseudo terminal that counts bytes. Only tests import it.
package uitest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"landfall/engine"
	"landfall/engine/spec"
)

// Desk is a desk in memory. Its fields are the world; change them under Edit.
type Desk struct {
	mu  sync.Mutex
	now func() time.Time
	seq int64

	Migrations []engine.Migration // oldest first
	Slim       map[string]engine.Line
	Decided    []engine.Decision
	Story      []engine.Event
	Holds      []engine.Held
	Audit      []engine.Note
	Sources    []engine.Endpoint
	VMs        []engine.Listed
	Heart      engine.Heartbeat
	Previews   []engine.Draft
	// Broken is what every reading answers.
	Broken error
	// Reads counts full readings of the lines.
	Reads int
}

var _ engine.Desk = (*Desk)(nil)

// NewDesk gives an empty one.
func NewDesk(now func() time.Time) *Desk {
	return &Desk{now: now, Slim: map[string]engine.Line{}}
}

// Edit changes the world, and raises the change number.
func (d *Desk) Edit(f func()) {
	d.mu.Lock()
	defer d.mu.Unlock()
	f()
	d.seq++
}

func (d *Desk) find(uid string) (*engine.Migration, error) {
	for i := range d.Migrations {
		if d.Migrations[i].UID == uid {
			return &d.Migrations[i], nil
		}
	}
	return nil, fmt.Errorf("migration %s: %w", uid, engine.ErrNotFound)
}

func (d *Desk) note(who engine.Person, uid, what string) {
	d.Audit = append(d.Audit, engine.Note{Time: d.now(), Who: who, What: what, Migration: uid})
	d.seq++
}

// Lines as engine.Desk.
func (d *Desk) Lines(context.Context) ([]engine.Line, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.Reads++
	var out []engine.Line
	for i := len(d.Migrations) - 1; i >= 0; i-- {
		m := d.Migrations[i]
		l := d.Slim[m.UID]
		l.UID, l.Name, l.Want, l.Created = m.UID, m.Name(), m.Want, m.Created
		src, dst := m.Document.Spec.Source, m.Document.Spec.Destination
		l.VM, l.Source, l.Ref, l.Namespace, l.Target = src.VM.Name, src.Address, src.VM.Ref, dst.Namespace, dst.VMName
		l.Phase, l.Resume, l.Reason, l.Message = m.Status.Phase, m.Status.Resume, m.Status.Reason, m.Status.Message
		l.NotUntil, l.Times, l.Queue, l.Progress = m.Status.NotUntil, m.Status.Times, m.Status.Queue, m.Status.Progress
		l.Questions = 0
		for _, q := range d.Decided {
			if q.Migration == m.UID && q.Open() {
				l.Questions++
			}
		}
		out = append(out, l)
	}
	return out, d.Broken
}

// Find as engine.Desk.
func (d *Desk) Find(_ context.Context, key string) (engine.Migration, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.Broken != nil {
		return engine.Migration{}, d.Broken
	}
	m, err := d.find(key)
	if err != nil {
		return engine.Migration{}, err
	}
	return *m, nil
}

// Apply as engine.Desk.
func (d *Desk) Apply(_ context.Context, doc spec.Document, who engine.Person) (engine.Migration, error) {
	if err := doc.Validate(); err != nil {
		return engine.Migration{}, fmt.Errorf("apply: %w", err)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	m := engine.Migration{UID: fmt.Sprintf("new%d", len(d.Migrations)+1), Document: doc, Generation: 1, Want: engine.WantRun, Created: d.now(),
		CreatedBy: who.Name, Status: engine.Status{Phase: engine.Pending, Times: engine.Times{Created: d.now()}}}
	d.Migrations = append(d.Migrations, m)
	d.note(who, m.UID, "apply")
	return m, nil
}

// Change as engine.Desk.
func (d *Desk) Change(_ context.Context, uid string, generation int64, doc spec.Document, who engine.Person) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	m, err := d.find(uid)
	if err != nil {
		return err
	}
	if m.Generation != generation {
		return engine.ErrStale
	}
	m.Document, m.Generation = doc, generation+1
	d.note(who, uid, "change")
	return nil
}

// Cancel as engine.Desk.
func (d *Desk) Cancel(_ context.Context, uid string, who engine.Person) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	m, err := d.find(uid)
	if err != nil {
		return err
	}
	m.Want = engine.WantCancel
	d.note(who, uid, "cancel")
	return nil
}

// CutOver as engine.Desk.
func (d *Desk) CutOver(_ context.Context, uid string, who engine.Person) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	m, err := d.find(uid)
	if err != nil {
		return err
	}
	if m.Document.Spec.Strategy.Warm.Hold {
		return errors.New("the cutover is held")
	}
	m.Document.Spec.Strategy.Warm.CutOver = true
	m.Generation++
	d.note(who, uid, "cutover")
	return nil
}

// RetryNow as engine.Desk.
func (d *Desk) RetryNow(_ context.Context, uid string, who engine.Person) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	m, err := d.find(uid)
	if err != nil {
		return err
	}
	m.Retry++
	d.note(who, uid, "retry")
	return nil
}

// Decisions as engine.Desk.
func (d *Desk) Decisions(_ context.Context, uid string) ([]engine.Decision, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(d.Decided), func(q engine.Decision) bool { return q.Migration != uid }), d.Broken
}

// Waiting as engine.Desk.
func (d *Desk) Waiting(context.Context) ([]engine.Decision, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	open := slices.DeleteFunc(slices.Clone(d.Decided), func(q engine.Decision) bool { return !q.Open() })
	slices.SortStableFunc(open, func(a, b engine.Decision) int { return a.Opened.Compare(b.Opened) })
	return open, d.Broken
}

// Answer as engine.Desk.
func (d *Desk) Answer(_ context.Context, id string, version int64, option string, who engine.Person) (engine.Decision, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for i := range d.Decided {
		q := &d.Decided[i]
		if q.ID != id {
			continue
		}
		if q.Version != version || !q.Open() {
			return *q, engine.ErrStale
		}
		q.Version++
		q.Answer, q.By, q.From, q.AnsweredAt = option, who.Name, who.From, d.now()
		d.note(who, q.Migration, "answer "+id+" "+option)
		return *q, nil
	}
	return engine.Decision{}, engine.ErrNotFound
}

// Events as engine.Desk.
func (d *Desk) Events(_ context.Context, uid string, after int64, limit int) ([]engine.Event, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	var out []engine.Event
	for _, e := range d.Story {
		if e.Seq > after && (uid == "" || e.Migration == uid) && len(out) < limit {
			out = append(out, e)
		}
	}
	return out, d.Broken
}

// Held as engine.Desk.
func (d *Desk) Held(_ context.Context, uid string) ([]engine.Held, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(d.Holds), func(h engine.Held) bool { return h.Migration != uid }), d.Broken
}

// Notes as engine.Desk.
func (d *Desk) Notes(_ context.Context, uid string) ([]engine.Note, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(d.Audit), func(n engine.Note) bool { return n.Migration != uid }), d.Broken
}

// Said gives the audit as words, for assertions.
func (d *Desk) Said() string {
	d.mu.Lock()
	defer d.mu.Unlock()
	var s []string
	for _, n := range d.Audit {
		s = append(s, n.What)
	}
	return strings.Join(s, ", ")
}

// Endpoints as engine.Desk.
func (d *Desk) Endpoints(context.Context) ([]engine.Endpoint, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.Sources), d.Broken
}

// PutEndpoint as engine.Desk.
func (d *Desk) PutEndpoint(_ context.Context, e engine.Endpoint, _ engine.Person) error {
	d.Edit(func() { d.Sources = append(d.Sources, e) })
	return nil
}

// Refresh as engine.Desk.
func (d *Desk) Refresh(_ context.Context, endpoint string, who engine.Person) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.note(who, "", "refresh "+endpoint)
	return nil
}

// Inventory as engine.Desk.
func (d *Desk) Inventory(context.Context) ([]engine.Listed, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.VMs), d.Broken
}

// Look as engine.Desk.
func (d *Desk) Look(_ context.Context, ds []spec.Document, who engine.Person) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, doc := range ds {
		key := engine.DraftKey(doc.Spec.Source)
		i := slices.IndexFunc(d.Previews, func(p engine.Draft) bool { return p.Key == key })
		if i < 0 {
			i = len(d.Previews)
			d.Previews = append(d.Previews, engine.Draft{Key: key})
		}
		d.Previews[i].Document, d.Previews[i].Asked = doc, d.now()
	}
	d.note(who, "", fmt.Sprintf("look at %d", len(ds)))
	return nil
}

// Drafts as engine.Desk.
func (d *Desk) Drafts(context.Context) ([]engine.Draft, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.Previews), d.Broken
}

// Forget as engine.Desk.
func (d *Desk) Forget(_ context.Context, keys []string, who engine.Person) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.Previews = slices.DeleteFunc(d.Previews, func(p engine.Draft) bool { return slices.Contains(keys, p.Key) })
	d.note(who, "", fmt.Sprintf("forget %d", len(keys)))
	return nil
}

// Beat as engine.Desk.
func (d *Desk) Beat(context.Context) (engine.Heartbeat, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.Heart.Beat.IsZero() {
		return engine.Heartbeat{}, engine.ErrNotFound
	}
	return d.Heart, nil
}

// Changed as engine.Desk.
func (d *Desk) Changed(context.Context) (int64, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.seq, d.Broken
}
