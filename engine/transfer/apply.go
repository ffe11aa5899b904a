package transfer

import (
	"context"
	"crypto/sha256"
	"fmt"
	"slices"
	"sync"

	"landfall/engine/fault"
	"landfall/sources"
)

// group is how many chunks are forgotten at once, ahead of being written, and half of what may be unrecorded: each is read
// whole again after a kill. Of most chunks a round brings little, so that a smaller group would sync more than it writes.
const group = 128

// Apply brings an image to the state of a disk of which the extents are all that changed since; none means that nothing
// did. Chunks that are not recorded are read whole, so that a round which was killed is gone on with by doing it again, or
// a later one with all that changed since the image was last whole. While it is at work the image has ".partial" behind
// its name. A chunk is forgotten before it is written, and recorded after it was synced: the ledger never vouches for a
// chunk that is being overwritten. The bytes that stay are compared with their digest before they are vouched for anew;
// fault.Damaged tells that they are not those. Errors are as for Copy.
func Apply(ctx context.Context, job Job) (Result, error) {
	return job.do(ctx, "apply changes to", apply)
}

func apply(ctx context.Context, job Job) (Result, error) {
	size := job.Disk.Size()
	found, err := Inspect(ctx, job.Files, job.Path, size, job.Ledger)
	if err != nil {
		return Result{}, err
	}
	known := found.Digests
	switch found.State {
	case Absent:
		return Result{}, fault.Hint(fault.Newf(fault.Blocked, fault.Damaged, "there is no image to apply changes to"), "copy the disk whole")
	case Broken:
		return Result{}, found.broken()
	}
	extents := slices.Clone(job.Extents)
	for _, r := range known.missing() {
		extents = append(extents, sources.Extent{Offset: r.first * ChunkSize, Length: min(r.end*ChunkSize, size) - r.first*ChunkSize})
	}
	plan, err := newPlan(size, append([]sources.Extent{}, extents...), job.Gap, func(int64) bool { return false })
	if err != nil {
		return Result{}, err
	}
	if len(plan.runs) == 0 && found.State == Complete {
		return Result{Manifest: *found.Image, Digests: known}, nil
	}
	if found.State == Complete {
		if err := publish(job.Files, job.Path, partial(job.Path)); err != nil {
			return Result{}, err
		}
	}
	image, err := openImage(job.Files, job.Path, known)
	if err != nil {
		return Result{}, err
	}
	defer image.file.Close()
	d := newDelta(ctx, newCopying(job, plan, known, image, 2*group))
	return d.finish(ctx, func(ctx context.Context) error { return d.run(ctx, d.reader.run) })
}

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
	c.reader.sink = d.take
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

// take is the reader's sink: buf has what was read of chunk i, and zeros for the rest.
func (d *delta) take(i int64, buf []byte, _ bool) error {
	give := func(err error) error {
		d.reader.pool.put(buf)
		return err
	}
	if err := d.forget(i); err != nil {
		return give(err)
	}
	parts := d.plan.parts(i)
	if sum, known := d.old[i]; known {
		whole, err := d.whole(i, sum, buf, parts)
		if err != nil {
			return give(err)
		}
		buf = whole
	}
	zero := isZero(buf)
	sum := d.rec.digests.zeroAt(i)
	if !zero {
		sum = sha256.Sum256(buf)
	}
	if was, known := d.old[i]; known && was == sum {
		d.reader.pool.put(buf)
		d.rec.finished <- done{chunk: Chunk{i, sum}, owed: true}
		return nil
	}
	d.writes <- write{buf: buf, chunk: Chunk{i, sum}, parts: parts, zero: zero}
	return nil
}

// whole lays the parts over the chunk as the image has it, and takes over the buffer.
func (d *delta) whole(i int64, want Sum, buf []byte, parts []sources.Extent) ([]byte, error) {
	if len(parts) == 1 && parts[0].Length == int64(len(buf)) {
		return buf, nil
	}
	base, err := d.reader.pool.get(d.ctx)
	if err != nil {
		return nil, err
	}
	base = base[:len(buf)]
	if want == d.rec.digests.zeroAt(i) {
		clear(base)
	} else if err := d.image.read(base, i, want); err != nil {
		d.reader.pool.put(base)
		return nil, err
	}
	for _, p := range parts {
		copy(base[p.Offset:p.End()], buf[p.Offset:p.End()])
	}
	d.reader.pool.put(buf)
	return base, nil
}

// read reads a chunk that was recorded, and sees that it is what was.
func (m *image) read(p []byte, i int64, want Sum) error {
	if n, err := m.file.ReadAt(p, i*ChunkSize); n < len(p) {
		return m.fault("read", err)
	}
	if got := Sum(sha256.Sum256(p)); got != want {
		return fault.Hint(fault.New(fault.Blocked, fault.Damaged, fmt.Errorf("read %s: %w", m.path, &Difference{i, want, got})),
			"the staging disk does not give back what was written: look at its health; the disk is copied again")
	}
	return nil
}
