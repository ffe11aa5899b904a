package esxsim

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
)

// changeGrain is the unit of change tracking, and of what a delta holds.
const changeGrain = 64 << 10

// delta is what was written to a disk since a snapshot. Its bytes are kept
// beside the datastore, in a sparse file as large as the disk: the extent
// that the datastore shows has the form of a delta and no bytes.
type delta struct {
	file string
	has  []bool // by grain
}

func grains(size int64) int { return int((size + changeGrain - 1) / changeGrain) }

func (d *disk) deltaFile(descriptor string) string {
	return filepath.Join(d.store.dir+".deltas", contentID(d.spec.UUID, d.spec.Directory)+"-"+descriptor)
}

// delta needs the machine's mu, as all methods of this file do.
func (d *disk) delta(at int) (*delta, error) {
	name := d.deltaFile(d.layers[at].Descriptor)
	if t := d.deltas[name]; t != nil && len(t.has) == grains(d.size) {
		return t, nil
	}
	t := &delta{file: name, has: make([]bool, grains(d.size))}
	f, err := os.Open(name)
	if err == nil {
		defer f.Close()
		areas, err := allocated(f, d.size, changeGrain)
		if err != nil {
			return nil, err
		}
		for _, a := range areas {
			for i := a.Offset / changeGrain; i*changeGrain < a.Offset+a.Length; i++ {
				t.has[i] = true
			}
		}
	} else if !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	if d.deltas == nil {
		d.deltas = map[string]*delta{}
	}
	d.deltas[name] = t
	return t, nil
}

// view is a disk's content as layer at has it, with its files open.
type view struct {
	d     *disk
	files []*os.File // from the top to the base; nil where nothing was written
	has   [][]bool   // likewise; nil for the base
}

func (d *disk) view(at int) (*view, error) {
	v := &view{d: d}
	for _, k := range d.chain(at) {
		if !d.layers[k].delta() {
			f, err := os.Open(filepath.Join(d.dir(), d.layers[k].Extent))
			if err != nil {
				v.close()
				return nil, err
			}
			v.files, v.has = append(v.files, f), append(v.has, nil)
			continue
		}
		t, err := d.delta(k)
		if err != nil {
			v.close()
			return nil, err
		}
		f, err := os.Open(t.file)
		if errors.Is(err, os.ErrNotExist) {
			continue // nothing was written to it
		}
		if err != nil {
			v.close()
			return nil, err
		}
		v.files, v.has = append(v.files, f), append(v.has, t.has)
	}
	return v, nil
}

func (v *view) close() {
	for _, f := range v.files {
		_ = f.Close()
	}
}

// ReadAt gives every grain from the topmost layer that has it.
func (v *view) ReadAt(p []byte, off int64) (int, error) {
	done := 0
	for done < len(p) {
		at := off + int64(done)
		if at >= v.d.size {
			return done, io.EOF
		}
		part := p[done:min(int64(len(p)), int64(done)+changeGrain-at%changeGrain, int64(done)+v.d.size-at)]
		for i, f := range v.files {
			if v.has[i] != nil && !v.has[i][at/changeGrain] {
				continue
			}
			if n, err := f.ReadAt(part, at); err != nil && !(errors.Is(err, io.EOF) && n == len(part)) {
				return done, err
			}
			break
		}
		done += len(part)
	}
	return done, nil
}

// areas are where the view may hold data, of the given grain.
func (v *view) areas(grain int64) ([]Range, error) {
	used := make([]bool, (v.d.size+grain-1)/grain)
	mark := func(r Range) {
		for i := r.Offset / grain; i*grain < r.Offset+r.Length; i++ {
			used[i] = true
		}
	}
	for i, f := range v.files {
		if v.has[i] == nil {
			base, err := allocated(f, v.d.size, grain)
			if err != nil {
				return nil, err
			}
			for _, r := range base {
				mark(r)
			}
			continue
		}
		for k, has := range v.has[i] {
			if has {
				mark(Range{int64(k) * changeGrain, min(changeGrain, v.d.size-int64(k)*changeGrain)})
			}
		}
	}
	return rangesOf(used, grain, v.d.size), nil
}

// rangesOf joins neighbours.
func rangesOf(used []bool, grain, size int64) []Range {
	var out []Range
	for i, u := range used {
		if !u {
			continue
		}
		from, to := int64(i)*grain, min(int64(i+1)*grain, size)
		if n := len(out); n > 0 && out[n-1].Offset+out[n-1].Length == from {
			out[n-1].Length = to - out[n-1].Offset
			continue
		}
		out = append(out, Range{from, to - from})
	}
	return out
}

// write is what a guest does: into the base, or with a snapshot into the
// topmost delta, which takes over the whole grains that it touches.
func (d *disk) write(off int64, data []byte) error {
	if d.spec.Bare || off < 0 || off > d.size || int64(len(data)) > d.size-off {
		return fmt.Errorf("write %d bytes at %d: outside the disk, or it has no contents", len(data), off)
	}
	if len(data) == 0 {
		return nil
	}
	first, end := off/changeGrain, (off+int64(len(data))+changeGrain-1)/changeGrain
	if d.layers[d.top].delta() {
		if err := d.writeDelta(off, data, first, end); err != nil {
			return err
		}
	} else {
		f, err := os.OpenFile(filepath.Join(d.dir(), d.layers[0].Extent), os.O_WRONLY, 0)
		if err != nil {
			return err
		}
		defer f.Close()
		if _, err := f.WriteAt(data, off); err != nil {
			return err
		}
	}
	d.stamp(first, end)
	return nil
}

func (d *disk) writeDelta(off int64, data []byte, first, end int64) error {
	from := first * changeGrain
	whole := make([]byte, min(end*changeGrain, d.size)-from)
	v, err := d.view(d.top)
	if err != nil {
		return err
	}
	_, err = v.ReadAt(whole, from)
	v.close()
	if err != nil {
		return err
	}
	copy(whole[off-from:], data)
	t, err := d.delta(d.top)
	if err != nil {
		return err
	}
	if err := t.write(whole, from, d.size); err != nil {
		return err
	}
	for i := first; i < end; i++ {
		t.has[i] = true
	}
	return nil
}

func (t *delta) write(p []byte, off, size int64) error {
	if err := os.MkdirAll(filepath.Dir(t.file), 0o700); err != nil {
		return err
	}
	f, err := os.OpenFile(t.file, os.O_WRONLY|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := f.Truncate(size); err != nil {
		return err
	}
	_, err = f.WriteAt(p, off)
	return err
}

// merge moves what layer at holds into the one below it and takes layer at
// out of the chain.
func (d *disk) merge(at int) error {
	gone := d.layers[at]
	t, err := d.delta(at)
	if err != nil {
		return err
	}
	if slices.Contains(t.has, true) {
		if err := d.pour(t, gone.Parent); err != nil {
			return err
		}
	}
	_ = os.Remove(t.file)
	delete(d.deltas, t.file)
	delete(d.frozen, gone.Descriptor)
	d.layers = slices.Delete(d.layers, at, at+1)
	for k := range d.layers {
		d.layers[k].Parent = k - 1
	}
	d.top = len(d.layers) - 1
	for _, f := range []string{gone.Descriptor, gone.Extent, trackingFile(gone.Descriptor)} {
		_ = os.Remove(filepath.Join(d.dir(), f))
	}
	return nil
}

func (d *disk) pour(t *delta, into int) error {
	src, err := os.Open(t.file)
	if err != nil {
		return err
	}
	defer src.Close()
	var dst *delta
	var base *os.File
	if d.layers[into].delta() {
		dst, err = d.delta(into)
	} else {
		base, err = os.OpenFile(filepath.Join(d.dir(), d.layers[into].Extent), os.O_WRONLY, 0)
	}
	if err != nil {
		return err
	}
	if base != nil {
		defer base.Close()
	}
	for _, r := range rangesOf(t.has, changeGrain, d.size) {
		for r.Length > 0 {
			p := make([]byte, min(r.Length, 1<<20))
			if _, err := src.ReadAt(p, r.Offset); err != nil {
				return err
			}
			if base != nil {
				_, err = base.WriteAt(p, r.Offset)
			} else {
				err = dst.write(p, r.Offset, d.size)
			}
			if err != nil {
				return err
			}
			r.Offset, r.Length = r.Offset+int64(len(p)), r.Length-int64(len(p))
		}
	}
	if dst != nil {
		for i, has := range t.has {
			dst.has[i] = dst.has[i] || has
		}
	}
	return nil
}
