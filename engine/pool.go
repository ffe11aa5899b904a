package engine

import (
	"context"
	"slices"
	"sync"
	"time"

	"landfall/targets"
)

// pool looks at a cluster once for all the candidates that wait for it: they are asked about together.
type pool struct {
	now  func() time.Time
	look func(context.Context, candidate) (targets.Facts, error)

	mu  sync.Mutex
	all map[string]*pooled
}

type pooled struct {
	waiting []targets.Question // guarded by the pool's mutex

	mu    sync.Mutex
	asked targets.Question
	facts targets.Facts
	err   error
	at    time.Time
}

func newPool(now func() time.Time, look func(context.Context, candidate) (targets.Facts, error)) *pool {
	return &pool{now: now, look: look, all: map[string]*pooled{}}
}

// facts gives what is known of the candidate's cluster, and who has the candidate's name there.
func (p *pool) facts(ctx context.Context, c candidate) (targets.Facts, error) {
	q := c.question()
	k := key(targetKey(c.options.Destination), q.Namespace, q.Delivery)
	p.mu.Lock()
	one := p.all[k]
	if one == nil {
		one = &pooled{}
		p.all[k] = one
	}
	one.waiting = append(one.waiting, q)
	p.mu.Unlock()

	one.mu.Lock()
	defer one.mu.Unlock()
	if age := p.now().Sub(one.at); one.at.IsZero() || age < 0 || age >= sharedFor || !covers(one.asked, q) {
		p.mu.Lock()
		others := one.waiting
		one.waiting = nil
		p.mu.Unlock()
		c.beside = together(q, others)
		one.facts, one.err = p.look(ctx, c)
		one.asked, one.at = c.question(), p.now()
		if ctx.Err() != nil {
			one.at = time.Time{} // another candidate's patience is its own
		}
	}
	f := one.facts
	if q.VMName != one.asked.VMName {
		f.NameTaken = f.Names[q.VMName]
	}
	return f, one.err
}

// together is what the others ask beyond the first question.
func together(first targets.Question, others []targets.Question) (all targets.Question) {
	for _, o := range others {
		if !slices.Contains(all.VMNames, o.VMName) && o.VMName != first.VMName {
			all.VMNames = append(all.VMNames, o.VMName)
		}
		all.StorageClasses = append(all.StorageClasses, o.StorageClasses...)
		all.Networks = append(all.Networks, o.Networks...)
		all.MACs = append(all.MACs, o.MACs...)
	}
	return all
}

// covers tells whether the answer to one question answers the other.
func covers(asked, q targets.Question) bool {
	in := func(have, want []string) bool {
		return !slices.ContainsFunc(want, func(w string) bool { return !slices.Contains(have, w) })
	}
	return (asked.VMName == q.VMName || slices.Contains(asked.VMNames, q.VMName)) && in(asked.StorageClasses, q.StorageClasses) &&
		in(asked.Networks, q.Networks) && in(asked.MACs, q.MACs)
}
