package transfer

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"

	"landfall/engine/fault"
	"landfall/sources"
)

// Job is one disk to copy.
type Job struct {
	Disk sources.Disk
	// Path is where the image is in the end; until it is whole it has ".partial" behind its name.
	Path string
	// Ledger is this image's own.
	Ledger Ledger
	// Extents are the areas that may hold data, nil for all; what lies outside is taken for zeros and not read.
	Extents []sources.Extent
	// Throttle may be nil, or be shared with other copies.
	Throttle *Throttle
	// Progress may be nil.
	Progress *Progress
	// Files is nil for the operating system's.
	Files Files
	// Gap is the largest hole between extents that is read through, in bytes; 0 is 256 KiB, the best that was measured.
	Gap int64
	// Request is the most that is asked for at once, in bytes; 0 is 8 MiB.
	Request int64
}

// Result is what a copy did.
type Result struct {
	Manifest Manifest
	Digests  *Digests
	Figures  Figures // of this run; an image that was complete before leaves them empty
}

const (
	maxStreams = 16 // per disk, whatever a source allows
	writers    = 2  // writes under way
)

// Copy copies a disk into a sparse raw image, or goes on with a copy that was begun; one that is complete is success at
// once. When it returns, whatever it read whole is synced and recorded, also with an error. It tries again by itself
// where a stream fails with a Transient fault, and gives up when a source makes no headway; the error then has the class
// to act by. fault.Damaged means that file and ledger do not belong together; fault.NoSpace keeps the partial image.
// A cancelled context gives fault.Interrupted.
func Copy(ctx context.Context, job Job) (Result, error) {
	return job.do(ctx, "copy to", copyDisk)
}

func (job Job) do(ctx context.Context, act string, f func(context.Context, Job) (Result, error)) (Result, error) {
	if job.Files == nil {
		job.Files = OS
	}
	if job.Progress == nil {
		job.Progress = new(Progress)
	}
	job.Gap, job.Request = cmp.Or(job.Gap, gap), cmp.Or(job.Request, largest)
	res, err := f(ctx, job)
	switch {
	case err == nil:
		return res, nil
	case ctx.Err() != nil:
		err = fault.New(fault.Transient, fault.Interrupted, err)
	}
	return res, fmt.Errorf("%s %s: %w", act, job.Path, err)
}

func copyDisk(ctx context.Context, job Job) (Result, error) {
	size := job.Disk.Size()
	found, err := Inspect(ctx, job.Files, job.Path, size, job.Ledger)
	if err != nil {
		return Result{}, err
	}
	known := found.Digests
	switch found.State {
	case Complete:
		return Result{Manifest: *found.Image, Digests: known}, nil
	case Broken:
		return Result{}, found.broken()
	}
	plan, err := newPlan(size, job.Extents, job.Gap, known.known.has)
	if err != nil {
		return Result{}, err
	}
	image, err := openImage(job.Files, job.Path, known)
	if err != nil {
		return Result{}, err
	}
	defer image.close()
	c := newCopying(job, plan, known, image, Unvouched/ChunkSize)
	return c.finish(ctx, func(ctx context.Context) error {
		if err := c.unread(ctx); err != nil {
			return err
		}
		return c.run(ctx, c.reader.run)
	})
}

func (f Found) broken() error {
	return fault.Hint(fault.Newf(fault.Blocked, fault.Damaged, "go on with the image: %s", f.Why),
		"discard the image and copy the disk again")
}

// finish does the work and gives the whole image its name.
func (c *copying) finish(ctx context.Context, work func(context.Context) error) (Result, error) {
	known, progress := c.rec.digests, c.job.Progress
	if err := work(ctx); err != nil {
		return Result{Digests: known, Figures: progress.Figures()}, err
	}
	if !known.Complete() { // cannot be; a wrong plan must not end in a whole image
		return Result{}, fault.Newf(fault.Permanent, fault.Damaged, "%d of %d chunks are missing at the end", known.chunks-known.count, known.chunks)
	}
	if err := c.image.publish(); err != nil {
		return Result{}, err
	}
	return Result{Manifest: known.Manifest(), Digests: known, Figures: progress.Figures()}, nil
}

// copying is a copy under way: streams read and hash, writers write, a recorder syncs and records.
type copying struct {
	job    Job
	plan   *plan
	image  *image
	reader *reader
	rec    *recorder
	writes chan write
}

// write is a chunk on its way to the image: all of it, or only its parts; zeros are punched.
type write struct {
	buf   []byte
	chunk Chunk
	parts []sources.Extent
	zero  bool
}

// newCopying bounds what is not vouched for to so many chunks.
func newCopying(job Job, plan *plan, known *Digests, image *image, slots int64) *copying {
	batch := int(slots-ahead/ChunkSize) / 3
	budget := semaphore.NewWeighted(slots)
	streams := streamsOf(job.Disk)
	c := &copying{job: job, plan: plan, image: image, writes: make(chan write)}
	c.rec = &recorder{
		ledger: job.Ledger, image: image, digests: known, plan: plan, progress: job.Progress, budget: budget,
		batch: batch, finished: make(chan done, slots),
	}
	c.reader = &reader{
		disk: job.Disk, plan: plan, throttle: job.Throttle, progress: job.Progress, budget: budget, streams: streams, request: job.Request, sink: c.take,
	}
	vouched := int64(0)
	for i := range known.chunks {
		if known.known.has(i) {
			vouched += plan.cost(i)
		}
	}
	job.Progress.begin(time.Now(), plan.bytes, vouched)
	image.rest = func() int64 { return plan.bytes - job.Progress.vouched.Load() }
	return c
}

// run has read read, and writes and records what comes of it. Its parts end in the order in which bytes flow, so that
// what was read is recorded.
func (c *copying) run(ctx context.Context, read func(context.Context) error) error {
	pool, err := newPool(c.reader.streams + 2*writers)
	if err != nil {
		return err
	}
	defer pool.close()
	c.reader.pool = pool
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)

	var writing, recording sync.WaitGroup
	var recorded error
	recording.Go(func() {
		if recorded = c.rec.run(ctx); recorded != nil {
			stop(recorded)
		}
	})
	for range writers {
		writing.Go(func() {
			for w := range c.writes {
				err := c.write(w)
				if err == nil {
					c.rec.finished <- done{chunk: w.chunk, wrote: true, owed: true}
				} else {
					stop(&unwritten{err})
				}
				pool.put(w.buf)
			}
		})
	}
	err = read(ctx)
	close(c.writes)
	writing.Wait()
	close(c.rec.finished)
	recording.Wait()
	if recorded != nil {
		return recorded
	}
	if cause := context.Cause(ctx); cause != nil {
		err = cause
	}
	if u := (*unwritten)(nil); errors.As(err, &u) {
		return c.image.fault("write", u.error)
	}
	return err
}

func (c *copying) write(w write) error {
	at := w.chunk.Index * ChunkSize
	if w.zero {
		return c.image.punch(at, int64(len(w.buf)))
	}
	parts := w.parts
	if parts == nil {
		parts = []sources.Extent{{Length: int64(len(w.buf))}}
	}
	for _, p := range parts {
		if err := c.image.write(w.buf[p.Offset:p.End()], at+p.Offset); err != nil {
			return err
		}
		c.job.Progress.written.Add(p.Length)
	}
	return nil
}

// unwritten stops a copy whose image could not be written.
type unwritten struct{ error }

// unread records the chunks that are not read at all: the image has zeros there.
func (c *copying) unread(ctx context.Context) error {
	const most = 4096 // in one batch
	known := c.rec.digests
	read := newBitmap(known.chunks)
	for _, r := range c.plan.runs {
		for i := r.first; i < r.end; i++ {
			read.set(i)
		}
	}
	var batch []done
	for _, r := range known.missing() {
		for i := r.first; i < r.end; i++ {
			if read.has(i) {
				continue
			}
			c.job.Progress.zero.Add(int64(chunkLen(known.size, i)))
			if batch = append(batch, done{chunk: Chunk{i, known.zeroAt(i)}}); len(batch) < most {
				continue
			}
			if err := c.rec.flush(ctx, batch); err != nil {
				return err
			}
			batch = batch[:0]
		}
	}
	return c.rec.flush(ctx, batch)
}

// take is the reader's sink: zeros are done, data goes to a writer. It hashes here, while the bytes are in the cache.
func (c *copying) take(i int64, buf []byte, zero bool) error {
	if zero {
		c.job.Progress.zero.Add(int64(len(buf)))
		c.reader.pool.put(buf)
		c.rec.finished <- done{chunk: Chunk{i, c.rec.digests.zeroAt(i)}, owed: true}
		return nil
	}
	b := hashBlocks(buf)
	c.image.blocks.save(i, &b)
	c.writes <- write{buf: buf, chunk: Chunk{i, b.sum(len(buf))}}
	return nil
}

func streamsOf(disk sources.Disk) int { return min(max(disk.Streams(), 1), maxStreams) }
