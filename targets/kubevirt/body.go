package kubevirt

import (
	"context"
	"io"
	"runtime"
	"sync"

	"landfall/engine/fault"
	"landfall/targets"
)

// chunk is the piece that an artifact is read and compared in.
const chunk = 1 << 20

// maxZeros is the longest run of zeros that is held back to be said at once, so that progress is seen.
const maxZeros = 256 << 20

// piece is one chunk: read by any worker, written in order.
type piece struct {
	data []byte
	n    int
	zero bool
	err  error
}

type job struct {
	i    int64
	buf  []byte
	done chan piece
}

// pour writes the whole artifact to c and closes it. It closes only after every chunk was read and found as recorded, so
// that a stream that is valid stands for an artifact that is whole. passed is called with the bytes of the image that c has
// put out, never more.
func pour(ctx context.Context, a targets.Artifact, c coder, passed func(int64)) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	workers := min(max(runtime.GOMAXPROCS(0), 2), 8)
	order, free := read(ctx, a, workers)

	var total, zeros int64
	flush := func() error {
		n := zeros
		zeros = 0
		if n == 0 {
			return nil
		}
		return c.zeros(n)
	}
	for done := range order {
		p := <-done
		if p.err != nil {
			return p.err
		}
		// What was written before this chunk is out: the coder holds back less than a chunk.
		passed(total - zeros)
		total += int64(p.n)
		if p.zero {
			zeros += int64(p.n)
		}
		if !p.zero || zeros >= maxZeros {
			if err := flush(); err != nil {
				return err
			}
		}
		if !p.zero {
			if _, err := c.Write(p.data[:p.n]); err != nil {
				return err
			}
		}
		free <- p.data
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	if total != a.Size() {
		return fault.Newf(fault.Blocked, fault.EarlyEnd, "the artifact ended after %d of %d bytes", total, a.Size())
	}
	if err := flush(); err != nil {
		return err
	}
	return c.Close()
}

// read reads chunks side by side and gives them in order. Buffers come back through free. It stops when ctx does.
func read(ctx context.Context, a targets.Artifact, workers int) (<-chan chan piece, chan []byte) {
	var (
		buffers = 2 * workers
		order   = make(chan chan piece, buffers)
		work    = make(chan job)
		free    = make(chan []byte, buffers)
		wg      sync.WaitGroup
	)
	for range buffers {
		free <- make([]byte, chunk)
	}
	for range workers {
		wg.Go(func() {
			for j := range work {
				n, zero, err := a.ReadChunk(j.i, j.buf)
				j.done <- piece{data: j.buf, n: n, zero: zero, err: err}
			}
		})
	}
	go func() {
		defer close(order)
		defer wg.Wait()
		defer close(work)
		for i := range a.Chunks() {
			j := job{i: i, done: make(chan piece, 1)}
			// Buffers are given out in order, so that the chunk that is waited for always has one.
			select {
			case j.buf = <-free:
			case <-ctx.Done():
				return
			}
			select {
			case work <- j:
			case <-ctx.Done():
				return
			}
			select {
			case order <- j.done:
			case <-ctx.Done():
				return
			}
		}
	}()
	return order, free
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
