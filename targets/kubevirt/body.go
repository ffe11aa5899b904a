package kubevirt

import (
	"context"
	"io"
	"runtime"
	"sync"

	"landfall/engine/fault"
	"landfall/targets"
)

// chunk is the piece that an artifact is read, compared and compressed in.
const chunk = 1 << 20

// piece is one chunk on its way: made by any worker, written in order.
type piece struct {
	raw  int // bytes of the image
	zero bool
	code []byte
	err  error
}

// pour writes the whole artifact as c's stream into w. It ends without an error only after every chunk was read and found
// as recorded, so that the caller may end the stream then and only then.
func pour(ctx context.Context, a targets.Artifact, c coding, w func(code []byte, raw int64) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var (
		workers = min(max(runtime.GOMAXPROCS(0), 1), 8)
		order   = make(chan chan piece, 2*workers)
		work    = make(chan job)
		free    sync.Pool
		wg      sync.WaitGroup
	)
	free.New = func() any { return []byte(nil) }
	for range workers {
		wg.Go(func() {
			buf := make([]byte, chunk)
			for j := range work {
				j.done <- encodeChunk(a, c, j.i, buf, free.Get().([]byte))
			}
		})
	}
	wg.Go(func() {
		defer close(work)
		defer close(order)
		for i := range a.Chunks() {
			j := job{i: i, done: make(chan piece, 1)}
			select {
			case order <- j.done:
			case <-ctx.Done():
				return
			}
			select {
			case work <- j:
			case <-ctx.Done():
				j.done <- piece{err: context.Cause(ctx)}
				return
			}
		}
	})
	defer wg.Wait()
	defer cancel()

	s := stream{w: w, c: c}
	for done := range order {
		p := <-done
		if err := s.add(p); err != nil {
			return err
		}
		if p.code != nil {
			free.Put(p.code[:0]) //nolint:staticcheck // a slice header is small beside the chunk
		}
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := s.flush(); err != nil {
		return err
	}
	if s.total != a.Size() {
		return fault.Newf(fault.Blocked, fault.EarlyEnd, "the artifact ended after %d of %d bytes", s.total, a.Size())
	}
	return nil
}

type job struct {
	i    int64
	done chan piece
}

func encodeChunk(a targets.Artifact, c coding, i int64, buf, dst []byte) piece {
	n, zero, err := a.ReadChunk(i, buf)
	p := piece{raw: n, zero: zero, err: err}
	switch {
	case err != nil:
	case i == 0:
		// The start is never a run of zeros to the decoder: see zstdCoding.first.
		if zero {
			clear(buf[:n])
			p.zero = false
		}
		h := min(n, head)
		p.code = c.first(buf[:h])
		if h < n {
			p.code = c.data(p.code, buf[h:n])
		}
	case !zero:
		p.code = c.data(dst[:0], buf[:n])
	}
	return p
}

// stream gathers runs of zeros and writes in order.
type stream struct {
	w     func([]byte, int64) error
	c     coding
	zeros int64 // not written yet
	total int64
}

func (s *stream) add(p piece) error {
	if p.err != nil {
		return p.err
	}
	s.total += int64(p.raw)
	if p.zero {
		for s.zeros += int64(p.raw); s.zeros >= maxZeros; s.zeros -= maxZeros {
			if err := s.w(s.c.zeros(maxZeros), maxZeros); err != nil {
				return err
			}
		}
		return nil
	}
	if err := s.flush(); err != nil {
		return err
	}
	return s.w(p.code, int64(p.raw))
}

func (s *stream) flush() error {
	if s.zeros == 0 {
		return nil
	}
	n := s.zeros
	s.zeros = 0
	return s.w(s.c.zeros(n), n)
}

// tee counts what an artifact writes by itself.
type tee struct {
	w io.Writer
	n func(int)
}

func (t tee) Write(p []byte) (int, error) {
	n, err := t.w.Write(p)
	t.n(n)
	return n, err
}
