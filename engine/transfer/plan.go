package transfer

import (
	"cmp"
	"slices"
	"sort"

	"landfall/engine/fault"
	"landfall/sources"
)

// plan says which bytes of a disk have to be read, and which of its chunks hold any of them.
type plan struct {
	size   int64
	pieces []sources.Extent // sorted; holes of gap or less between them are read through
	runs   []run            // chunks to read, sorted
	bytes  int64            // of all pieces
}

// run is a row of chunks.
type run struct{ first, end int64 }

// newPlan plans the reading of the extents, nil meaning the whole disk, and through holes of gap or less between them.
// Chunks for which skip is true are left out of the runs.
func newPlan(size int64, extents []sources.Extent, gap int64, skip func(i int64) bool) (*plan, error) {
	p := &plan{size: size}
	if extents == nil && size > 0 {
		extents = []sources.Extent{{Length: size}}
	}
	var err error
	if p.pieces, err = join(size, extents, gap); err != nil {
		return nil, err
	}
	next := int64(0) // first chunk that no earlier piece touched
	for _, e := range p.pieces {
		p.bytes += e.Length
		first, end := max(next, e.Offset/ChunkSize), Chunks(e.End())
		for i := first; i < end; i++ {
			p.add(i, skip)
		}
		next = max(next, end)
	}
	return p, nil
}

func (p *plan) add(i int64, skip func(int64) bool) {
	if skip(i) {
		return
	}
	if n := len(p.runs); n > 0 && p.runs[n-1].end == i {
		p.runs[n-1].end++
		return
	}
	p.runs = append(p.runs, run{i, i + 1})
}

// join sorts and merges extents. What a source says is checked, not believed.
func join(size int64, extents []sources.Extent, gap int64) ([]sources.Extent, error) {
	sorted := slices.Clone(extents)
	slices.SortFunc(sorted, func(a, b sources.Extent) int { return cmp.Compare(a.Offset, b.Offset) })
	out := sorted[:0]
	for _, e := range sorted {
		if e.Offset < 0 || e.Length < 0 || e.Length > size || e.Offset > size-e.Length {
			return nil, fault.Newf(fault.Blocked, fault.Damaged,
				"plan copy: the source calls bytes %d+%d allocated, outside the disk of %d bytes", e.Offset, e.Length, size)
		}
		if e.Length == 0 {
			continue
		}
		if n := len(out); n > 0 && e.Offset-out[n-1].End() <= gap {
			out[n-1].Length = max(out[n-1].End(), e.End()) - out[n-1].Offset
			continue
		}
		out = append(out, e)
	}
	return out, nil
}

// at gives the index of the first piece that ends behind offset.
func (p *plan) at(offset int64) int {
	return sort.Search(len(p.pieces), func(i int) bool { return p.pieces[i].End() > offset })
}

// parts are the pieces between start and end, counted from start.
func (p *plan) parts(start, end int64) []sources.Extent {
	var out []sources.Extent
	for k := p.at(start); k < len(p.pieces) && p.pieces[k].Offset < end; k++ {
		from := max(start, p.pieces[k].Offset)
		out = append(out, sources.Extent{Offset: from - start, Length: min(end, p.pieces[k].End()) - from})
	}
	return out
}

// cost is the number of bytes of chunk i that are read from the source.
func (p *plan) cost(i int64) int64 {
	start, end := i*ChunkSize, min((i+1)*ChunkSize, p.size)
	var n int64
	for k := p.at(start); k < len(p.pieces) && p.pieces[k].Offset < end; k++ {
		n += min(end, p.pieces[k].End()) - max(start, p.pieces[k].Offset)
	}
	return n
}
