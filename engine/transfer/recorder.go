package transfer

import (
	"context"
	"fmt"
	"slices"
	"time"

	"golang.org/x/sync/semaphore"

	"landfall/engine/boundary"
)

// hold is how long a finished chunk waits at most to be recorded.
const hold = 500 * time.Millisecond

// recorder syncs and records finished chunks in batches. While one batch is on its way, the next gathers, so that the
// streams never wait for it unless the source is faster than the disk.
type recorder struct {
	ledger   Ledger
	image    *image
	digests  *Digests
	plan     *plan
	progress *Progress
	budget   *semaphore.Weighted
	batch    int       // chunks that make it worth a sync
	finished chan done // has room for the whole budget, so that sending never blocks
}

// done is a chunk whose bytes are in the image, though not yet synced.
type done struct {
	chunk Chunk
	wrote bool
	owed  bool // holds a unit of the budget until it is recorded
}

// run records until finished is closed. After a failure nothing more is recorded; the streams are stopped by the caller.
func (r *recorder) run(ctx context.Context) error {
	var batch []done
	timer := time.NewTimer(hold)
	defer timer.Stop()
	for open := true; open; {
		due := false
		select {
		case d, ok := <-r.finished:
			if open = ok; ok {
				if len(batch) == 0 {
					timer.Reset(hold)
				}
				batch = append(batch, d)
			}
		case <-timer.C:
			due = true
		}
		if len(batch) >= r.batch && len(r.finished) == 0 || due || !open {
			if err := r.flush(ctx, batch); err != nil {
				return err
			}
			batch = batch[:0]
		}
	}
	return nil
}

func (r *recorder) flush(ctx context.Context, batch []done) error {
	if len(batch) == 0 {
		return nil
	}
	if slices.ContainsFunc(batch, func(d done) bool { return d.wrote }) {
		if err := syncFile(r.image.file, r.image.path); err != nil {
			return r.image.fault("sync", err)
		}
	}
	chunks := make([]Chunk, len(batch))
	owed := int64(0)
	for i, d := range batch {
		chunks[i] = d.chunk
		if d.owed {
			owed++
		}
	}
	slices.SortFunc(chunks, func(a, b Chunk) int { return int(a.Index - b.Index) })
	// What was read is recorded even when the copy is being stopped.
	if err := r.ledger.Record(context.WithoutCancel(ctx), chunks); err != nil {
		return fmt.Errorf("record %d chunks of %s: %w", len(chunks), r.image.path, err)
	}
	for _, c := range chunks {
		r.digests.Set(c.Index, c.Sum)
		r.progress.vouched.Add(r.plan.cost(c.Index))
	}
	r.progress.syncs.Add(1)
	if owed > 0 {
		r.budget.Release(owed)
	}
	return nil
}

// syncFile makes what was written so far durable. It is never tried again: after a failed sync the system may have dropped
// what it could not write, and a second one would succeed over the loss.
func syncFile(f File, name string) error {
	boundary.Cross(boundary.Sync, name)
	err := f.Sync()
	boundary.Cross(boundary.Sync, name)
	return err
}
