package transfer

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"landfall/engine/fault"
)

// State is what exists of an image.
type State string

// States of an image.
const (
	Absent   State = "Absent"   // nothing, and the ledger is empty
	Partial  State = "Partial"  // a copy was begun; Copy goes on with it
	Complete State = "Complete" // under its final name, every chunk recorded
	Broken   State = "Broken"   // file and ledger do not belong together: Discard, forget the ledger, copy again
)

// Found is what was seen of an image.
type Found struct {
	State   State
	Chunks  int64     // recorded
	Why     string    // why it is broken
	Image   *Manifest // of a complete one
	Digests *Digests
}

// Inspect looks what exists of the image of a disk of size bytes. It reads names, lengths and the ledger, not the bytes:
// Verify does that. files is nil for the operating system's.
func Inspect(ctx context.Context, files Files, path string, size int64, ledger Ledger) (Found, error) {
	if files == nil {
		files = OS
	}
	whole, err := length(files, path)
	if err != nil {
		return Found{}, err
	}
	part, err := length(files, partial(path))
	if err != nil {
		return Found{}, err
	}
	known, err := Load(ctx, size, ledger)
	if fault.Is(err, fault.Damaged) {
		return Found{State: Broken, Why: err.Error()}, nil
	}
	if err != nil {
		return Found{}, err
	}
	f := Found{Chunks: known.Count(), Digests: known}
	switch {
	case whole >= 0:
		f.State, f.Why = judge(known.Complete(), "the ledger vouches for %d of its %d chunks", known.Count(), known.chunks)
		if whole != size {
			f.State, f.Why = judge(false, "it has %d bytes, the disk %d", whole, size)
		}
		if f.State == Complete {
			image := known.Manifest()
			f.Image = &image
		}
	case known.Count() == 0 && part < 0:
		f.State = Absent
	case known.Count() == 0, part == size:
		f.State = Partial
	case part < 0:
		f.State, f.Why = judge(false, "the ledger vouches for %d chunks of a file that is gone", known.Count())
	default:
		f.State, f.Why = judge(false, "the partial file has %d bytes, the disk %d", part, size)
	}
	return f, nil
}

func judge(good bool, format string, args ...any) (State, string) {
	if good {
		return Complete, ""
	}
	return Broken, fmt.Sprintf(format, args...)
}

// length gives a file's length, -1 where there is none.
func length(files Files, path string) (int64, error) {
	n, err := files.Size(path)
	if errors.Is(err, fs.ErrNotExist) {
		return -1, nil
	}
	if err != nil {
		return 0, fmt.Errorf("look at %s: %w", path, err)
	}
	return n, nil
}

// Discard removes an image, whole or partial, and what is beside it. The ledger must be emptied before, so that it never vouches for what is
// gone. What is not there is success.
func Discard(files Files, path string) error {
	if files == nil {
		files = OS
	}
	for _, p := range []string{path, partial(path), blocksOf(path)} {
		if err := files.Remove(p); err != nil {
			return fmt.Errorf("remove %s: %w", p, err)
		}
	}
	return nil
}
