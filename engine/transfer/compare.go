package transfer

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"landfall/engine/fault"
	"landfall/sources"
)

// Difference is a chunk whose bytes are not those that were recorded. It is fault.Damaged.
type Difference struct {
	Index     int64
	Want, Got Sum
}

func (d *Difference) Error() string {
	return fmt.Sprintf("chunk %d (bytes %d and on) has digest %s, recorded is %s", d.Index, d.Index*ChunkSize, d.Got, d.Want)
}

// Proof is a source to be compared with what was copied from it.
type Proof struct {
	Disk     sources.Disk
	Ledger   Ledger
	Extents  []sources.Extent // as for the copy; nil reads the whole disk, holes too
	Throttle *Throttle        // may be nil
	Progress *Progress        // may be nil
}

// Prove reads a source again and compares every chunk with its recorded digest. The first chunk that differs is a
// *Difference, fault.Damaged, Blocked. Chunks outside the extents must be recorded as zeros. Nothing is written.
func Prove(ctx context.Context, p Proof) error {
	err := compare(ctx, p)
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		err = fault.New(fault.Transient, fault.Interrupted, err)
	}
	var d *Difference
	if errors.As(err, &d) {
		err = fault.Hint(fault.New(fault.Blocked, fault.Damaged, err),
			"the source is not what was copied: see that it is off and stays off, discard the image and copy again")
	}
	return fmt.Errorf("prove the copy against %s: %w", p.Disk.Reader(), err)
}

// Verify reads an image again, whole or partial, and compares every chunk with its recorded digest. The first that
// differs is a *Difference, fault.Damaged, Blocked; a ledger that does not know all chunks is fault.Damaged too.
func Verify(ctx context.Context, files Files, path string, size int64, ledger Ledger, progress *Progress) error {
	err := verify(ctx, files, path, size, ledger, progress)
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		err = fault.New(fault.Transient, fault.Interrupted, err)
	}
	var d *Difference
	if errors.As(err, &d) {
		err = fault.Hint(fault.New(fault.Blocked, fault.Damaged, err),
			"the staging disk does not give back what was written: discard the image, look at the disk's health, copy again")
	}
	return fmt.Errorf("verify %s: %w", path, err)
}

func verify(ctx context.Context, files Files, path string, size int64, ledger Ledger, progress *Progress) error {
	disk, err := openFileDisk(files, path, size)
	if err != nil {
		return err
	}
	defer disk.Close()
	extents, err := disk.Allocated(ctx)
	if err != nil {
		return err
	}
	return compare(ctx, Proof{Disk: disk, Ledger: ledger, Extents: extents, Progress: progress})
}

func compare(ctx context.Context, p Proof) error {
	size := p.Disk.Size()
	known, err := Load(ctx, size, p.Ledger)
	if err != nil {
		return err
	}
	if !known.Complete() {
		return fault.Newf(fault.Blocked, fault.Damaged, "the ledger knows only %d of %d chunks", known.count, known.chunks)
	}
	plan, err := newPlan(size, p.Extents, gap, func(int64) bool { return false })
	if err != nil {
		return err
	}
	if err := holes(known, plan); err != nil {
		return err
	}
	if p.Progress == nil {
		p.Progress = new(Progress)
	}
	p.Progress.begin(time.Now(), plan.bytes, 0)
	r := &reader{disk: p.Disk, plan: plan, throttle: p.Throttle, progress: p.Progress, streams: streamsOf(p.Disk)}
	if r.pool, err = newPool(r.streams); err != nil {
		return err
	}
	defer r.pool.close()
	var mu sync.Mutex
	var first *Difference
	r.sink = func(i int64, buf []byte, zero bool) error {
		want, _ := known.Get(i)
		got, same := known.zeroAt(i), known.Zero(i)
		if !zero {
			got, same = holds(buf, want)
		}
		r.pool.put(buf)
		p.Progress.vouched.Add(plan.cost(i))
		if same {
			return nil
		}
		mu.Lock()
		defer mu.Unlock()
		if first == nil || i < first.Index {
			first = &Difference{i, want, got}
		}
		return first
	}
	if err := r.run(ctx); err != nil {
		if first != nil {
			return first
		}
		return err
	}
	return nil
}

// holes sees that chunks that are not read are recorded as zeros.
func holes(known *Digests, plan *plan) error {
	next := int64(0)
	for _, r := range append(plan.runs, run{known.chunks, known.chunks}) {
		for i := next; i < r.first; i++ {
			if !known.Zero(i) {
				want, _ := known.Get(i)
				return &Difference{i, want, known.zeroAt(i)}
			}
		}
		next = r.end
	}
	return nil
}

// fileDisk is an image read as a disk.
type fileDisk struct {
	file File
	size int64
}

func openFileDisk(files Files, path string, size int64) (*fileDisk, error) {
	if files == nil {
		files = OS
	}
	have, err := files.Size(path)
	if err != nil {
		return nil, err
	}
	if have != size {
		return nil, fault.Newf(fault.Blocked, fault.Damaged, "the file has %d bytes, the disk %d", have, size)
	}
	file, err := files.Open(path, false)
	if err != nil {
		return nil, err
	}
	return &fileDisk{file, size}, nil
}

func (d *fileDisk) Reader() string { return "image" }
func (d *fileDisk) Size() int64    { return d.size }
func (d *fileDisk) Streams() int   { return 4 }
func (d *fileDisk) Close() error   { return d.file.Close() }

func (d *fileDisk) Open(_ context.Context, offset, length int64) (io.ReadCloser, error) {
	return &section{d.file, offset, offset + length}, nil
}

// Allocated gives the areas of the file that are not holes.
func (d *fileDisk) Allocated(context.Context) ([]sources.Extent, error) {
	out := []sources.Extent{}
	for at := int64(0); at < d.size; {
		start, end, err := d.file.Data(at)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err
		}
		end = min(end, d.size)
		out = append(out, sources.Extent{Offset: start, Length: end - start})
		at = end
	}
	return out, nil
}

// section is a stream of a file. What cannot be read is for a person: a disk does not mend itself.
type section struct {
	file    File
	at, end int64
}

func (s *section) Read(p []byte) (int, error) {
	if s.at >= s.end {
		return 0, io.EOF
	}
	n, err := s.file.ReadAt(p[:min(int64(len(p)), s.end-s.at)], s.at)
	s.at += int64(n)
	if err != nil && !(errors.Is(err, io.EOF) && n > 0) {
		return n, fault.New(fault.Blocked, "StagingFailed", err)
	}
	return n, nil
}

func (s *section) Close() error { return nil }
