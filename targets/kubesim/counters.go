package kubesim

import (
	"maps"
	"sync"
)

// Counters are what clients did since the start of this process.
type Counters struct {
	Calls   map[string]int64 `json:"calls"`   // by "verb resource", as in "create datavolumes"
	Uploads map[string]int64 `json:"uploads"` // bytes on the wire by "namespace/claim", over all tries
}

type counters struct {
	mu sync.Mutex
	c  Counters
}

func newCounters() *counters {
	return &counters{c: Counters{Calls: map[string]int64{}, Uploads: map[string]int64{}}}
}

func (c *counters) call(verb, resource string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.c.Calls[verb+" "+resource]++
}

func (c *counters) uploaded(ns, claim string, n int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.c.Uploads[ns+"/"+claim] += n
}

// Counters is a copy of the counters.
func (s *Server) Counters() Counters {
	s.counters.mu.Lock()
	defer s.counters.mu.Unlock()
	return Counters{maps.Clone(s.counters.c.Calls), maps.Clone(s.counters.c.Uploads)}
}
