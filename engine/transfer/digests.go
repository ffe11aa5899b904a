package transfer

import (
	"context"
	"fmt"
	"slices"

	"landfall/engine/fault"
)

// Digests is what a ledger knows of one image. Chunks of zeros take two bits each, so that a large thin disk stays small.
// It is not safe for use by several goroutines while it is changed.
type Digests struct {
	size   int64
	chunks int64
	tail   Sum // digest of the last chunk when it is all zeros
	known  bitmap
	zero   bitmap
	pages  [][]Sum // digests of chunks with data, a page for every sumsPerPage chunks
	count  int64
	zeros  int64
}

const sumsPerPage = 1024

// NewDigests makes an empty set for a disk of so many bytes.
func NewDigests(size int64) *Digests {
	n := Chunks(size)
	d := &Digests{size: size, chunks: n, tail: zeroChunk, known: newBitmap(n), zero: newBitmap(n)}
	d.pages = make([][]Sum, (n+sumsPerPage-1)/sumsPerPage)
	if n > 0 {
		d.tail = ZeroSum(chunkLen(size, n-1))
	}
	return d
}

// Load reads a whole ledger. A chunk behind the disk's end is fault.Damaged: the ledger is another disk's.
func Load(ctx context.Context, size int64, ledger Ledger) (*Digests, error) {
	d := NewDigests(size)
	chunks, err := ledger.Load(ctx)
	if err != nil {
		return nil, fmt.Errorf("load chunk ledger: %w", err)
	}
	for _, c := range chunks {
		if c.Index < 0 || c.Index >= d.chunks {
			return nil, fault.Newf(fault.Blocked, fault.Damaged,
				"load chunk ledger: chunk %d lies outside the disk of %d bytes", c.Index, size)
		}
		d.Set(c.Index, c.Sum)
	}
	return d, nil
}

// Set records the digest of chunk i.
func (d *Digests) Set(i int64, sum Sum) {
	if d.known.has(i) {
		if d.zero.has(i) {
			d.zeros--
			d.zero.clear(i)
		}
		d.count--
	}
	d.known.set(i)
	d.count++
	if sum == d.zeroAt(i) {
		d.zero.set(i)
		d.zeros++
		return
	}
	page := &d.pages[i/sumsPerPage]
	if *page == nil {
		*page = make([]Sum, sumsPerPage)
	}
	(*page)[i%sumsPerPage] = sum
}

// forget takes chunk i out.
func (d *Digests) forget(i int64) {
	if !d.known.has(i) {
		return
	}
	if d.zero.has(i) {
		d.zeros--
		d.zero.clear(i)
	}
	d.known.clear(i)
	d.count--
}

// clone is for looking at what was known while the set is changed.
func (d *Digests) clone() *Digests {
	c := *d
	c.known, c.zero, c.pages = slices.Clone(d.known), slices.Clone(d.zero), slices.Clone(d.pages)
	for i := range c.pages {
		c.pages[i] = slices.Clone(c.pages[i])
	}
	return &c
}

// Get gives the digest of chunk i; ok is false where it is not recorded.
func (d *Digests) Get(i int64) (sum Sum, ok bool) {
	if i < 0 || i >= d.chunks || !d.known.has(i) {
		return Sum{}, false
	}
	if d.zero.has(i) {
		return d.zeroAt(i), true
	}
	return d.pages[i/sumsPerPage][i%sumsPerPage], true
}

// Zero tells whether chunk i is recorded as nothing but zeros.
func (d *Digests) Zero(i int64) bool { return d.zero.has(i) }

// Count is the number of recorded chunks.
func (d *Digests) Count() int64 { return d.count }

// Complete tells whether every chunk is recorded.
func (d *Digests) Complete() bool { return d.count == d.chunks }

// missing gives the chunks that are not recorded, as rows of neighbours.
func (d *Digests) missing() []run {
	var out []run
	for i := int64(0); i < d.chunks; i++ {
		if d.known.has(i) {
			continue
		}
		if n := len(out); n > 0 && out[n-1].end == i {
			out[n-1].end++
		} else {
			out = append(out, run{i, i + 1})
		}
	}
	return out
}

// Root is the Merkle root; it is meaningful only when the set is complete.
func (d *Digests) Root() Sum {
	return Root(d.size, func(i int64) Sum {
		s, _ := d.Get(i)
		return s
	})
}

// Manifest describes the image that a complete set stands for.
func (d *Digests) Manifest() Manifest {
	zero := d.zeros * ChunkSize
	if d.chunks > 0 && d.zero.has(d.chunks-1) {
		zero += int64(chunkLen(d.size, d.chunks-1)) - ChunkSize
	}
	return Manifest{
		Format: "raw", Size: d.size, ChunkSize: ChunkSize, Root: d.Root().String(), Data: d.size - zero, Zero: zero,
	}
}

func (d *Digests) zeroAt(i int64) Sum {
	if i == d.chunks-1 {
		return d.tail
	}
	return zeroChunk
}

type bitmap []uint64

func newBitmap(n int64) bitmap    { return make(bitmap, (n+63)/64) }
func (b bitmap) has(i int64) bool { return b[i/64]&(1<<(i%64)) != 0 }
func (b bitmap) set(i int64)      { b[i/64] |= 1 << (i % 64) }
func (b bitmap) clear(i int64)    { b[i/64] &^= 1 << (i % 64) }
