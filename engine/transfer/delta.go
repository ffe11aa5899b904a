package transfer

import (
	"context"
	"crypto/sha256"
	"fmt"
	"sync"

	"landfall/engine/fault"
	"landfall/sources"
)

// group is how many chunks are forgotten at once, ahead of being written, and half of what may be unrecorded: each is read
// whole again after a kill. Of most chunks a round brings little, so that a smaller group would sync more than it writes.
const group = 128

// delta lays what changed over what is there.
type delta struct {
	*copying
	ctx context.Context
	old map[int64]Sum // of the touched chunks; those that are not recorded are not in it

	mu   sync.Mutex
	todo []int64 // touched chunks that are still recorded, ascending
}

func newDelta(ctx context.Context, c *copying) *delta {
	d := &delta{copying: c, ctx: ctx, old: map[int64]Sum{}}
	known := c.rec.digests
	for _, r := range c.plan.runs {
		for i := r.first; i < r.end; i++ {
			if sum, ok := known.Get(i); ok {
				d.old[i] = sum
				d.todo = append(d.todo, i)
				known.forget(i)
			}
		}
	}
	c.job.Progress.vouched.Store(0) // of a round, only what it brings counts
	c.reader.sink, c.reader.ragged = d.take, true
	return d
}

// forget lets the ledger forget chunk i, and others that come soon with it. A chunk that is handed on was forgotten
// before, so that none is forgotten after it was recorded anew.
func (d *delta) forget(i int64) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	for len(d.todo) > 0 && d.todo[0] <= i {
		n := min(group, len(d.todo))
		if err := d.job.Ledger.Forget(d.ctx, d.todo[:n]); err != nil {
			return fmt.Errorf("forget %d chunks of %s: %w", n, d.image.path, err)
		}
		d.todo = d.todo[n:]
	}
	return nil
}

// take is the reader's sink: buf has what was read of chunk i, and anything elsewhere.
func (d *delta) take(i int64, buf []byte, _ bool) error {
	w, err := d.lay(i, buf)
	switch {
	case err != nil:
		d.reader.pool.put(buf)
		return err
	case len(w.parts) == 0:
		d.reader.pool.put(buf)
		d.rec.finished <- done{chunk: w.chunk, owed: true}
		return nil
	}
	d.writes <- w
	return nil
}

// lay lays what was read over chunk i, block by block: it hashes the blocks that were touched, and has those written that
// are not what they were.
func (d *delta) lay(i int64, buf []byte) (write, error) {
	if err := d.forget(i); err != nil {
		return write{}, err
	}
	want, known := d.old[i]
	var old blocks
	if known {
		var err error
		if old, err = d.before(i, len(buf), want); err != nil {
			return write{}, err
		}
	}
	now := old
	var parts []sources.Extent
	for k := range count(len(buf)) {
		at := int64(k) * blockSize
		block := buf[at:][:blockLen(len(buf), k)]
		read := d.plan.parts(i*ChunkSize+at, i*ChunkSize+at+int64(len(block)))
		if len(read) == 0 {
			continue
		}
		if read[0].Length < int64(len(block)) {
			if err := d.complete(block, i, at, read, old[k]); err != nil {
				return write{}, err
			}
		}
		if now[k] = hashBlock(block); known && now[k] == old[k] {
			continue
		}
		for _, r := range read {
			parts = extend(parts, at+r.Offset, r.Length)
		}
	}
	sum := now.sum(len(buf))
	if known && len(parts) == 0 {
		sum = want
	} else {
		d.image.blocks.save(i, &now)
	}
	return write{buf: buf, chunk: Chunk{i, sum}, parts: parts, zero: sum == d.rec.digests.zeroAt(i)}, nil
}

// extend adds a part behind those before it.
func extend(parts []sources.Extent, offset, length int64) []sources.Extent {
	if n := len(parts); n > 0 && parts[n-1].End() == offset {
		parts[n-1].Length += length
		return parts
	}
	return append(parts, sources.Extent{Offset: offset, Length: length})
}

// before gives the blocks that chunk i, of n bytes, has in the image. The image is read only where they are not kept.
func (d *delta) before(i int64, n int, want Sum) (blocks, error) {
	if want == d.rec.digests.zeroAt(i) {
		return zeroBlocks(n), nil
	}
	if b, ok := d.image.blocks.load(i, n, want); ok {
		return b, nil
	}
	p, err := d.reader.pool.get(d.ctx)
	if err != nil {
		return blocks{}, err
	}
	defer d.reader.pool.put(p)
	if err := d.image.read(p[:n], i*ChunkSize); err != nil {
		return blocks{}, err
	}
	b := hashBlocks(p[:n])
	if got := b.sum(n); got != want && Sum(sha256.Sum256(p[:n])) != want {
		return blocks{}, d.image.rotten(&Difference{i, want, got})
	}
	return b, nil
}

// complete puts around the parts of a block that were read what the image has there, at in chunk i, and sees that it is
// what was.
func (d *delta) complete(block []byte, i, at int64, read []sources.Extent, want Sum) error {
	base, err := d.reader.pool.get(d.ctx)
	if err != nil {
		return err
	}
	defer d.reader.pool.put(base)
	p := base[:len(block)]
	if want == ZeroSum(len(p)) {
		clear(p)
	} else {
		if err := d.image.read(p, i*ChunkSize+at); err != nil {
			return err
		}
		if got := hashBlock(p); got != want {
			return d.image.rotten(&Difference{i, want, got})
		}
	}
	for _, r := range read {
		copy(p[r.Offset:r.End()], block[r.Offset:r.End()])
	}
	copy(block, p)
	return nil
}

func (m *image) read(p []byte, off int64) error {
	if n, err := m.file.ReadAt(p, off); n < len(p) {
		return m.fault("read", err)
	}
	return nil
}

// rotten tells of bytes that were recorded and are not what was.
func (m *image) rotten(d *Difference) error {
	return fault.Hint(fault.New(fault.Blocked, fault.Damaged, fmt.Errorf("read %s: %w", m.path, d)),
		"the staging disk does not give back what was written: look at its health; the disk is copied again")
}
