package esxsim

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// body is an answer of /folder: it counts, limits, and breaks as the script says.
type body struct {
	http.ResponseWriter
	server  *Server
	request *http.Request
	fault   *HTTPFault
	cleared <-chan struct{} // ends a stall
	own     *rate.Limiter   // of this body alone

	status        int
	offset, asked int64
	sent          int64
	broken        error
	counts        FileCounters
	get           bool
}

var (
	errEnd  = errors.New("the body ends here")
	errCut  = errors.New("the connection breaks here")
	buffers = sync.Pool{New: func() any { b := make([]byte, 1<<20); return &b }}
)

func (b *body) WriteHeader(status int) {
	if b.status != 0 {
		return
	}
	b.status = status
	h := b.Header()
	if b.server.cfg.NoAcceptRanges {
		h.Del("Accept-Ranges")
	}
	if status == http.StatusOK || status == http.StatusPartialContent {
		b.asked, _ = strconv.ParseInt(h.Get("Content-Length"), 10, 64)
		var to, size int64
		_, _ = fmt.Sscanf(h.Get("Content-Range"), "bytes %d-%d/%d", &b.offset, &to, &size)
		if b.fault != nil && b.fault.End && b.get && b.fault.After < b.asked {
			h.Del("Content-Length") // chunked, so that the end looks right
		}
		if b.fault != nil && b.fault.Rate > 0 {
			b.own = newLimiter(b.fault.Rate)
		}
	}
	b.ResponseWriter.WriteHeader(status)
}

func (b *body) Write(p []byte) (int, error) {
	if b.status == 0 {
		b.WriteHeader(http.StatusOK)
	}
	if b.status >= 400 || !b.get {
		return b.ResponseWriter.Write(p)
	}
	done := 0
	for done < len(p) && b.broken == nil {
		part := p[done:]
		if f := b.fault; f != nil && (f.Cut || f.End || f.Stall) {
			left := f.After - b.sent
			if left <= 0 {
				b.broken = b.breakOff()
				break
			}
			part = part[:min(int64(len(part)), left)]
		}
		part, b.broken = b.wait(part)
		if b.broken != nil {
			break
		}
		var n int
		n, b.broken = b.send(part)
		done, b.sent = done+n, b.sent+int64(n)
	}
	return done, b.broken
}

// newLimiter lets a twentieth of a second's bytes through at once.
func newLimiter(bytesPerSecond int64) *rate.Limiter {
	burst := max(bytesPerSecond/20, 1)
	return rate.NewLimiter(rate.Limit(bytesPerSecond), int(min(burst, 8<<20)))
}

func (b *body) send(p []byte) (int, error) {
	c := corkOf(b.request.Context())
	c.cork()
	n, err := b.ResponseWriter.Write(p)
	if e := c.uncork(); err == nil {
		err = e
	}
	return n, err
}

// ReadFrom copies with a buffer that suits a disk.
func (b *body) ReadFrom(src io.Reader) (int64, error) {
	buf := buffers.Get().(*[]byte)
	defer buffers.Put(buf)
	return io.CopyBuffer(struct{ io.Writer }{b}, struct{ io.Reader }{src}, *buf)
}

// wait holds back until the limits let some of p through.
func (b *body) wait(p []byte) ([]byte, error) {
	for _, l := range []*rate.Limiter{b.server.rate.Load(), b.own} {
		if l == nil {
			continue
		}
		p = p[:min(len(p), l.Burst())]
		if err := l.WaitN(b.request.Context(), len(p)); err != nil {
			return nil, err
		}
	}
	return p, nil
}

func (b *body) breakOff() error {
	_ = http.NewResponseController(b.ResponseWriter).Flush()
	switch {
	case b.fault.End:
		return errEnd
	case b.fault.Stall:
		select {
		case <-b.cleared:
		case <-b.request.Context().Done():
		case <-b.server.closing:
		}
	}
	return errCut
}

// finish breaks the connection if the script wanted that.
func (b *body) finish() {
	if b.broken == nil && b.fault != nil && b.get && (b.fault.Cut || b.fault.Stall) && b.fault.After <= b.sent && b.sent < b.asked {
		b.broken = b.breakOff()
	}
	if errors.Is(b.broken, errCut) {
		panic(http.ErrAbortHandler)
	}
}

func (b *body) account() {
	if b.status == http.StatusOK || b.status == http.StatusPartialContent {
		b.server.counters.served(b.counts, b.get, Served{Offset: b.offset, Asked: b.asked, Length: b.sent})
	}
}

func (f *HTTPFault) delay() time.Duration {
	if f == nil {
		return 0
	}
	return f.Delay
}

// answer sends the fault's status, if it has one.
func (f *HTTPFault) answer(w http.ResponseWriter) bool {
	if f == nil || f.Status == 0 {
		return false
	}
	if f.RetryAfter > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(int((f.RetryAfter+time.Second-1)/time.Second)))
	}
	http.Error(w, http.StatusText(f.Status), f.Status)
	return true
}

// httpFault applies the script to a call of the API.
func (s *Server) httpFault(w http.ResponseWriter, r *http.Request) bool {
	f, cleared := s.script.http(r.Method, r.URL.Path)
	if f == nil {
		return false
	}
	if !s.sleepRequest(r, f.Delay) {
		return true
	}
	if f.answer(w) {
		return true
	}
	if f.Stall {
		select {
		case <-cleared:
		case <-r.Context().Done():
		case <-s.closing:
		}
	}
	if f.Cut || f.Stall {
		panic(http.ErrAbortHandler)
	}
	return false
}

// sleepRequest waits unless the client goes away first.
func (s *Server) sleepRequest(r *http.Request, d time.Duration) bool {
	if d <= 0 {
		return true
	}
	ctx, cancel := context.WithTimeout(r.Context(), d)
	defer cancel()
	select {
	case <-ctx.Done():
		return r.Context().Err() == nil
	case <-s.closing:
		return false
	}
}
