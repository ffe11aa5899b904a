package targettest

import (
	"bytes"
	"io"

	"landfall/engine/fault"
)

const chunk = 1 << 20

// Image is a raw artifact in memory.
type Image struct {
	Bytes []byte
	// Damaged is a chunk that is not what was recorded; below 0 is none.
	Damaged int64
}

// NewImage gives an artifact with the contents.
func NewImage(b []byte) *Image { return &Image{Bytes: b, Damaged: -1} }

func (i *Image) Format() string { return "raw" }
func (i *Image) Size() int64    { return int64(len(i.Bytes)) }
func (i *Image) Length() int64  { return i.Size() }
func (i *Image) Chunks() int64  { return (i.Size() + chunk - 1) / chunk }

func (i *Image) part(n int64) []byte {
	return i.Bytes[n*chunk : min((n+1)*chunk, i.Size())]
}

var zeros [chunk]byte

func (i *Image) ReadChunk(n int64, p []byte) (int, bool, error) {
	b := i.part(n)
	if n == i.Damaged {
		return 0, false, fault.Newf(fault.Permanent, fault.Damaged, "chunk %d is not what was recorded", n)
	}
	if bytes.Equal(b, zeros[:len(b)]) {
		return len(b), true, nil
	}
	return copy(p, b), false, nil
}

func (i *Image) WriteTo(w io.Writer) (int64, error) {
	var total int64
	for n := range i.Chunks() {
		if n == i.Damaged {
			return total, fault.Newf(fault.Permanent, fault.Damaged, "chunk %d is not what was recorded", n)
		}
		m, err := w.Write(i.part(n))
		total += int64(m)
		if err != nil {
			return total, err
		}
	}
	return total, nil
}
