package esxsim

import (
	"encoding/binary"
	"io"
	"math/rand/v2"
)

// Pattern is reproducible disk contents: pseudo-random bytes inside Ranges,
// zeros outside. It has no end.
type Pattern struct {
	Seed   uint64
	Ranges []Range
}

const patternBlock = 4096

// ReadAt fills p with what the disk holds at off. It never fails.
func (t Pattern) ReadAt(p []byte, off int64) (int, error) {
	clear(p)
	for _, r := range t.Ranges {
		from, to := max(r.Offset, off), min(r.Offset+r.Length, off+int64(len(p)))
		for from < to {
			from += int64(t.block(p[from-off:to-off], from))
		}
	}
	return len(p), nil
}

// block fills p from the one block that holds off and says how much that was.
func (t Pattern) block(p []byte, off int64) int {
	var b [patternBlock]byte
	rng := rand.NewPCG(t.Seed, uint64(off/patternBlock))
	for i := 0; i < len(b); i += 8 {
		binary.LittleEndian.PutUint64(b[i:], rng.Uint64())
	}
	return copy(p, b[off%patternBlock:])
}

var _ io.ReaderAt = Pattern{}
