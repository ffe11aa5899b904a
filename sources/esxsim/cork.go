package esxsim

import (
	"context"
	"net"
	"sync"
)

// corked joins the records that TLS writes one by one, while a body is being
// written: a system call per 16 KiB is half of what serving a disk costs.
// Outside cork and uncork it writes through.
type corked struct {
	net.Conn
	mu   sync.Mutex // TLS may answer its peer from the reading side
	buf  []byte
	held bool
}

const corkSize = 256 << 10

type corkKey struct{}

func corkOf(ctx context.Context) *corked {
	c, _ := ctx.Value(corkKey{}).(*corked)
	return c
}

func (c *corked) Write(p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.held {
		return c.Conn.Write(p)
	}
	if len(c.buf)+len(p) > corkSize {
		if err := c.flush(); err != nil {
			return 0, err
		}
	}
	c.buf = append(c.buf, p...)
	return len(p), nil
}

func (c *corked) cork() {
	if c == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.buf == nil {
		c.buf = make([]byte, 0, corkSize)
	}
	c.held = true
}

func (c *corked) uncork() error {
	if c == nil {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.held = false
	return c.flush()
}

func (c *corked) flush() error {
	if len(c.buf) == 0 {
		return nil
	}
	_, err := c.Conn.Write(c.buf)
	c.buf = c.buf[:0]
	return err
}

// corkListener wraps what it accepts.
type corkListener struct{ net.Listener }

func (l corkListener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &corked{Conn: c}, nil
}
