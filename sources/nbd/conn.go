package nbd

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"landfall/engine/fault"
	"landfall/sources"
)

// conn is one connection. Any number of requests may be under way; each reply finds its own.
type conn struct {
	net net.Conn
	export

	send  sync.Mutex
	heard atomic.Int64 // when the last reply began, in Unix nanoseconds

	mu      sync.Mutex
	next    uint64
	waiting map[uint64]*request
	dead    error
}

// silence is how long a server may say nothing at all.
const silence = 30 * time.Second

// request waits for its reply. Only the receiver touches what is below done before that is closed.
type request struct {
	offset, length int64
	buf            []byte // of a read; nil for a question about allocation
	done           chan struct{}

	filled  int64
	extents []sources.Extent // what may hold data
	reach   int64
	err     error
}

func dial(ctx context.Context, a Address) (*conn, error) {
	var d net.Dialer
	n, err := d.DialContext(ctx, a.Network, a.Where)
	if err != nil {
		return nil, unreachable(err)
	}
	stop := context.AfterFunc(ctx, func() { _ = n.Close() })
	e, err := shake(n, a.Export)
	if !stop() {
		return nil, context.Cause(ctx)
	}
	if err != nil {
		_ = n.Close()
		return nil, unreachable(err)
	}
	c := &conn{net: n, export: e, waiting: map[uint64]*request{}}
	go c.receive()
	return c, nil
}

// unreachable classes a failure of the connection.
func unreachable(err error) error {
	if err == nil || fault.ClassOf(err) != "" {
		return err
	}
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		err = fmt.Errorf("the server ended the connection")
	}
	return fault.Hint(fault.New(fault.Transient, fault.Unreachable, err), "look whether the NBD server runs, and what it says")
}

func (c *conn) do(ctx context.Context, command uint16, r *request) error {
	r.done = make(chan struct{})
	began := time.Now()
	c.mu.Lock()
	if c.dead != nil {
		c.mu.Unlock()
		return c.dead
	}
	c.next++
	cookie := c.next
	c.waiting[cookie] = r
	c.mu.Unlock()

	be := binary.BigEndian
	b := be.AppendUint32(make([]byte, 0, 28), magicRequest)
	b = be.AppendUint16(b, 0)
	b = be.AppendUint16(b, command)
	b = be.AppendUint64(b, cookie)
	b = be.AppendUint64(b, uint64(r.offset))
	b = be.AppendUint32(b, uint32(r.length))
	c.send.Lock()
	_ = c.net.SetWriteDeadline(began.Add(silence))
	_, err := c.net.Write(b)
	c.send.Unlock()
	if err != nil {
		c.kill(err)
	}
	select {
	case <-r.done:
		return r.err
	case <-ctx.Done():
		// The reply may still come: its buffer is the receiver's. Only a server that says nothing at all is given up.
		if time.Since(began) > silence && c.heard.Load() < began.UnixNano() {
			c.kill(fault.Newf(fault.Transient, fault.Unreachable, "the server says nothing for %s", silence))
		}
		return context.Cause(ctx)
	}
}

// kill ends the connection; whatever waits fails.
func (c *conn) kill(err error) {
	c.mu.Lock()
	if c.dead == nil {
		c.dead = unreachable(err)
	}
	c.mu.Unlock()
	_ = c.net.Close() // the receiver notices and ends all
}

func (c *conn) alive() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.dead == nil
}

// close says goodbye.
func (c *conn) close() {
	b := binary.BigEndian.AppendUint32(nil, magicRequest)
	b = append(b, 0, 0, 0, cmdDisc)
	b = append(b, make([]byte, 20)...)
	c.send.Lock()
	_, _ = c.net.Write(b)
	c.send.Unlock()
	c.kill(fault.Newf(fault.Blocked, fault.Interrupted, "the disk is closed"))
}

// receive hands replies out until the connection ends.
func (c *conn) receive() {
	r := bufio.NewReaderSize(c.net, 256<<10)
	var err error
	for err == nil {
		err = c.reply(r)
	}
	c.kill(err)
	c.mu.Lock()
	defer c.mu.Unlock()
	for cookie, q := range c.waiting {
		delete(c.waiting, cookie)
		q.err = c.dead
		close(q.done)
	}
}

// take finds who waits; end is true for the last part of a reply.
func (c *conn) take(cookie uint64, end bool) (*request, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	q := c.waiting[cookie]
	if q == nil {
		return nil, broken("a reply to nothing")
	}
	if end {
		delete(c.waiting, cookie)
	}
	return q, nil
}

func (c *conn) reply(r *bufio.Reader) error {
	var b [20]byte
	if _, err := io.ReadFull(r, b[:4]); err != nil {
		return err
	}
	c.heard.Store(time.Now().UnixNano())
	be := binary.BigEndian
	switch magic := be.Uint32(b[:]); {
	case magic == magicSimple:
		if _, err := io.ReadFull(r, b[4:16]); err != nil {
			return err
		}
		return c.simple(r, be.Uint64(b[8:]), be.Uint32(b[4:]))
	case magic == magicStructured && c.structured:
		if _, err := io.ReadFull(r, b[4:20]); err != nil {
			return err
		}
		return c.chunk(r, be.Uint16(b[4:]), be.Uint16(b[6:]), be.Uint64(b[8:]), int64(be.Uint32(b[16:])))
	}
	return broken("a reply of no kind")
}

func (c *conn) simple(r io.Reader, cookie uint64, errno uint32) error {
	q, err := c.take(cookie, true)
	if err != nil {
		return err
	}
	defer close(q.done)
	q.err = failure(errno, "")
	if errno == 0 && q.buf != nil {
		if c.structured {
			q.err = broken("an unstructured reply to a read")
			return q.err
		}
		if _, err := io.ReadFull(r, q.buf); err != nil {
			q.err = unreachable(err)
			return err
		}
		q.filled = q.length
	}
	return nil
}

// chunk takes one part of a structured reply.
func (c *conn) chunk(r io.Reader, flags, kind uint16, cookie uint64, length int64) error {
	end := flags&chunkDone != 0
	if length > mostPayload {
		return broken("a part of %d bytes", length)
	}
	q, err := c.take(cookie, end)
	if err != nil {
		return err
	}
	err = q.part(r, kind, length, c.context)
	if err != nil && q.err == nil {
		q.err = unreachable(err)
	}
	if end {
		if q.err == nil && q.buf != nil && q.filled != q.length {
			q.err = broken("%d of %d bytes", q.filled, q.length)
		}
		close(q.done)
	}
	return err
}

func (q *request) part(r io.Reader, kind uint16, length int64, context uint32) error {
	be := binary.BigEndian
	if kind == chunkData {
		var b [8]byte
		if length < 9 {
			return broken("data of %d bytes", length)
		}
		if _, err := io.ReadFull(r, b[:]); err != nil {
			return err
		}
		p, err := q.window(be.Uint64(b[:]), length-8)
		if err == nil {
			_, err = io.ReadFull(r, p)
		}
		return err
	}
	p := make([]byte, length)
	if _, err := io.ReadFull(r, p); err != nil {
		return err
	}
	switch {
	case kind == chunkNone && length == 0:
	case kind == chunkHole && length == 12:
		w, err := q.window(be.Uint64(p), int64(be.Uint32(p[8:])))
		clear(w)
		return err
	case kind == chunkStatus && length >= 12 && (length-4)%8 == 0 && q.buf == nil:
		if be.Uint32(p) == context {
			q.states(p[4:])
		}
	case kind >= chunkError && length >= 6: // also errors of kinds that are not known
		text := p[6:min(int64(6)+int64(be.Uint16(p[4:])), length)]
		if q.err == nil {
			q.err = failure(max(be.Uint32(p), 1), string(text[:min(len(text), 300)]))
		}
	default:
		return broken("a part of kind %d with %d bytes", kind, length)
	}
	return nil
}

// window is the part of the buffer that an answer fills. Each byte is filled once: more than was asked is refused.
func (q *request) window(offset uint64, length int64) ([]byte, error) {
	at := int64(offset) - q.offset
	if q.buf == nil || offset > 1<<62 || at < 0 || length <= 0 || length > q.length-at || q.filled > q.length-length {
		return nil, broken("bytes that were not asked for")
	}
	q.filled += length
	return q.buf[at : at+length], nil
}

// states reads how areas are allocated, from the request's offset on.
func (q *request) states(p []byte) {
	at := q.offset
	for ; len(p) >= 8 && at < q.offset+q.length; p = p[8:] {
		length := min(int64(binary.BigEndian.Uint32(p)), q.offset+q.length-at)
		if binary.BigEndian.Uint32(p[4:])&stateZero == 0 { // a hole of which nothing is said may hold anything
			q.extents = append(q.extents, sources.Extent{Offset: at, Length: length})
		}
		at += length
	}
	q.reach = at
}

// failure is the server's own error.
func failure(errno uint32, text string) error {
	if errno == 0 {
		return nil
	}
	err := error(syscall.Errno(errno))
	if text != "" {
		err = fmt.Errorf("%s (%w)", text, err)
	}
	switch syscall.Errno(errno) {
	case syscall.EPERM, syscall.EINVAL, syscall.EOPNOTSUPP:
		return fault.New(fault.Blocked, fault.Refused, err)
	}
	return fault.New(fault.Transient, "ServerError", err)
}
