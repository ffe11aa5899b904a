package kubevirt

import (
	"net"
	"sync"
	"time"
)

// acknowledged turns bytes of the stream into bytes of the image: what was written, less what the kernel still holds for
// the other side to take.
type acknowledged struct {
	mu      sync.Mutex
	marks   []mark // in order; those passed are dropped
	written int64  // of the stream, taken by the connection
	raw     int64  // of the image, up to the last mark passed
	moved   time.Time
	conn    net.Conn // the plain connection below TLS, where there is one
	sent    bool     // the whole stream is out
}

type mark struct{ wire, raw int64 }

// add records that the stream up to wire stands for the image up to raw.
func (a *acknowledged) add(wire, raw int64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.marks = append(a.marks, mark{wire, raw})
}

func (a *acknowledged) took(n int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.written += int64(n)
}

func (a *acknowledged) use(c net.Conn) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.conn = c
}

func (a *acknowledged) finished() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.sent = true
}

// total gives the bytes of the image that the other side has taken, and since when nothing has moved.
func (a *acknowledged) total(now time.Time) (raw int64, still time.Duration, sent bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	held := unsent(a.conn)
	arrived := a.written - held
	moved := false
	for len(a.marks) > 0 && a.marks[0].wire <= arrived {
		a.raw = a.marks[0].raw
		a.marks = a.marks[1:]
		moved = true
	}
	if moved || a.moved.IsZero() {
		a.moved = now
	}
	return a.raw, now.Sub(a.moved), a.sent && held == 0
}
