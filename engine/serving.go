package engine

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"sync"
	"time"

	"landfall/engine/delivery"
	"landfall/engine/transfer"
	"landfall/targets"
)

// serving offers artifacts to clusters that fetch them (delivery HTTP), one server for each address. Authority and
// passwords end with the process: a fetch that another process offered is begun anew.
type serving struct {
	now     func() time.Time
	mu      sync.Mutex
	servers map[string]*delivery.Server
	offers  map[string]offered
}

type offered struct {
	address  string
	pull     targets.Pull
	artifact Delivery
}

func newServing(now func() time.Time) *serving {
	return &serving{now: now, servers: map[string]*delivery.Server{}, offers: map[string]offered{}}
}

// offer serves what open opens under the key, unless it is served there already.
func (s *serving) offer(ctx context.Context, address, key string, open func(context.Context) (Delivery, error)) (*targets.Pull, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if o, ok := s.offers[key]; ok && o.address == address {
		return &o.pull, nil
	}
	server := s.servers[address]
	if server == nil {
		var err error
		if server, err = delivery.Start(address, s.now); err != nil {
			return nil, err
		}
		s.servers[address] = server
	}
	a, err := open(ctx)
	if err != nil {
		return nil, err
	}
	at := server.Offer(key, &chunkReader{a: a, at: -1}, a.Length())
	o := offered{address: address, artifact: a, pull: targets.Pull{URL: at.URL, Username: at.Username, Password: at.Password, CA: at.CA}}
	s.offers[key] = o
	return &o.pull, nil
}

// withdraw ends an offer.
func (s *serving) withdraw(key string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if o, ok := s.offers[key]; ok {
		s.servers[o.address].Withdraw(key)
		_ = o.artifact.Close()
		delete(s.offers, key)
	}
}

func (s *serving) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, server := range s.servers {
		_ = server.Close()
	}
	for _, o := range s.offers {
		_ = o.artifact.Close()
	}
}

// authority names who signs for an offer; it tells whether a volume was made for an offer of this process.
func authority(p *targets.Pull) string {
	sum := sha256.Sum256(p.CA)
	return hex.EncodeToString(sum[:8])
}

// chunkReader reads an artifact at any place, whole chunks at a time, each compared with its recorded digest.
type chunkReader struct {
	a   Delivery
	mu  sync.Mutex
	buf []byte
	at  int64 // chunk in buf
	n   int
}

func (r *chunkReader) ReadAt(p []byte, off int64) (done int, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for done < len(p) {
		i := (off + int64(done)) / transfer.ChunkSize
		if i >= r.a.Chunks() {
			return done, io.EOF
		}
		if err := r.load(i); err != nil {
			return done, err
		}
		within := int(off + int64(done) - i*transfer.ChunkSize)
		if within >= r.n {
			return done, io.EOF
		}
		done += copy(p[done:], r.buf[within:r.n])
	}
	return done, nil
}

func (r *chunkReader) load(i int64) error {
	if r.at == i {
		return nil
	}
	if r.buf == nil {
		r.buf = make([]byte, transfer.ChunkSize)
	}
	n, zero, err := r.a.ReadChunk(i, r.buf)
	if err != nil {
		r.at = -1
		return err
	}
	if zero {
		clear(r.buf)
	}
	r.at, r.n = i, n
	return nil
}
