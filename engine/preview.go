package engine

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"landfall/engine/fault"
	"landfall/engine/machine"
	"landfall/engine/preflight"
	"landfall/engine/spec"
	"landfall/sources"
	"landfall/targets"
)

const (
	// previewsAtOnce is how many drafts are looked at at the same time.
	previewsAtOnce = 16
	// previewPatience bounds one look.
	previewPatience = 2 * time.Minute
	// sharedFor is how long what many drafts have in common is looked up only once.
	sharedFor = 10 * time.Second
)

// lookAtDrafts answers every draft that was asked anew, until ctx ends.
func (e *Engine) lookAtDrafts(ctx context.Context) {
	var wg sync.WaitGroup
	defer wg.Wait()
	tick := time.NewTicker(superviseEvery)
	defer tick.Stop()
	slots := make(chan struct{}, previewsAtOnce)
	w := e.shared()
	var mu sync.Mutex
	busy := map[string]time.Time{} // key → the question that is being answered
	var seen int64 = -1
	for {
		if n, err := e.Store.Changed(ctx); err == nil && n != seen {
			drafts, err := e.Store.Drafts(ctx)
			if err == nil {
				seen = n
			}
			for _, d := range drafts {
				if d.Preview != nil && !d.Preview.Asked.Before(d.Asked) {
					continue
				}
				mu.Lock()
				at, works := busy[d.Key]
				if works = works && at.Equal(d.Asked); !works {
					busy[d.Key] = d.Asked
				}
				mu.Unlock()
				if works {
					continue
				}
				wg.Add(1)
				go func() {
					defer wg.Done()
					defer func() {
						mu.Lock()
						if busy[d.Key].Equal(d.Asked) {
							delete(busy, d.Key)
						}
						mu.Unlock()
					}()
					select {
					case slots <- struct{}{}:
						defer func() { <-slots }()
					case <-ctx.Done():
						return
					}
					e.answerDraft(ctx, w, d)
				}()
			}
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

func (e *Engine) answerDraft(ctx context.Context, w outside, d Draft) {
	p := e.preview(ctx, w, d)
	if ctx.Err() != nil {
		return // the next engine looks
	}
	if err := e.Store.PutPreview(ctx, d.Key, p); err != nil && !errors.Is(err, ErrStale) && !errors.Is(err, ErrNotFound) && ctx.Err() == nil {
		e.Log.Warn("write preview", "draft", d.Key, "error", err)
	}
}

// preview looks at a draft as Discovering and Validated look at a migration, and renders it. Nothing is touched.
func (e *Engine) preview(ctx context.Context, w outside, d Draft) Preview {
	ctx, cancel := context.WithTimeout(ctx, previewPatience)
	defer cancel()
	p := Preview{Asked: d.Asked}
	p.failed(guarded(func() error {
		c, err := e.find(ctx, w, d.Document)
		if err != nil {
			return err
		}
		return e.foresee(ctx, w, c, &p)
	}))
	p.Taken = e.Now()
	return p
}

func (p *Preview) failed(err error) {
	if err != nil {
		p.Failure, p.Hint = err.Error(), fault.HintOf(err)
	}
}

// Foresee looks at the documents of one plan as Discovering and Validated would, and renders them; the previews are in the
// order of the documents. Nothing is touched and nothing recorded.
func (e *Engine) Foresee(ctx context.Context, ds []spec.Document) []Preview {
	w := e.shared()
	ps, cs := make([]Preview, len(ds)), make([]*candidate, len(ds))
	each := func(f func(i int) error) {
		var g errgroup.Group
		g.SetLimit(previewsAtOnce)
		for i := range ds {
			if ps[i].Failure == "" {
				g.Go(func() error { ps[i].failed(guarded(func() error { return f(i) })); return nil })
			}
		}
		_ = g.Wait()
	}
	each(func(i int) error {
		c, err := e.find(ctx, w, ds[i])
		cs[i] = &c
		return err
	})
	for i, c := range cs {
		for j, o := range cs {
			if i != j && ps[i].Failure == "" && ps[j].Failure == "" {
				c.others = append(c.others, o.planned())
			}
		}
	}
	each(func(i int) error { return e.foresee(ctx, w, *cs[i], &ps[i]) })
	for i := range ps {
		ps[i].Taken = e.Now()
	}
	return ps
}

// find finds the VM of a document.
func (e *Engine) find(ctx context.Context, w outside, d spec.Document) (candidate, error) {
	c := candidate{name: d.Metadata.Name, options: d.Spec.Default()}
	if err := d.Validate(); err != nil {
		return c, fault.Hint(fault.New(fault.Blocked, "InvalidSpec", err), "complete the document")
	}
	src, err := w.source(ctx, c.options.Source)
	if err != nil {
		return c, err
	}
	ref := c.options.Source.VM.Ref
	if ref.Zero() {
		if ref, err = byName(ctx, src, c.options.Source.VM.Name); err != nil {
			return c, err
		}
		c.options.Source.VM.Ref = ref
	}
	if c.vm, err = src.Inspect(ctx, ref); err != nil {
		return c, fmt.Errorf("find %s: %w", ref, err)
	}
	return c, nil
}

func (e *Engine) foresee(ctx context.Context, w outside, c candidate, p *Preview) error {
	f, err := e.facts(ctx, w, c)
	if err != nil {
		return err
	}
	p.Findings, p.Looked = preflight.Evaluate(f), looked(f, e.Now())
	p.Estimate, err = e.estimate(ctx, c)
	if err != nil || f.Target == nil {
		return err
	}
	return e.render(ctx, c, *f.Target, p)
}

// render says what would be made; that it cannot be rendered is said, and takes nothing from the findings.
func (e *Engine) render(ctx context.Context, c candidate, facts targets.Facts, p *Preview) error {
	target, err := e.targets.get(ctx, c.options.Destination)
	if err != nil {
		return err
	}
	plan, err := target.Render(c.input(facts))
	if err != nil {
		return err
	}
	p.Notes, p.Manifest = plan.Notes, plan.Manifest
	r, ok := target.(targets.Rehearser)
	if !ok {
		return nil
	}
	if p.Manifest, err = r.Documents(c.owner(), plan); err != nil {
		return err
	}
	if preflight.Count(p.Findings, preflight.Blocker) > 0 {
		return nil // what blocks would be refused again, in other words
	}
	if err := r.Rehearse(ctx, c.owner(), plan); err != nil {
		return fmt.Errorf("the cluster was asked whether it would take this: %w", err)
	}
	p.Rehearsed = true
	return nil
}

// shared looks up once for a while what many drafts have in common, so that a hundred drafts of one endpoint do not ask for
// it a hundred times, nor wait a hundred times for one that is not there.
func (e *Engine) shared() outside {
	w := e.outside()
	dials := remembered[sources.Source](e.Now)
	others := remembered[[]preflight.Planned](e.Now)
	lists := remembered[[]machine.VM](e.Now)
	return outside{
		source: func(ctx context.Context, s spec.Source) (sources.Source, error) {
			return dials(sourceKey(s), func() (sources.Source, error) { return w.source(ctx, s) })
		},
		target: newPool(e.Now, w.target).facts,
		beside: func(ctx context.Context) ([]preflight.Planned, error) {
			return others("", func() ([]preflight.Planned, error) { return w.beside(ctx) })
		},
		listed: func(ctx context.Context, s spec.Source) ([]machine.VM, error) {
			return lists(sourceKey(s), func() ([]machine.VM, error) { return w.listed(ctx, s) })
		},
	}
}

// remembered gives a function that looks a thing up by its key and keeps what it found, failures too, for a while.
func remembered[T any](now func() time.Time) func(key string, look func() (T, error)) (T, error) {
	type entry struct {
		mu    sync.Mutex
		at    time.Time
		value T
		err   error
	}
	var mu sync.Mutex
	all := map[string]*entry{}
	return func(key string, look func() (T, error)) (T, error) {
		mu.Lock()
		m := all[key]
		if m == nil {
			m = &entry{}
			all[key] = m
		}
		mu.Unlock()
		m.mu.Lock()
		defer m.mu.Unlock()
		if age := now().Sub(m.at); m.at.IsZero() || age >= sharedFor || age < 0 {
			m.value, m.err = look()
			m.at = now()
		}
		return m.value, m.err
	}
}
