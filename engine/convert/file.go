package convert

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"landfall/engine"
	"landfall/engine/fault"
)

const chunk = 1 << 20

// file is a converted image that was compared with its recorded digest when it was opened; each chunk is compared again
// when it is read.
type file struct {
	f      *os.File
	a      engine.Artifact
	size   int64
	chunks [][sha256.Size]byte
}

// Open reads the image once, to compare it with what was described, and keeps a digest of each of its chunks.
func (QemuImg) Open(ctx context.Context, a engine.Artifact, size int64) (engine.Delivery, error) {
	f, err := os.Open(a.Path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, damaged("the converted image is gone: %w", err)
	}
	if err != nil {
		return nil, err
	}
	d := &file{f: f, a: a, size: size}
	whole, buf, length := sha256.New(), make([]byte, chunk), int64(0)
	for ctx.Err() == nil {
		n, err := io.ReadFull(f, buf)
		whole.Write(buf[:n])
		length += int64(n)
		if n > 0 {
			d.chunks = append(d.chunks, sha256.Sum256(buf[:n]))
		}
		if err == io.EOF || err == io.ErrUnexpectedEOF {
			if got := hex.EncodeToString(whole.Sum(nil)); got != a.Digest || length != a.Length {
				_ = f.Close()
				return nil, damaged("%s is not what was converted: %d bytes %s, recorded %d bytes %s", a.Path, length, got, a.Length, a.Digest)
			}
			return d, nil
		}
		if err != nil {
			_ = f.Close()
			return nil, err
		}
	}
	_ = f.Close()
	return nil, ctx.Err()
}

func damaged(format string, args ...any) error {
	return fault.Hint(fault.Newf(fault.Blocked, fault.Damaged, format, args...), "somebody changed the staging folder: cancel, and migrate the VM again")
}

func (d *file) Format() string { return d.a.Format }
func (d *file) Size() int64    { return d.size }
func (d *file) Length() int64  { return d.a.Length }
func (d *file) Chunks() int64  { return int64(len(d.chunks)) }
func (d *file) Close() error   { return d.f.Close() }

// ReadChunk reads one chunk; none is ever called zero, as the format keeps none that is worth it.
func (d *file) ReadChunk(i int64, p []byte) (int, bool, error) {
	if i < 0 || i >= d.Chunks() {
		return 0, false, fmt.Errorf("%s has no chunk %d", d.a.Path, i)
	}
	n, err := d.f.ReadAt(p[:min(chunk, d.a.Length-i*chunk)], i*chunk)
	if err != nil && err != io.EOF {
		return 0, false, err
	}
	if sha256.Sum256(p[:n]) != d.chunks[i] {
		return 0, false, damaged("%s changed while it was read, at byte %d", d.a.Path, i*chunk)
	}
	return n, false, nil
}

// WriteTo writes the image in order.
func (d *file) WriteTo(w io.Writer) (n int64, err error) {
	buf := make([]byte, chunk)
	for i := range d.Chunks() {
		k, _, err := d.ReadChunk(i, buf)
		if err != nil {
			return n, err
		}
		written, err := w.Write(buf[:k])
		n += int64(written)
		if err != nil {
			return n, err
		}
	}
	return n, nil
}
