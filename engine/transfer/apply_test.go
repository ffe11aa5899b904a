package transfer_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"testing/synctest"

	"landfall/engine/boundary"
	"landfall/engine/fault"
	"landfall/engine/transfer"
	"landfall/sources"
)

// changedDisk is a copied disk and what was written to it since.
type changedDisk struct {
	files   *memFiles
	ledger  *memLedger
	disk    *memDisk
	before  []byte
	changed []sources.Extent
}

func newChanged(t *testing.T, size int64, writes int) *changedDisk {
	t.Helper()
	r := rand.New(rand.NewPCG(uint64(size), uint64(writes)))
	c := &changedDisk{files: newMemFiles(), ledger: &memLedger{}, disk: &memDisk{data: content(size, 7), streams: 3}}
	mustCopy(t, c.job())
	c.before = slices.Clone(c.disk.data)
	for range writes {
		at := r.Int64N(size/4096) * 4096
		n := min(int64(r.IntN(40)+1)*4096, size-at)
		if r.IntN(5) == 0 {
			clear(c.disk.data[at : at+n])
		} else {
			fill(r, c.disk.data[at:at+n])
		}
		c.changed = append(c.changed, sources.Extent{Offset: at, Length: n})
	}
	// One chunk becomes zeros wholly.
	clear(c.disk.data[2*mib : 3*mib])
	c.changed = append(c.changed, sources.Extent{Offset: 2 * mib, Length: mib})
	return c
}

func (c *changedDisk) job() transfer.Job {
	return transfer.Job{Disk: c.disk, Path: "/vm/disk", Ledger: c.ledger, Files: c.files, Extents: c.changed}
}

// Power lost at any write boundary of a round: the ledger vouches only for what is there, and the round, made again, ends
// in the disk's bytes.
func TestPowerLostInARound(t *testing.T) {
	c := newChanged(t, 5*mib+512, 16)
	random := rand.New(rand.NewPCG(8, 8))
	var mu sync.Mutex
	var kept []snapshot
	marks := 0
	boundary.Hook = func(boundary.Kind, string) {
		mu.Lock()
		defer mu.Unlock()
		marks++
		chunks, _ := c.ledger.Load(context.Background()) // never fails
		lost := c.files.lose(random)
		image := survivor(t, lost)
		for _, k := range chunks {
			if end := min((k.Index+1)*mib, c.disk.Size()); int64(len(image)) < end || plainChunk(image[k.Index*mib:end]) != k.Sum {
				t.Errorf("mark %d: the ledger vouches for chunk %d, which was lost", marks, k.Index)
			}
		}
		if marks%5 == 0 {
			kept = append(kept, snapshot{lost, chunks})
		}
	}
	t.Cleanup(func() { boundary.Hook = nil })
	if _, err := transfer.Apply(t.Context(), c.job()); err != nil {
		t.Fatal(err)
	}
	boundary.Hook = nil
	sameImage(t, c.files, "/vm/disk", c.disk.data)
	for _, s := range kept {
		job := c.job()
		job.Files, job.Ledger = s.files, &memLedger{}
		if err := job.Ledger.Record(t.Context(), s.chunks); err != nil {
			t.Fatal(err)
		}
		if _, err := transfer.Apply(t.Context(), job); err != nil {
			t.Fatal(err)
		}
		sameImage(t, s.files, "/vm/disk", c.disk.data)
	}
	if marks < 20 || len(kept) < 4 {
		t.Errorf("only %d marks", marks)
	}
}

func TestARoundReadsWhatChangedAndWritesNoMore(t *testing.T) {
	c := newChanged(t, 40*mib, 0)
	at := []int64{5*mib + 8192, 5*mib + 8192 + 100<<10, 30 * mib}
	for _, off := range at {
		copy(c.disk.data[off:], bytes.Repeat([]byte{7}, 4096))
		c.changed = append(c.changed, sources.Extent{Offset: off, Length: 4096})
	}
	c.disk.asked = nil
	res, err := transfer.Apply(t.Context(), c.job())
	if err != nil {
		t.Fatal(err)
	}
	sameImage(t, c.files, "/vm/disk", c.disk.data)
	if want := int64(mib + 100<<10 + 4096 + 4096); res.Figures.Read != want || res.Figures.Requests != 3 {
		t.Errorf("read %d bytes in %d requests, want %d in 3: %s", res.Figures.Read, res.Figures.Requests, want, describe(c.disk.asked))
	}
	if res.Figures.Written > 120<<10 {
		t.Errorf("%d bytes written", res.Figures.Written)
	}
	if res.Manifest.Root != res.Digests.Manifest().Root || res.Manifest.Size != c.disk.Size() {
		t.Errorf("manifest %+v", res.Manifest)
	}
	job := c.job()
	job.Gap, job.Path, job.Files, job.Ledger = 1, "/vm/other", newMemFiles(), &memLedger{}
	job.Extents, c.disk.data = nil, c.before
	mustCopy(t, job)
	job.Extents = c.changed
	if res, err := transfer.Apply(t.Context(), job); err != nil || res.Figures.Requests != 4 {
		t.Errorf("without a gap: %d requests, %v", res.Figures.Requests, err)
	}
}

func TestNothingChangedTouchesNothing(t *testing.T) {
	c := newChanged(t, 5*mib, 0)
	c.changed = nil
	c.disk.asked = nil
	marks := 0
	boundary.Hook = func(boundary.Kind, string) { marks++ }
	t.Cleanup(func() { boundary.Hook = nil })
	res, err := transfer.Apply(t.Context(), c.job())
	if err != nil || marks != 0 || len(c.disk.asked) != 0 || res.Manifest.Size != 5*mib {
		t.Errorf("%v, %d writes, %d reads, %+v", err, marks, len(c.disk.asked), res.Manifest)
	}
}

func TestRotUnderARoundIsNotVouchedFor(t *testing.T) {
	c := newChanged(t, 12*mib, 0)
	c.changed = []sources.Extent{{Offset: 4 * mib, Length: 4096}}
	image := c.files.names["/vm/disk"]
	image.now[4*mib+9000] ^= 1
	if old, _ := c.ledger.Load(t.Context()); !slices.ContainsFunc(old, func(k transfer.Chunk) bool { return k.Index == 4 && k.Sum != transfer.ZeroSum(mib) }) {
		t.Fatal("chunk 4 is not one with data")
	}
	_, err := transfer.Apply(t.Context(), c.job())
	wantFault(t, err, fault.Blocked, fault.Damaged)
	if d := (*transfer.Difference)(nil); !errors.As(err, &d) || d.Index != 4 {
		t.Errorf("%v", err)
	}
	if _, ok := c.ledger.sums[4]; ok {
		t.Error("the ledger vouches for the rotten chunk")
	}
}

func TestStreamCutInARoundIsGoneOnWith(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newChanged(t, 20*mib, 12)
		broken := false
		c.disk.open = func(_ context.Context, _, _ int64, body io.Reader) (io.Reader, error) {
			if broken {
				return body, nil
			}
			broken = true
			return cutAfter(body, 1000, errCut), nil
		}
		res, err := transfer.Apply(t.Context(), c.job())
		if err != nil || res.Figures.Retries == 0 {
			t.Fatalf("%v, %d retries", err, res.Figures.Retries)
		}
		sameImage(t, c.files, "/vm/disk", c.disk.data)
	})
}

func TestRoundThatFailsIsMadeAgain(t *testing.T) {
	for name, c := range map[string]struct {
		class  fault.Class
		reason string
		spoil  func(*changedDisk) (mend func())
	}{
		"the snapshot is gone": {fault.Blocked, fault.NotFound, func(c *changedDisk) func() {
			c.disk.open = func(_ context.Context, off, _ int64, body io.Reader) (io.Reader, error) {
				if off > 9*mib {
					return nil, fault.Newf(fault.Blocked, fault.NotFound, "gone")
				}
				return body, nil
			}
			return func() { c.disk.open = nil }
		}},
		"the staging disk is full": {fault.Blocked, fault.NoSpace, func(c *changedDisk) func() {
			c.files.quota = c.files.used + 64<<10
			return func() { c.files.quota = 0 }
		}},
		"the ledger cannot be written": {"", "Unknown", func(c *changedDisk) func() {
			c.ledger.err = errors.New("disk I/O error")
			return func() { c.ledger.err = nil }
		}},
	} {
		t.Run(name, func(t *testing.T) {
			d := newChanged(t, 20*mib, 25)
			mend := c.spoil(d)
			_, err := transfer.Apply(t.Context(), d.job())
			wantFault(t, err, c.class, c.reason)
			found, err := transfer.Inspect(t.Context(), d.files, "/vm/disk", d.disk.Size(), d.ledger)
			if d.ledger.err == nil && (err != nil || found.State != transfer.Partial) {
				t.Errorf("the image is %s, %v", found.State, err)
			}
			mend()
			if _, err := transfer.Apply(t.Context(), d.job()); err != nil {
				t.Fatal(err)
			}
			sameImage(t, d.files, "/vm/disk", d.disk.data)
		})
	}
}

func TestWholeStreamOfAnotherStateMendsTheImage(t *testing.T) {
	size := int64(12*mib + 300)
	first, second := content(size, 3), content(size, 4)
	files, ledger := newMemFiles(), &memLedger{}
	disk := &wholeDisk{memDisk: memDisk{data: first}, cut: 8 * mib}
	job := transfer.Job{Disk: disk, Path: "/vm/disk", Ledger: ledger, Files: files}
	_, err := transfer.CopyWhole(t.Context(), job)
	wantFault(t, err, fault.Transient, fault.EarlyEnd)
	if ledger.count() < 6 {
		t.Fatalf("only %d chunks recorded of what came", ledger.count())
	}
	again := &wholeDisk{memDisk: memDisk{data: first}, cut: 8 * mib}
	job.Disk, job.Progress = again, &transfer.Progress{}
	_, err = transfer.CopyWhole(t.Context(), job)
	wantFault(t, err, fault.Transient, fault.EarlyEnd)
	if f := job.Progress.Figures(); f.Written > mib || ledger.forgot != 0 {
		t.Errorf("%d bytes written again, %d chunks forgotten", f.Written, ledger.forgot)
	}
	job.Disk = &wholeDisk{memDisk: memDisk{data: second}}
	if _, err := transfer.CopyWhole(t.Context(), job); err != nil {
		t.Fatal(err)
	}
	sameImage(t, files, "/vm/disk", second)
	if ledger.forgot == 0 {
		t.Error("chunks were overwritten and not forgotten")
	}
}

func TestWholeNeedsAWhole(t *testing.T) {
	_, err := transfer.CopyWhole(t.Context(), transfer.Job{Disk: &memDisk{data: content(mib, 1)}, Path: "/x", Ledger: &memLedger{}, Files: newMemFiles()})
	wantFault(t, err, fault.Permanent, fault.Unsupported)
}
