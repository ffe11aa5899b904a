package esxsim

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"

	"golang.org/x/sys/unix"
)

const fillChunk = 1 << 20

var zeros [fillChunk]byte

// makeExtent makes a sparse file of the given size with the contents, unless
// it exists: the name appears only when everything is in it.
func makeExtent(name string, size int64, c Contents) error {
	if _, err := os.Stat(name); err == nil {
		return nil
	}
	tmp := name + ".making"
	f, err := os.OpenFile(tmp, os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return fmt.Errorf("make extent: %w", err)
	}
	defer f.Close()
	if err := f.Truncate(size); err != nil {
		return fmt.Errorf("make extent: %w", err)
	}
	if err := c.fill(f, size); err != nil {
		return fmt.Errorf("make extent %s: %w", name, err)
	}
	if err := f.Close(); err != nil {
		return fmt.Errorf("make extent: %w", err)
	}
	return os.Rename(tmp, name)
}

func (c Contents) fill(f *os.File, size int64) error {
	switch {
	case c.From != nil:
		return copyRange(f, c.From, Range{0, size})
	case c.File != "":
		src, err := os.Open(c.File)
		if err != nil {
			return err
		}
		defer src.Close()
		st, err := src.Stat()
		if err != nil {
			return err
		}
		if st.Size() > size {
			return fmt.Errorf("image %s has %d bytes, the disk only %d", c.File, st.Size(), size)
		}
		areas, err := allocated(src, st.Size(), 1)
		if err != nil {
			return err
		}
		for _, a := range areas {
			if err := copyRange(f, src, a); err != nil {
				return err
			}
		}
	default:
		p := Pattern{Seed: c.Seed, Ranges: c.Ranges}
		for _, r := range c.Ranges {
			if r.Offset < 0 || r.Length < 0 || r.Offset+r.Length > size {
				return fmt.Errorf("data at %d+%d is outside the disk of %d bytes", r.Offset, r.Length, size)
			}
			if err := copyRange(f, p, r); err != nil {
				return err
			}
		}
	}
	return nil
}

// copyRange leaves holes where the source has whole chunks of zeros.
func copyRange(f *os.File, src io.ReaderAt, r Range) error {
	buf := make([]byte, min(fillChunk, r.Length))
	for r.Length > 0 {
		p := buf[:min(int64(len(buf)), r.Length)]
		n, err := src.ReadAt(p, r.Offset)
		if n == 0 && errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		if !bytes.Equal(p[:n], zeros[:n]) {
			if _, err := f.WriteAt(p[:n], r.Offset); err != nil {
				return err
			}
		}
		r.Offset, r.Length = r.Offset+int64(n), r.Length-int64(n)
	}
	return nil
}

// allocated lists the areas of a file that are no holes, widened to grain and
// joined where they touch. It moves the file's offset.
func allocated(f *os.File, size, grain int64) ([]Range, error) {
	var areas []Range
	for off := int64(0); off < size; {
		from, to, err := nextData(f, off, size)
		if err != nil {
			return nil, err
		}
		if from >= size {
			break
		}
		off = to
		from, to = from/grain*grain, min((to+grain-1)/grain*grain, size)
		if n := len(areas); n > 0 && areas[n-1].Offset+areas[n-1].Length >= from {
			areas[n-1].Length = to - areas[n-1].Offset
			continue
		}
		areas = append(areas, Range{from, to - from})
	}
	return areas, nil
}

// nextData finds the first stretch of data at or after off; from is size when
// there is none.
func nextData(f *os.File, off, size int64) (from, to int64, err error) {
	from, err = f.Seek(off, unix.SEEK_DATA)
	if errors.Is(err, unix.ENXIO) {
		return size, size, nil
	}
	if err != nil {
		return 0, 0, fmt.Errorf("look for data in %s: %w", f.Name(), err)
	}
	to, err = f.Seek(from, unix.SEEK_HOLE)
	if err != nil {
		return 0, 0, fmt.Errorf("look for holes in %s: %w", f.Name(), err)
	}
	return from, min(to, size), nil
}
