package engine

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"landfall/engine/fault"
	"landfall/engine/spec"
	"landfall/engine/transfer"
	"landfall/targets"
)

// Converter makes other formats of raw images.
type Converter interface {
	// Format names what it makes, "qcow2".
	Format() string
	// Convert makes out of raw, checks it, compares its contents with raw, and describes it. out is replaced as a whole or
	// not at all; it may be called again after any interruption. A missing or too old tool is Blocked.
	Convert(ctx context.Context, raw, out string) (Artifact, error)
	// Open opens an artifact of a disk of size bytes for delivery; a file that is not the one that was described is
	// fault.Damaged.
	Open(ctx context.Context, a Artifact, size int64) (Delivery, error)
}

// Delivery is an artifact that was opened; whoever opened it closes it.
type Delivery interface {
	targets.Artifact
	io.Closer
}

// converting has a checked artifact for every disk.
type converting struct{}

func (converting) observe(ctx context.Context, t *turn) (Observation, error) {
	st := &t.m.Status
	if len(st.Disks) == 0 {
		return Observation{Sight: Complete, Seen: "no disks"}, nil
	}
	kind := t.options().Strategy.Conversion
	if kind == spec.ConvertNone {
		for i := range st.Disks {
			if err := t.describeRaw(ctx, i); err != nil {
				return Observation{}, err
			}
		}
		t.condition(DiskConverted, true, "None", "the raw images are delivered as they are")
		return Observation{Sight: Complete, Seen: "raw images checked"}, nil
	}
	if kind != spec.ConvertQemuImg || t.e.Convert == nil {
		return Observation{}, fault.Hint(fault.Newf(fault.Blocked, fault.Unsupported, "conversion %s is not available", kind), "use conversion None or QemuImg")
	}
	var todo []int
	for i := range st.Disks {
		key := t.jobKey("convert", i)
		if t.e.jobs.running(key) {
			return Observation{Sight: Running, Seen: fmt.Sprintf("converting disk %d", i), again: watchEvery}, nil
		}
		v, ok, err := t.e.jobs.take(key)
		if err != nil {
			return Observation{}, fmt.Errorf("convert disk %d: %w", i, err)
		}
		if a, is := v.(Artifact); ok && is {
			st.Disks[i].Artifact = &a
			t.event("info", "DiskConverted", "disk %d: %s, %d bytes, by %s", i, a.Format, a.Length, a.Made)
		}
		if st.Disks[i].Artifact == nil {
			todo = append(todo, i)
		}
	}
	if len(todo) > 0 {
		return Observation{Sight: Partial, Seen: fmt.Sprintf("%d disks to convert", len(todo)), next: todo}, nil
	}
	t.condition(DiskConverted, true, string(kind), fmt.Sprintf("%d artifacts", len(st.Disks)))
	return Observation{Sight: Complete, Seen: "every artifact is checked"}, nil
}

func (converting) act(_ context.Context, t *turn, o Observation) error {
	i := o.next.([]int)[0] // one at a time: a conversion uses the machine's disks and processors whole
	convert, raw := t.e.Convert, t.rawPath(i)
	out := filepath.Join(t.staging(), fmt.Sprintf("disk-%d.%s", i, convert.Format()))
	t.e.jobs.start(t.jobKey("convert", i), nil, func(ctx context.Context) (any, error) { return convert.Convert(ctx, raw, out) }, t.r.wake)
	return nil
}

// describeRaw checks that the raw image is what was acquired, and describes it as the artifact. Its bytes are compared
// with the ledger, chunk by chunk, when they are delivered.
func (t *turn) describeRaw(ctx context.Context, i int) error {
	d := &t.m.Status.Disks[i]
	found, err := transfer.Inspect(ctx, nil, t.rawPath(i), d.Size, t.e.Store.Ledger(t.m.UID, i))
	if err != nil {
		return err
	}
	if found.State != transfer.Complete || d.Manifest == nil || found.Image.Root != d.Manifest.Root {
		return fault.Hint(fault.Newf(fault.Blocked, fault.Damaged, "disk %d: the acquired image %s is not what was recorded (%s %s)", i, t.rawPath(i), found.State, found.Why),
			"somebody changed the staging folder: cancel, and migrate the VM again")
	}
	st, err := os.Stat(t.rawPath(i))
	if err != nil {
		return err
	}
	d.Artifact = &Artifact{Path: t.rawPath(i), Format: "raw", Digest: d.Manifest.Root, Length: st.Size(), Made: "folder copy"}
	return nil
}
