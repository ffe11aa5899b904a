package transfer_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"path/filepath"
	"sync"
	"testing"

	"landfall/engine/fault"
	"landfall/engine/transfer"
	"landfall/sources"
)

const mib = 1 << 20

// memDisk is a disk in memory. It keeps which bytes were asked for.
type memDisk struct {
	data    []byte
	streams int
	// open, where set, may refuse a stream or replace it.
	open func(ctx context.Context, offset, length int64, body io.Reader) (io.Reader, error)

	mu    sync.Mutex
	asked []sources.Extent
	now   int // streams open
	most  int
}

func (d *memDisk) Reader() string { return "memory" }
func (d *memDisk) Size() int64    { return int64(len(d.data)) }
func (d *memDisk) Streams() int   { return max(d.streams, 1) }
func (d *memDisk) Close() error   { return nil }

func (d *memDisk) Allocated(context.Context) ([]sources.Extent, error) {
	return nil, fault.Newf(fault.Blocked, fault.Unsupported, "not told")
}

func (d *memDisk) Open(ctx context.Context, offset, length int64) (io.ReadCloser, error) {
	if offset < 0 || length <= 0 || offset+length > d.Size() {
		return nil, fault.Newf(fault.Permanent, fault.Refused, "range %d+%d of %d", offset, length, d.Size())
	}
	d.mu.Lock()
	d.asked = append(d.asked, sources.Extent{Offset: offset, Length: length})
	d.now++
	d.most = max(d.most, d.now)
	d.mu.Unlock()
	var body io.Reader = bytes.NewReader(d.data[offset : offset+length])
	if d.open != nil {
		var err error
		if body, err = d.open(ctx, offset, length, body); err != nil {
			d.closed()
			return nil, err
		}
	}
	return &memStream{d: d, body: body}, nil
}

func (d *memDisk) closed() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.now--
}

type memStream struct {
	d    *memDisk
	body io.Reader
	once sync.Once
}

func (s *memStream) Read(p []byte) (int, error) { return s.body.Read(p) }
func (s *memStream) Close() error               { s.once.Do(s.d.closed); return nil }

// memLedger is a ledger in memory, which checks what it is told.
type memLedger struct {
	mu     sync.Mutex
	sums   map[int64]transfer.Sum
	rounds int
	forgot int
	err    error
}

func (l *memLedger) Load(context.Context) ([]transfer.Chunk, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	var out []transfer.Chunk
	for i, s := range l.sums {
		out = append(out, transfer.Chunk{Index: i, Sum: s})
	}
	return out, nil
}

func (l *memLedger) Record(ctx context.Context, chunks []transfer.Chunk) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.err != nil {
		return l.err
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if l.sums == nil {
		l.sums = map[int64]transfer.Sum{}
	}
	for _, c := range chunks {
		l.sums[c.Index] = c.Sum
	}
	l.rounds++
	return nil
}

func (l *memLedger) Forget(ctx context.Context, chunks []int64) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.err != nil {
		return l.err
	}
	for _, i := range chunks {
		delete(l.sums, i)
	}
	l.forgot += len(chunks)
	return ctx.Err()
}

func (l *memLedger) count() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.sums)
}

// content makes a disk's bytes: per chunk random, zero, or zero but for a few bytes.
func content(size int64, seed uint64) []byte {
	random := rand.New(rand.NewPCG(seed, 1))
	source := rand.NewChaCha8([32]byte{byte(seed), byte(seed >> 8)})
	data := make([]byte, size)
	for off := 0; off < len(data); off += mib {
		p := data[off:min(off+mib, len(data))]
		switch random.IntN(3) {
		case 0:
			_, _ = source.Read(p)
		case 1:
			p[random.IntN(len(p))] = 1
		}
	}
	return data
}

func imagePath(t *testing.T) string { return filepath.Join(t.TempDir(), "vm", "disk-0.raw") }

// imageBytes reads an image back through a Files.
func imageBytes(t *testing.T, files transfer.Files, path string) []byte {
	t.Helper()
	b, err := transfer.ReadFile(files, path)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func mustCopy(t *testing.T, job transfer.Job) transfer.Result {
	t.Helper()
	res, err := transfer.Copy(t.Context(), job)
	if err != nil {
		t.Fatal(err)
	}
	return res
}

// sameImage compares an image with the disk it was copied from.
func sameImage(t *testing.T, files transfer.Files, path string, want []byte) {
	t.Helper()
	got := imageBytes(t, files, path)
	if bytes.Equal(got, want) {
		return
	}
	if len(got) != len(want) {
		t.Fatalf("the image has %d bytes, the disk %d", len(got), len(want))
	}
	for i := range got {
		if got[i] != want[i] {
			t.Fatalf("the image differs from the disk at byte %d (chunk %d): %d, want %d", i, i/mib, got[i], want[i])
		}
	}
}

// wantFault checks class and reason of an error.
func wantFault(t *testing.T, err error, class fault.Class, reason string) {
	t.Helper()
	if err == nil {
		t.Fatalf("no error, want %s %s", class, reason)
	}
	if fault.ClassOf(err) != class || fault.ReasonOf(err) != reason {
		t.Fatalf("error %q is %s %s, want %s %s", err, fault.ClassOf(err), fault.ReasonOf(err), class, reason)
	}
}

var errCut = errors.New("connection reset by peer")

// cutAfter gives n bytes and then err.
func cutAfter(r io.Reader, n int64, err error) io.Reader {
	return io.MultiReader(io.LimitReader(r, n), failing{err})
}

type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }

func describe(extents []sources.Extent) string {
	var b bytes.Buffer
	for _, e := range extents {
		fmt.Fprintf(&b, "%d+%d ", e.Offset, e.Length)
	}
	return b.String()
}
