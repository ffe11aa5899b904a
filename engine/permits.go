package engine

import (
	"slices"
	"sync"
)

// permits bound how many disks are copied from one source at once. A migration with few of them goes before one with
// many, and among equals who came first; lowering the limit takes none away.
type permits struct {
	mu    sync.Mutex
	max   int
	hosts map[string]*line
}

type line struct {
	held    []ticket
	waiting []ticket // in order of arrival
}

type ticket struct{ uid, key string }

func newPermits(limit int) *permits { return &permits{max: limit, hosts: map[string]*line{}} }

func (p *permits) limit() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.max
}

// ask gives a permit, or the place in the line: 1 is next. Asking again keeps the place.
func (p *permits) ask(host, uid, key string) (bool, int) { return p.askAll([]string{host}, uid, key) }

// askAll gives a permit of every line at once, or of none, and then the worst place.
func (p *permits) askAll(hosts []string, uid, key string) (bool, int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	me := ticket{uid, key}
	worst, full := 0, false
	for _, host := range hosts {
		l := p.hosts[host]
		if l == nil {
			l = &line{}
			p.hosts[host] = l
		}
		if slices.Contains(l.held, me) {
			continue
		}
		if !slices.Contains(l.waiting, me) {
			l.waiting = append(l.waiting, me)
		}
		order := slices.Clone(l.waiting)
		slices.SortStableFunc(order, func(a, b ticket) int { return l.holds(a.uid) - l.holds(b.uid) })
		place := slices.Index(order, me)
		full = full || place >= p.max-len(l.held)
		worst = max(worst, place+1)
	}
	if full {
		return false, worst
	}
	for _, host := range hosts {
		l := p.hosts[host]
		if !slices.Contains(l.held, me) {
			l.held = append(l.held, me)
			l.waiting = slices.DeleteFunc(l.waiting, func(t ticket) bool { return t == me })
		}
	}
	return true, 0
}

func (l *line) holds(uid string) (n int) {
	for _, t := range l.held {
		if t.uid == uid {
			n++
		}
	}
	return n
}

// free gives a permit back, whichever host's it is. Who holds none gives none back.
func (p *permits) free(uid, key string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, l := range p.hosts {
		l.held = slices.DeleteFunc(l.held, func(t ticket) bool { return t == ticket{uid, key} })
	}
}

// leave takes a migration out of every line, and its permits back but for those whose copy works: that copy frees its own
// when it ends.
func (p *permits) leave(uid string, works func(key string) bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, l := range p.hosts {
		l.waiting = slices.DeleteFunc(l.waiting, func(t ticket) bool { return t.uid == uid })
		l.held = slices.DeleteFunc(l.held, func(t ticket) bool { return t.uid == uid && !works(t.key) })
	}
}
