package transfer

import (
	"errors"
	"fmt"
	"io"
)

// ImageReader gives an image's bytes in order, verified. It is for one goroutine, holds one chunk, and needs no closing.
type ImageReader struct {
	a     *Artifact
	at    int64
	chunk int64 // in buf, or -1
	zero  bool  // buf was not filled
	buf   []byte
}

// NewReader gives a reader that stands at the beginning.
func (a *Artifact) NewReader() *ImageReader { return &ImageReader{a: a, chunk: -1} }

// Read gives bytes of the chunk it stands in. With a digest that differs it gives an error and no byte of that chunk.
func (r *ImageReader) Read(p []byte) (int, error) {
	b, err := r.ahead()
	if err != nil {
		return 0, err
	}
	n := copy(p, b)
	r.at += int64(n)
	return n, nil
}

// WriteTo writes all from where it stands to the end.
func (r *ImageReader) WriteTo(w io.Writer) (int64, error) {
	var total int64
	for {
		b, err := r.ahead()
		if errors.Is(err, io.EOF) {
			return total, nil
		}
		if err != nil {
			return total, err
		}
		n, err := w.Write(b)
		r.at += int64(n)
		total += int64(n)
		if err != nil {
			return total, err
		}
	}
}

// Seek moves; a place behind the end reads as the end.
func (r *ImageReader) Seek(offset int64, whence int) (int64, error) {
	switch whence {
	case io.SeekCurrent:
		offset += r.at
	case io.SeekEnd:
		offset += r.a.Size()
	}
	if offset < 0 {
		return r.at, fmt.Errorf("seek in %s to %d: before the beginning", r.a.path, offset)
	}
	r.at = offset
	return offset, nil
}

// ahead gives the rest of the chunk it stands in.
func (r *ImageReader) ahead() ([]byte, error) {
	if r.at >= r.a.Size() {
		return nil, io.EOF
	}
	i, skip := r.at/ChunkSize, int(r.at%ChunkSize)
	if i != r.chunk {
		if r.buf == nil {
			r.buf = make([]byte, ChunkSize)
		}
		r.chunk = -1
		_, zero, err := r.a.ReadChunk(i, r.buf)
		if err != nil {
			return nil, err
		}
		r.chunk, r.zero = i, zero
	}
	n := chunkLen(r.a.Size(), i)
	if r.zero {
		return zeros[:min(n-skip, len(zeros))], nil
	}
	return r.buf[skip:n], nil
}
