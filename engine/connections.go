package engine

import (
	"context"
	"encoding/json"
	"sync"
	"time"

	"landfall/engine/fault"
	"landfall/engine/spec"
)

// connections keep one connection for each endpoint, made when it is first needed.
type connections[A any, T interface{ Close() error }] struct {
	dial func(ctx context.Context, a A, again bool) (T, error)
	key  func(A) string

	mu  sync.Mutex
	all map[string]*connection[T]
}

type connection[T any] struct {
	mu      sync.Mutex
	open    bool
	value   T
	refused error // wrong credentials: not tried again until a person asks, or the account would be locked
	again   bool  // a person asked
}

func newConnections[A any, T interface{ Close() error }](dial func(context.Context, A, bool) (T, error), key func(A) string) *connections[A, T] {
	return &connections[A, T]{dial: dial, key: key, all: map[string]*connection[T]{}}
}

// dialTimeout bounds how long a turn waits for an endpoint.
const dialTimeout = 45 * time.Second

func (c *connections[A, T]) get(ctx context.Context, a A) (T, error) {
	c.mu.Lock()
	k := c.key(a)
	e := c.all[k]
	if e == nil {
		e = &connection[T]{}
		c.all[k] = e
	}
	c.mu.Unlock()
	e.mu.Lock()
	defer e.mu.Unlock()
	var none T
	switch {
	case e.open:
		return e.value, nil
	case e.refused != nil:
		return none, e.refused
	}
	ctx, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	v, err := c.dial(ctx, a, e.again)
	e.again = false
	if err != nil {
		if fault.Is(err, fault.WrongCredentials) {
			e.refused = err
		}
		return none, err
	}
	e.value, e.open = v, true
	return v, nil
}

// retry lets an endpoint that refused the credentials be tried once more: a person asked.
func (c *connections[A, T]) retry(a A) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if e := c.all[c.key(a)]; e != nil {
		e.mu.Lock()
		defer e.mu.Unlock()
		e.refused, e.again = nil, true
	}
}

func (c *connections[A, T]) close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for k, e := range c.all {
		if e.open {
			_ = e.value.Close()
		}
		delete(c.all, k)
	}
}

// sourceKey names the endpoint and how it is trusted, not the VM.
func sourceKey(s spec.Source) string {
	return key(s.Type, s.Address, s.Username, s.Password, s.TLS, s.MaxConnections, s.NBD)
}

func targetKey(d spec.Destination) string { return key(d.Kubeconfig, d.Context, d.UploadProxy) }

func key(parts ...any) string {
	b, _ := json.Marshal(parts) // of plain strings and structs of strings: it cannot fail
	return string(b)
}
