package transfer

import (
	"context"
	"crypto/sha256"
	"fmt"
	"sync"
	"time"

	"landfall/engine/fault"
	"landfall/sources"
)

// Apply brings areas of a disk into its finished image, in place: job.Extents are what changed, and nothing else is read.
// Killed in between, it is to be made again with the same areas: until then the ledger may vouch for bytes that were
// replaced. Everything else is as for Copy.
func Apply(ctx context.Context, job Job) (Result, error) {
	if job.Files == nil {
		job.Files = OS
	}
	if job.Progress == nil {
		job.Progress = new(Progress)
	}
	res, err := apply(ctx, job)
	switch {
	case err == nil:
		return res, nil
	case ctx.Err() != nil:
		err = fault.New(fault.Transient, fault.Interrupted, err)
	}
	return res, fmt.Errorf("apply changes to %s: %w", job.Path, err)
}

func apply(ctx context.Context, job Job) (Result, error) {
	size := job.Disk.Size()
	found, err := Inspect(ctx, job.Files, job.Path, size, job.Ledger)
	if err != nil {
		return Result{}, err
	}
	if found.State != Complete {
		return Result{}, fault.Newf(fault.Blocked, fault.Damaged, "the image is %s %s", found.State, found.Why)
	}
	plan, err := newPlan(size, append([]sources.Extent{}, job.Extents...), func(int64) bool { return false })
	if err != nil {
		return Result{}, err
	}
	file, err := job.Files.Open(job.Path, false)
	if err != nil {
		return Result{}, diskFault(job.Files, "open", job.Path, 0, err)
	}
	defer file.Close()
	job.Progress.begin(time.Now(), plan.bytes, 0)
	m := &image{files: job.Files, final: job.Path, path: job.Path, file: file, rest: func() int64 { return 0 }}
	a := &applying{job: job, plan: plan, image: m, digests: found.Digests}
	r := &reader{disk: job.Disk, plan: plan, throttle: job.Throttle, progress: job.Progress, streams: streamsOf(job.Disk), sink: a.take}
	if r.pool, err = newPool(r.streams); err != nil {
		return Result{}, err
	}
	defer r.pool.close()
	a.pool = r.pool
	if err = r.run(ctx); err == nil {
		err = a.flush()
	}
	res := Result{Digests: found.Digests, Figures: job.Progress.Figures()}
	if err == nil {
		res.Manifest = found.Digests.Manifest()
	}
	return res, err
}

// applying is a round under way.
type applying struct {
	job     Job
	plan    *plan
	image   *image
	pool    *pool
	digests *Digests

	mu    sync.Mutex
	batch []Chunk
}

// take writes the parts of a chunk that were read over what the image has, and hashes the whole.
func (a *applying) take(i int64, buf []byte, _ bool) error {
	defer a.pool.put(buf)
	at := i * ChunkSize
	whole := make([]byte, len(buf))
	if n, err := a.image.file.ReadAt(whole, at); n < len(whole) {
		return fault.New(fault.Blocked, "StagingFailed", fmt.Errorf("read chunk %d: %w", i, err))
	}
	for k := a.plan.at(at); k < len(a.plan.pieces) && a.plan.pieces[k].Offset < at+int64(len(buf)); k++ {
		from, to := max(a.plan.pieces[k].Offset-at, 0), min(a.plan.pieces[k].End()-at, int64(len(buf)))
		copy(whole[from:to], buf[from:to])
		if err := a.image.write(whole[from:to], at+from); err != nil {
			return a.image.fault("write", err)
		}
		a.job.Progress.written.Add(to - from)
	}
	c := Chunk{i, sha256.Sum256(whole)}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.batch = append(a.batch, c); len(a.batch) < (Unvouched-ahead)/ChunkSize {
		return nil
	}
	return a.record()
}

func (a *applying) flush() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.record()
}

// record syncs what was written, then lets the ledger vouch for it.
func (a *applying) record() error {
	if len(a.batch) == 0 {
		return nil
	}
	if err := syncFile(a.image.file, a.image.path); err != nil {
		return a.image.fault("sync", err)
	}
	if err := a.job.Ledger.Record(context.Background(), a.batch); err != nil {
		return fmt.Errorf("record %d chunks of %s: %w", len(a.batch), a.image.path, err)
	}
	for _, c := range a.batch {
		a.digests.Set(c.Index, c.Sum)
		a.job.Progress.vouched.Add(a.plan.cost(c.Index))
	}
	a.job.Progress.syncs.Add(1)
	a.batch = a.batch[:0]
	return nil
}
