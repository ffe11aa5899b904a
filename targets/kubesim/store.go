package kubesim

import (
	"cmp"
	"reflect"
	"slices"
	"strconv"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/util/uuid"
)

// change is one line of the cluster's history.
type change struct {
	rv     uint64
	event  string // ADDED, MODIFIED, DELETED
	kind   *kind
	object object
	before object // nil for ADDED
}

type place struct{ namespace, name string }

// store keeps the objects and the newest part of their history. All access is through do, so that what an act reads is
// still true when it writes.
type store struct {
	mu      sync.Mutex
	rv      uint64
	items   map[*kind]map[place]object
	log     []change
	trimmed uint64 // of what happened up to here, only the result is known
	keep    int
	news    chan struct{} // closed and replaced at every change
	journal *journal
	now     func() time.Time
}

func newStore(keep int, now func() time.Time) *store {
	return &store{items: map[*kind]map[place]object{}, keep: keep, news: make(chan struct{}), now: now}
}

// tx is the store while its lock is held.
type tx struct{ s *store }

func (s *store) do(act func(tx) error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return act(tx{s})
}

// view is do for acts that cannot fail.
func (s *store) view(act func(tx)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	act(tx{s})
}

func (t tx) get(k *kind, ns, n string) object { return t.s.items[k][place{ns, n}] }

// list is ordered by namespace and name; "" is every namespace.
func (t tx) list(k *kind, ns string) []object {
	var out []object
	for p, o := range t.s.items[k] {
		if ns == "" || p.namespace == ns {
			out = append(out, o)
		}
	}
	slices.SortFunc(out, func(a, b object) int {
		return cmp.Or(cmp.Compare(namespace(a), namespace(b)), cmp.Compare(name(a), name(b)))
	})
	return out
}

// put stores o, which the caller gives away, and returns what is stored now. Storing what is there already is no change.
func (t tx) put(k *kind, o object) object {
	s := t.s
	o["apiVersion"], o["kind"] = k.apiVersion(), k.name
	p := place{namespace(o), name(o)}
	before := s.items[k][p]
	event := "ADDED"
	if before == nil {
		set(o, string(uuid.NewUUID()), "metadata", "uid")
		set(o, stamp(s.now()), "metadata", "creationTimestamp")
		if k.custom {
			set(o, int64(1), "metadata", "generation")
		}
	} else {
		event = "MODIFIED"
		set(o, str(before, "metadata", "resourceVersion"), "metadata", "resourceVersion")
		if reflect.DeepEqual(o, before) {
			return before
		}
		if k.custom && !sameSpec(o, before) {
			g, _ := at(before, "metadata", "generation").(int64)
			set(o, g+1, "metadata", "generation")
		}
	}
	s.rv++
	set(o, strconv.FormatUint(s.rv, 10), "metadata", "resourceVersion")
	if s.items[k] == nil {
		s.items[k] = map[place]object{}
	}
	s.items[k][p] = o
	s.record(change{s.rv, event, k, o, before})
	return o
}

// drop takes o out for good.
func (t tx) drop(k *kind, o object) object {
	s := t.s
	p := place{namespace(o), name(o)}
	before := s.items[k][p]
	if before == nil {
		return o
	}
	delete(s.items[k], p)
	s.rv++
	last := clone(before)
	set(last, strconv.FormatUint(s.rv, 10), "metadata", "resourceVersion")
	s.record(change{s.rv, "DELETED", k, last, before})
	return last
}

// edit changes one object by a function on a copy.
func (t tx) edit(k *kind, o object, change func(object)) object {
	c := clone(o)
	change(c)
	return t.put(k, c)
}

func (s *store) record(c change) {
	s.log = append(s.log, c)
	if len(s.log) > 2*s.keep {
		s.trim(s.keep)
	}
	if s.journal != nil {
		s.journal.write(c)
	}
	close(s.news)
	s.news = make(chan struct{})
}

// trim forgets all but the newest n changes.
func (s *store) trim(n int) {
	if cut := len(s.log) - n; cut > 0 {
		s.trimmed = s.log[cut-1].rv
		s.log = slices.Clone(s.log[cut:])
	}
}

// since gives the changes after rv and a channel that closes with the next one; ok is false if they are forgotten.
func (s *store) since(rv uint64) (list []change, upto uint64, news <-chan struct{}, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if rv < s.trimmed {
		return nil, s.rv, s.news, false
	}
	i, _ := slices.BinarySearchFunc(s.log, rv+1, func(c change, rv uint64) int { return cmp.Compare(c.rv, rv) })
	return slices.Clone(s.log[i:]), s.rv, s.news, true
}

// changed closes with the next change.
func (s *store) changed() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.news
}

func sameSpec(a, b object) bool {
	for k, v := range a {
		if k != "metadata" && k != "status" && !reflect.DeepEqual(v, b[k]) {
			return false
		}
	}
	for k := range b {
		if _, ok := a[k]; !ok && k != "metadata" && k != "status" {
			return false
		}
	}
	return true
}
