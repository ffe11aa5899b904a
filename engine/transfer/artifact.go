package transfer

import (
	"context"
	"fmt"
	"io"

	"landfall/engine/fault"
)

// Artifact is a finished raw image for delivery. Every chunk is compared with its recorded digest before its bytes are
// given, so that a wrong image is never sent to its end. All methods may be used by several goroutines at once.
type Artifact struct {
	path     string
	file     File
	digests  *Digests
	manifest Manifest
}

// OpenArtifact opens a complete image; anything less is fault.Damaged, Blocked. The caller closes it.
func OpenArtifact(ctx context.Context, files Files, path string, size int64, ledger Ledger) (*Artifact, error) {
	if files == nil {
		files = OS
	}
	found, err := Inspect(ctx, files, path, size, ledger)
	if err != nil {
		return nil, fmt.Errorf("open image: %w", err)
	}
	if found.State != Complete {
		return nil, fault.Newf(fault.Blocked, fault.Damaged, "open image %s: it is %s %s", path, found.State, found.Why)
	}
	file, err := files.Open(path, false)
	if err != nil {
		return nil, fmt.Errorf("open image: %w", err)
	}
	return &Artifact{path, file, found.Digests, *found.Image}, nil
}

// Manifest describes the image.
func (a *Artifact) Manifest() Manifest { return a.manifest }

// Format is "raw".
func (a *Artifact) Format() string { return a.manifest.Format }

// Size is the size of the disk in bytes.
func (a *Artifact) Size() int64 { return a.manifest.Size }

// Length is the number of bytes of the image as it is sent, which for raw is the size.
func (a *Artifact) Length() int64 { return a.manifest.Size }

// Chunks is the number of chunks of ChunkSize; the last may be short.
func (a *Artifact) Chunks() int64 { return a.digests.chunks }

// Zero tells whether chunk i holds nothing but zeros.
func (a *Artifact) Zero(i int64) bool { return a.digests.Zero(i) }

// ReadChunk gives the length of chunk i, and fills p with it, which must have room for ChunkSize. A chunk of nothing but
// zeros is not read: zero is true and p is untouched. Bytes that are not those recorded are a *Difference,
// fault.Damaged, Blocked. A page-aligned p is read past the page cache.
func (a *Artifact) ReadChunk(i int64, p []byte) (n int, zero bool, err error) {
	if i < 0 || i >= a.digests.chunks {
		return 0, false, fmt.Errorf("read %s: chunk %d of %d: %w", a.path, i, a.digests.chunks, io.EOF)
	}
	n = chunkLen(a.manifest.Size, i)
	if a.digests.Zero(i) {
		return n, true, nil
	}
	if len(p) < n {
		return 0, false, fmt.Errorf("read %s: chunk %d: %w", a.path, i, io.ErrShortBuffer)
	}
	p = p[:n]
	if k, err := a.file.ReadAt(p, i*ChunkSize); k < n {
		if err == nil {
			err = io.ErrUnexpectedEOF
		}
		return 0, false, fault.Newf(fault.Blocked, fault.Damaged, "read %s: chunk %d: %w", a.path, i, err)
	}
	want, _ := a.digests.Get(i)
	if got, ok := holds(p, want); !ok {
		return 0, false, fault.Hint(fault.New(fault.Blocked, fault.Damaged, fmt.Errorf("read %s: %w", a.path, &Difference{i, want, got})),
			"the staging disk does not give back what was written: discard the image, look at the disk's health, copy again")
	}
	return n, false, nil
}

// WriteTo writes the whole image in order. It may be called again.
func (a *Artifact) WriteTo(w io.Writer) (int64, error) { return a.NewReader().WriteTo(w) }

// Close closes the file.
func (a *Artifact) Close() error { return a.file.Close() }
