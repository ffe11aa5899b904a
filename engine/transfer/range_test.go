package transfer_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"landfall/engine/fault"
	"landfall/sources"
)

// rangeServer gives a disk over HTTP ranges and keeps which bytes it sent.
type rangeServer struct {
	*httptest.Server
	size int64
	at   func(off int64, p []byte) // the disk's bytes

	mu   sync.Mutex
	sent []sources.Extent
	// meddle, where set, may answer in its own way, or cut the answer after some bytes.
	meddle func(w http.ResponseWriter, offset int64) (cut int64, done bool)
}

func serveRanges(t *testing.T, size int64, at func(int64, []byte), secure bool) *rangeServer {
	s := &rangeServer{size: size, at: at}
	if secure {
		s.Server = httptest.NewTLSServer(http.HandlerFunc(s.serve))
	} else {
		s.Server = httptest.NewServer(http.HandlerFunc(s.serve))
	}
	t.Cleanup(s.Close)
	return s
}

func (s *rangeServer) serve(w http.ResponseWriter, r *http.Request) {
	a, b, _ := strings.Cut(strings.TrimPrefix(r.Header.Get("Range"), "bytes="), "-")
	start, err := strconv.ParseInt(a, 10, 64)
	last, err2 := strconv.ParseInt(b, 10, 64)
	if err != nil || err2 != nil || start > last || last >= s.size {
		http.Error(w, "bad range", http.StatusRequestedRangeNotSatisfiable)
		return
	}
	cut := s.size
	if s.meddle != nil {
		var done bool
		if cut, done = s.meddle(w, start); done {
			return
		}
	}
	w.Header().Set("Content-Length", strconv.FormatInt(last+1-start, 10))
	w.Header().Set("Content-Range", fmt.Sprintf("bytes %d-%d/%d", start, last, s.size))
	w.WriteHeader(http.StatusPartialContent)
	buf := make([]byte, 64<<10)
	for off := start; off <= last && off-start < cut; {
		p := buf[:min(int64(len(buf)), last+1-off, cut-(off-start))]
		s.at(off, p)
		n, err := w.Write(p)
		s.mu.Lock()
		s.sent = append(s.sent, sources.Extent{Offset: off, Length: int64(n)})
		s.mu.Unlock()
		if err != nil {
			return
		}
		off += int64(n)
	}
}

// taken gives what was sent since it was last asked.
func (s *rangeServer) taken() []sources.Extent {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := s.sent
	s.sent = nil
	return out
}

func total(extents []sources.Extent) (n int64) {
	for _, e := range extents {
		n += e.Length
	}
	return n
}

// rangeDisk is the client of a rangeServer.
type rangeDisk struct {
	url     string
	size    int64
	streams int
	http    *http.Client
}

func (d *rangeDisk) Reader() string { return "range" }
func (d *rangeDisk) Size() int64    { return d.size }
func (d *rangeDisk) Streams() int   { return d.streams }
func (d *rangeDisk) Close() error   { return nil }

func (d *rangeDisk) Allocated(context.Context) ([]sources.Extent, error) {
	return nil, fault.Newf(fault.Blocked, fault.Unsupported, "not told")
}

func (d *rangeDisk) Open(ctx context.Context, offset, length int64) (io.ReadCloser, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, d.url, nil)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Range", fmt.Sprintf("bytes=%d-%d", offset, offset+length-1))
	res, err := d.http.Do(req)
	if err != nil {
		return nil, fault.New(fault.Transient, fault.Unreachable, err)
	}
	if res.StatusCode != http.StatusPartialContent {
		_ = res.Body.Close()
		err := fault.Newf(fault.Transient, fault.Unreachable, "the server answered %s", res.Status)
		seconds, _ := strconv.Atoi(res.Header.Get("Retry-After"))
		return nil, fault.RetryAfter(err, time.Duration(seconds)*time.Second)
	}
	return res.Body, nil
}
