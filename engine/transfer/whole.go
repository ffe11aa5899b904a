package transfer

import (
	"context"
	"fmt"
	"time"

	"landfall/engine/fault"
	"landfall/sources"
)

// CopyWhole is Copy for a disk that gives its content only in one stream from its start. A copy that was begun goes on:
// the stream is read again, and what comes again as it was recorded is not written again. What comes different is
// forgotten and written anew, so that the image is the stream's in the end, whatever it was of before. Extents only tell
// how much is to come. It does not try again by itself: each reading costs the source a whole stream.
func CopyWhole(ctx context.Context, job Job) (Result, error) {
	return job.do(ctx, "copy to", copyWhole)
}

func copyWhole(ctx context.Context, job Job) (Result, error) {
	disk, ok := job.Disk.(sources.Whole)
	if !ok {
		return Result{}, fault.Newf(fault.Permanent, fault.Unsupported, "the %s reader gives no whole stream", job.Disk.Reader())
	}
	found, err := Inspect(ctx, job.Files, job.Path, disk.Size(), job.Ledger)
	if err != nil {
		return Result{}, err
	}
	switch found.State {
	case Complete:
		return Result{Manifest: *found.Image, Digests: found.Digests}, nil
	case Broken:
		return Result{}, found.broken()
	}
	plan, err := newPlan(disk.Size(), job.Extents, job.Gap, found.Digests.known.has)
	if err != nil {
		return Result{}, err
	}
	image, err := openImage(job.Files, job.Path, found.Digests)
	if err != nil {
		return Result{}, err
	}
	defer image.close()
	w := &wholeCopy{copying: newCopying(job, plan, found.Digests, image, Unvouched/ChunkSize), before: found.Digests.clone()}
	return w.finish(ctx, func(ctx context.Context) error {
		return w.run(ctx, func(ctx context.Context) error { return w.read(ctx, disk) })
	})
}

// wholeCopy puts the parts of a stream together to chunks.
type wholeCopy struct {
	*copying
	before *Digests // what was recorded when it began
	chunk  int64    // under way
	buf    []byte   // of it; nil while nothing came of it
}

func (w *wholeCopy) read(ctx context.Context, disk sources.Whole) error {
	progress := w.job.Progress
	progress.requests.Add(1)
	progress.streams.Add(1)
	defer progress.streams.Add(-1)
	reached := int64(0)
	err := disk.ReadAll(ctx, func(offset int64, p []byte) error {
		if offset < reached || int64(len(p)) > disk.Size()-offset {
			return fault.Newf(fault.Blocked, fault.Damaged, "the stream gives %d bytes at %d after byte %d of %d", len(p), offset, reached, disk.Size())
		}
		reached = offset + int64(len(p))
		return w.part(ctx, offset, p)
	})
	if err == nil {
		err = w.reach(ctx, w.before.chunks)
	}
	if w.buf != nil {
		w.reader.pool.put(w.buf)
	}
	return err
}

func (w *wholeCopy) part(ctx context.Context, offset int64, p []byte) error {
	w.job.Progress.count(len(p), time.Now())
	for len(p) > 0 {
		if !w.job.Throttle.open() {
			if err := w.job.Throttle.wait(ctx, func() {}); err != nil {
				return err
			}
		}
		if err := w.reach(ctx, offset/ChunkSize); err != nil {
			return err
		}
		if w.buf == nil {
			buf, err := w.reader.pool.get(ctx)
			if err != nil {
				return err
			}
			w.buf = buf[:chunkLen(w.before.size, w.chunk)]
			clear(w.buf)
		}
		n := copy(w.buf[offset%ChunkSize:], p)
		w.job.Throttle.spend(n)
		p, offset = p[n:], offset+int64(n)
	}
	return nil
}

// reach settles all chunks before i: those of which nothing came are zeros.
func (w *wholeCopy) reach(ctx context.Context, i int64) error {
	for ; w.chunk < i; w.chunk++ {
		buf := w.buf
		w.buf = nil
		if err := w.settle(ctx, w.chunk, buf); err != nil {
			return err
		}
	}
	return nil
}

// settle compares a chunk with what is recorded of it and hands it on where it is another.
func (w *wholeCopy) settle(ctx context.Context, i int64, buf []byte) error {
	sum, zero := w.before.zeroAt(i), buf == nil || isZero(buf)
	var b blocks
	if !zero {
		b = hashBlocks(buf)
		sum = b.sum(len(buf))
	}
	give := func() {
		if buf != nil {
			w.reader.pool.put(buf)
		}
	}
	was, known := w.before.Get(i)
	if known && was == sum {
		give()
		return nil
	}
	if err := w.reader.budget.Acquire(ctx, 1); err != nil {
		give()
		return context.Cause(ctx)
	}
	if known {
		if err := w.job.Ledger.Forget(ctx, []int64{i}); err != nil {
			give()
			w.reader.budget.Release(1)
			return fmt.Errorf("forget chunk %d of %s: %w", i, w.image.path, err)
		}
	}
	if zero {
		w.job.Progress.zero.Add(int64(chunkLen(w.before.size, i)))
	}
	switch {
	case !zero:
		w.image.blocks.save(i, &b)
		w.writes <- write{buf: buf, chunk: Chunk{i, sum}}
		return nil
	case known: // there is something else in the image
		if err := w.image.punch(i*ChunkSize, int64(chunkLen(w.before.size, i))); err != nil {
			give()
			return w.image.fault("clear", err)
		}
	}
	give()
	w.rec.finished <- done{chunk: Chunk{i, sum}, wrote: known, owed: true}
	return nil
}
