package transfer

import (
	"context"
	"fmt"

	"golang.org/x/sys/unix"
)

// pool lends chunk buffers that are aligned for direct I/O. They lie outside the collected heap, and none is made while
// a copy runs: whoever wants one waits until another is given back.
type pool struct {
	region []byte
	free   chan []byte
}

func newPool(n int) (*pool, error) {
	region, err := unix.Mmap(-1, 0, n*ChunkSize, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
	if err != nil {
		return nil, fmt.Errorf("map %d chunk buffers: %w", n, err)
	}
	_ = unix.Madvise(region, unix.MADV_HUGEPAGE) // only faster
	p := &pool{region: region, free: make(chan []byte, n)}
	for i := range n {
		p.free <- region[i*ChunkSize : (i+1)*ChunkSize : (i+1)*ChunkSize]
	}
	return p, nil
}

func (p *pool) get(ctx context.Context) ([]byte, error) {
	select {
	case b := <-p.free:
		return b, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// put takes a buffer back; it may have been cut shorter.
func (p *pool) put(b []byte) { p.free <- b[:ChunkSize] }

// close unmaps the buffers. Nobody may hold one any more.
func (p *pool) close() { _ = unix.Munmap(p.region) }
