package transfer_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"landfall/engine/fault"
	"landfall/engine/transfer"
	"landfall/sources"
)

// wholeDisk gives its content in one stream, in parts that respect no chunk, and may be cut.
type wholeDisk struct {
	memDisk
	cut int64 // 0: not cut
}

func (d *wholeDisk) ReadAll(_ context.Context, each func(int64, []byte) error) error {
	r := rand.New(rand.NewPCG(uint64(len(d.data)), 3))
	for at := int64(0); at < int64(len(d.data)); {
		n := min(r.Int64N(300<<10)+1, int64(len(d.data))-at)
		if d.cut > 0 && at+n > d.cut {
			return fault.Newf(fault.Transient, fault.EarlyEnd, "cut")
		}
		if part := d.data[at : at+n]; slices.ContainsFunc(part, func(b byte) bool { return b != 0 }) {
			if err := each(at, part); err != nil {
				return err
			}
		}
		at += n
	}
	return nil
}

func TestAWholeStreamGivesTheDisk(t *testing.T) {
	for _, size := range []int64{0, 1, mib - 1, mib, 5*mib + 100, 70 * mib} {
		t.Run(fmt.Sprint(size), func(t *testing.T) {
			data := content(size, uint64(size)+2)
			disk, ledger, path := &wholeDisk{memDisk: memDisk{data: data}, cut: size / 2}, &memLedger{}, imagePath(t)
			job := transfer.Job{Disk: disk, Path: path, Ledger: ledger}
			if size > 1 {
				_, err := transfer.CopyWhole(t.Context(), job)
				wantFault(t, err, fault.Transient, fault.EarlyEnd)
			}
			disk.cut = 0
			res, err := transfer.CopyWhole(t.Context(), job)
			if err != nil {
				t.Fatal(err)
			}
			sameImage(t, nil, path, data)
			if err := transfer.Verify(t.Context(), nil, path, size, ledger, nil); err != nil || res.Manifest.Size != size {
				t.Errorf("%v, manifest %+v", err, res.Manifest)
			}
		})
	}
}

func TestAStreamThatGoesBackIsRefused(t *testing.T) {
	disk := &backwards{wholeDisk{memDisk: memDisk{data: content(3*mib, 1)}}}
	_, err := transfer.CopyWhole(t.Context(), transfer.Job{Disk: disk, Path: imagePath(t), Ledger: &memLedger{}})
	wantFault(t, err, fault.Blocked, fault.Damaged)
}

type backwards struct{ wholeDisk }

func (d *backwards) ReadAll(_ context.Context, each func(int64, []byte) error) error {
	if err := each(mib, d.data[mib:2*mib]); err != nil {
		return err
	}
	return each(0, d.data[:mib])
}

func TestRoundsOfChangesFollowTheDisk(t *testing.T) {
	const size = 9*mib + 512
	r := rand.New(rand.NewPCG(1, 2))
	disk := &memDisk{data: content(size, 9), streams: 4}
	job := transfer.Job{Disk: disk, Path: imagePath(t), Ledger: &memLedger{}}
	mustCopy(t, job)
	for round := range 8 {
		var changed []sources.Extent
		for range r.IntN(12) {
			at := r.Int64N(size)
			n := min(r.Int64N(400<<10)+1, size-at)
			if r.IntN(4) == 0 {
				clear(disk.data[at : at+n])
			} else {
				fill(r, disk.data[at:at+n])
			}
			changed = append(changed, sources.Extent{Offset: at, Length: n})
		}
		job.Extents = changed
		res, err := transfer.Apply(t.Context(), job)
		if err != nil {
			t.Fatal(err)
		}
		sameImage(t, nil, job.Path, disk.data)
		if err := transfer.Verify(t.Context(), nil, job.Path, size, job.Ledger, nil); err != nil {
			t.Fatalf("round %d: %v", round, err)
		}
		if len(changed) == 0 && res.Figures.Read != 0 {
			t.Errorf("%d bytes were read for nothing", res.Figures.Read)
		}
		if res.Figures.Read > 12*(400<<10)*2 {
			t.Errorf("%d bytes read for %s", res.Figures.Read, describe(changed))
		}
	}
}

func TestChangesNeedAFinishedImage(t *testing.T) {
	job := transfer.Job{Disk: &memDisk{data: content(mib, 1)}, Path: imagePath(t), Ledger: &memLedger{}}
	_, err := transfer.Apply(t.Context(), job)
	wantFault(t, err, fault.Blocked, fault.Damaged)
}
