package nbd

import (
	"context"
	"fmt"
	"io"
	"sync"

	"landfall/engine/fault"
	"landfall/sources"
)

// Disk is an export opened for reading.
type Disk struct {
	address Address
	size    int64
	streams int
	explain func(error) error

	mu     sync.Mutex
	conns  []*conn // as many as the server wants at most; nil or dead ones are made anew
	turn   int
	closed bool
}

var _ sources.Disk = (*Disk)(nil)

const (
	streams     = 8 // requests of so many readers travel at once
	connections = 4 // where the server says that they see the same bytes
	window      = 4 // requests that one reader has under way
	piece       = 256 << 10
)

// Open connects to a server and proves that the export has so many bytes.
func Open(ctx context.Context, uri string, size int64) (*Disk, error) {
	a, err := Parse(uri)
	if err != nil {
		return nil, err
	}
	return open(ctx, a, size, func(err error) error { return err })
}

func open(ctx context.Context, a Address, size int64, explain func(error) error) (*Disk, error) {
	c, err := dial(ctx, a)
	if err != nil {
		return nil, explain(err)
	}
	if c.size != size {
		c.close()
		return nil, fault.Hint(fault.Newf(fault.Blocked, fault.SizeChanged, "the NBD export has %d bytes, the disk %d", c.size, size), "look whether it serves the right disk")
	}
	d := &Disk{address: a, size: size, streams: streams, explain: explain, conns: []*conn{c}}
	if c.multi {
		d.conns = append(d.conns, make([]*conn, connections-1)...)
	}
	return d, nil
}

// Reader names the way the disk is read.
func (d *Disk) Reader() string { return "nbd" }

// Size is what the server told.
func (d *Disk) Size() int64 { return d.size }

// Streams is how many readers may be at work.
func (d *Disk) Streams() int { return d.streams }

// Close says goodbye; streams still open fail.
func (d *Disk) Close() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.closed = true
	for _, c := range d.conns {
		if c != nil {
			c.close()
		}
	}
	return nil
}

// conn gives one of the connections, in turn. One that died is replaced, should the server still be there and be the same.
func (d *Disk) conn(ctx context.Context) (*conn, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return nil, fault.Newf(fault.Blocked, fault.Interrupted, "the disk is closed")
	}
	d.turn = (d.turn + 1) % len(d.conns)
	if c := d.conns[d.turn]; c != nil && c.alive() {
		return c, nil
	}
	c, err := dial(ctx, d.address)
	if err != nil {
		return nil, d.explain(err)
	}
	if c.size != d.size {
		c.close()
		return nil, fault.Newf(fault.Blocked, fault.SizeChanged, "the NBD export had %d bytes and has %d now", d.size, c.size)
	}
	d.conns[d.turn] = c
	return c, nil
}

// Open gives a range.
func (d *Disk) Open(ctx context.Context, offset, length int64) (io.ReadCloser, error) {
	if offset < 0 || length < 0 || length > d.size-offset {
		return nil, fault.Newf(fault.Blocked, fault.Refused, "read %d bytes at %d: the disk has only %d", length, offset, d.size)
	}
	c, err := d.conn(ctx)
	if err != nil {
		return nil, fmt.Errorf("read %d bytes at %d by NBD: %w", length, offset, err)
	}
	ctx, cancel := context.WithCancel(ctx)
	s := &stream{d: d, c: c, ctx: ctx, cancel: cancel, asked: offset, end: offset + length, at: offset, unit: min(piece, c.largest)}
	s.ask()
	return s, nil
}

// Allocated asks which areas may hold data.
func (d *Disk) Allocated(ctx context.Context) ([]sources.Extent, error) {
	c, err := d.conn(ctx)
	if err != nil {
		return nil, fmt.Errorf("ask by NBD what is in use: %w", err)
	}
	if !c.status {
		return nil, fault.Newf(fault.Blocked, fault.Unsupported, "the whole disk must be read: the NBD server does not tell what is allocated")
	}
	out := []sources.Extent{}
	for at := int64(0); at < d.size; {
		q := &request{offset: at, length: min(mostStatus, d.size-at)}
		if err := c.do(ctx, cmdStatus, q); err != nil {
			return nil, fmt.Errorf("ask by NBD what is in use at %d: %w", at, d.explain(err))
		}
		if q.reach <= at {
			return nil, fault.Newf(fault.Blocked, fault.Unsupported, "the whole disk must be read: the NBD server's answers make no progress")
		}
		for _, e := range q.extents {
			if n := len(out); n > 0 && out[n-1].End() == e.Offset {
				out[n-1].Length += e.Length
				continue
			}
			if e.Length > 0 {
				out = append(out, e)
			}
		}
		at = q.reach
	}
	return out, nil
}

// stream reads a range by requests of which several are under way.
type stream struct {
	d      *Disk
	c      *conn
	ctx    context.Context
	cancel context.CancelFunc
	unit   int64

	at, asked, end int64
	queue          []chan answer
	rest           []byte // of the answer at hand
	err            error
}

type answer struct {
	p   []byte
	err error
}

// ask fills the window.
func (s *stream) ask() {
	for len(s.queue) < window && s.asked < s.end {
		n := min(s.unit-s.asked%s.unit, s.end-s.asked) // what follows is aligned
		q := &request{offset: s.asked, length: n, buf: make([]byte, n)}
		done := make(chan answer, 1)
		go func() {
			err := s.c.do(s.ctx, cmdRead, q)
			done <- answer{q.buf, err}
		}()
		s.queue = append(s.queue, done)
		s.asked += n
	}
}

func (s *stream) Read(p []byte) (int, error) {
	if s.err != nil {
		return 0, s.err
	}
	if len(s.rest) == 0 {
		if s.at == s.end {
			return 0, io.EOF
		}
		a := <-s.queue[0]
		s.queue = s.queue[1:]
		if a.err != nil {
			s.err = fmt.Errorf("read at %d by NBD: %w", s.at, s.d.explain(a.err))
			s.cancel()
			return 0, s.err
		}
		s.rest = a.p
		s.ask()
	}
	n := copy(p, s.rest)
	s.rest = s.rest[n:]
	s.at += int64(n)
	return n, nil
}

// Close leaves what is under way to the connection: replies that nobody wants any more cost less than another one.
func (s *stream) Close() error {
	if s.err == nil {
		s.err = fault.Newf(fault.Blocked, fault.Interrupted, "the stream is closed")
	}
	s.cancel()
	return nil
}
