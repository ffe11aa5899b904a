package esxsim

import (
	"errors"
	"io"
	"os"
)

// extentReader reads a sparse file; holes are zeros that never touch the page
// cache, so that a big thin disk can be served from a small machine.
type extentReader struct {
	f          *os.File
	size, pos  int64
	data, hole int64 // the stretch of data known last; [pos, data) is a hole
}

func newExtentReader(f *os.File) (*extentReader, error) {
	st, err := f.Stat()
	if err != nil {
		return nil, err
	}
	return &extentReader{f: f, size: st.Size()}, nil
}

func (e *extentReader) Seek(off int64, whence int) (int64, error) {
	switch whence {
	case io.SeekCurrent:
		off += e.pos
	case io.SeekEnd:
		off += e.size
	}
	if off < 0 {
		return 0, errors.New("seek before the start")
	}
	e.pos, e.data, e.hole = off, 0, 0
	return off, nil
}

func (e *extentReader) Read(p []byte) (int, error) {
	if e.pos >= e.size {
		return 0, io.EOF
	}
	p = p[:min(int64(len(p)), e.size-e.pos)]
	done := 0
	for done < len(p) {
		if e.pos >= e.hole {
			var err error
			if e.data, e.hole, err = nextData(e.f, e.pos, e.size); err != nil {
				return done, err
			}
		}
		rest := p[done:]
		if e.pos < e.data {
			rest = rest[:min(int64(len(rest)), e.data-e.pos)]
			clear(rest)
			done, e.pos = done+len(rest), e.pos+int64(len(rest))
			continue
		}
		n, err := e.f.ReadAt(rest[:min(int64(len(rest)), e.hole-e.pos)], e.pos)
		done, e.pos = done+n, e.pos+int64(n)
		if err != nil {
			return done, err
		}
	}
	return done, nil
}
