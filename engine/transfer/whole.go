package transfer

import (
	"context"
	"crypto/sha256"
	"fmt"
	"time"

	"landfall/engine/fault"
	"landfall/sources"
)

// CopyWhole copies a disk that comes in one stream from its start; job.Disk is a sources.Whole and job.Extents are not looked
// at. A copy that was cut off starts anew, and does not write again what the ledger vouches for. Everything else is as for Copy.
func CopyWhole(ctx context.Context, job Job) (Result, error) {
	if job.Files == nil {
		job.Files = OS
	}
	if job.Progress == nil {
		job.Progress = new(Progress)
	}
	res, err := copyWhole(ctx, job)
	switch {
	case err == nil:
		return res, nil
	case ctx.Err() != nil:
		err = fault.New(fault.Transient, fault.Interrupted, err)
	}
	return res, fmt.Errorf("copy to %s: %w", job.Path, err)
}

func copyWhole(ctx context.Context, job Job) (Result, error) {
	disk, ok := job.Disk.(sources.Whole)
	if !ok {
		return Result{}, fault.Newf(fault.Blocked, fault.Unsupported, "%s does not give the disk in one stream", job.Disk.Reader())
	}
	size := disk.Size()
	found, err := Inspect(ctx, job.Files, job.Path, size, job.Ledger)
	if err != nil {
		return Result{}, err
	}
	switch found.State {
	case Complete:
		return Result{Manifest: *found.Image, Digests: found.Digests}, nil
	case Broken:
		return Result{}, fault.Hint(fault.Newf(fault.Blocked, fault.Damaged, "go on with the image: %s", found.Why),
			"discard the image and copy the disk again")
	}
	m, err := openImage(job.Files, job.Path, found.Digests)
	if err != nil {
		return Result{}, err
	}
	defer m.file.Close()
	job.Progress.begin(time.Now(), size, 0)
	plan, err := newPlan(size, nil, func(int64) bool { return false })
	if err != nil {
		return Result{}, err
	}
	p := &pouring{ctx: ctx, applying: applying{job: job, plan: plan, image: m, digests: found.Digests}, size: size, buf: make([]byte, ChunkSize)}
	err = disk.ReadAll(ctx, p.take)
	if err == nil {
		err = p.finish(Chunks(size))
	}
	if e := p.flush(); err == nil {
		err = e
	}
	if err == nil && !found.Digests.Complete() {
		err = fault.Newf(fault.Permanent, fault.Damaged, "chunks are missing at the end")
	}
	if err == nil {
		err = m.publish()
	}
	res := Result{Digests: found.Digests, Figures: job.Progress.Figures()}
	if err == nil {
		res.Manifest = found.Digests.Manifest()
	}
	return res, err
}

// pouring gathers a stream into chunks, in order.
type pouring struct {
	applying
	ctx  context.Context
	size int64
	buf  []byte
	next int64 // the chunk that is gathered
	data bool  // it holds anything but zeros
	end  int64 // everything before it came
}

func (p *pouring) take(offset int64, b []byte) error {
	if offset < p.end || offset+int64(len(b)) > p.size {
		return fault.Newf(fault.Blocked, fault.Damaged, "the stream gives bytes %d+%d after %d of a disk of %d", offset, len(b), p.end, p.size)
	}
	for len(b) > 0 {
		i := offset / ChunkSize
		if err := p.finish(i); err != nil {
			return err
		}
		n := copy(p.buf[offset%ChunkSize:chunkLen(p.size, i)], b)
		p.job.Progress.count(n, time.Now())
		p.job.Throttle.pay(n)
		if err := p.job.Throttle.wait(p.ctx, func() {}); err != nil {
			return err
		}
		p.data = true
		offset, b = offset+int64(n), b[n:]
	}
	p.end = offset
	return nil
}

// finish closes every chunk before i.
func (p *pouring) finish(i int64) error {
	for ; p.next < i; p.next++ {
		buf := p.buf[:chunkLen(p.size, p.next)]
		c := Chunk{p.next, p.digests.zeroAt(p.next)}
		if p.data && !isZero(buf) {
			c.Sum = sha256.Sum256(buf)
		}
		old, known := p.digests.Get(p.next)
		switch {
		case known && old == c.Sum:
			p.job.Progress.vouched.Add(int64(len(buf)))
			p.clear()
			continue
		case c.Sum != p.digests.zeroAt(p.next):
			if err := p.image.write(buf, p.next*ChunkSize); err != nil {
				return p.image.fault("write", err)
			}
			p.job.Progress.written.Add(int64(len(buf)))
		case known:
			if err := p.image.file.Punch(p.next*ChunkSize, int64(len(buf))); err != nil {
				return p.image.fault("clear", err)
			}
		default:
			p.job.Progress.zero.Add(int64(len(buf)))
		}
		p.clear()
		p.batch = append(p.batch, c)
		if len(p.batch) >= (Unvouched-ahead)/ChunkSize {
			if err := p.record(); err != nil {
				return err
			}
		}
	}
	return nil
}

func (p *pouring) clear() {
	if p.data {
		clear(p.buf)
		p.data = false
	}
}

// pay takes what was read off the allowance, where there is one.
func (t *Throttle) pay(n int) {
	if t != nil {
		t.spend(n)
	}
}
