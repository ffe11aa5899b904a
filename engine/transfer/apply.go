package transfer

import (
	"context"
	"slices"

	"landfall/engine/fault"
	"landfall/sources"
)

// Apply brings an image to the state of a disk of which the extents are all that changed since; none means that nothing
// did. Chunks that are not recorded are read whole, so that a round which was killed is gone on with by doing it again, or
// a later one with all that changed since the image was last whole. While it is at work the image has ".partial" behind
// its name. A chunk is forgotten before it is written, and recorded after it was synced: the ledger never vouches for a
// chunk that is being overwritten. Of a block that changed in part, the bytes that stay are compared with their digest
// before they are vouched for anew; fault.Damaged tells that they are not those. Errors are as for Copy.
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
	defer image.close()
	d := newDelta(ctx, newCopying(job, plan, known, image, 2*group))
	return d.finish(ctx, func(ctx context.Context) error { return d.run(ctx, d.reader.run) })
}
