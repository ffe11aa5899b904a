package transfer_test

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"io/fs"
	"slices"
	"testing"

	"landfall/engine/fault"
	"landfall/engine/transfer"
	"landfall/sources"
)

const grain = 64 << 10 // of change tracking

// newScattered is a disk of data of which single grains changed, each in a chunk of its own.
func newScattered(t *testing.T, size int64) *changedDisk {
	t.Helper()
	c := &changedDisk{files: newMemFiles(), ledger: &memLedger{}, disk: &memDisk{data: bytes.Repeat([]byte("landfall"), int(size/8)), streams: 4}}
	mustCopy(t, c.job())
	for i := range size / mib {
		if i%3 == 0 {
			c.change(i*mib + i%16*grain)
		}
	}
	c.disk.asked = nil
	return c
}

func (c *changedDisk) change(at int64) {
	for k := range c.disk.data[at : at+grain] {
		c.disk.data[at+int64(k)] ^= 0x55
	}
	c.changed = append(c.changed, sources.Extent{Offset: at, Length: grain})
}

// A round costs what changed: it is read from the source once and written once, and of the image nothing is read.
func TestARoundCostsWhatChanged(t *testing.T) {
	c := newScattered(t, 48*mib)
	c.change(40*mib + 3*grain)
	c.change(40*mib + 6*grain) // the grains between are read through
	image := c.files.names["/vm/disk"]
	image.read = 0
	res, err := transfer.Apply(t.Context(), c.job())
	if err != nil {
		t.Fatal(err)
	}
	changed := int64(len(c.changed)) * grain
	if f := res.Figures; f.Read != changed+2*grain || f.Written != changed || f.Requests != int64(len(c.changed))-1 {
		t.Errorf("%d bytes changed: %d read in %d requests, %d written", changed, f.Read, f.Requests, f.Written)
	}
	if image.read != 0 {
		t.Errorf("%d bytes of the image were read", image.read)
	}
	sameImage(t, c.files, "/vm/disk", c.disk.data)
	if err := transfer.Verify(t.Context(), c.files, "/vm/disk", c.disk.Size(), c.ledger, nil); err != nil {
		t.Error(err)
	}
}

// What is kept beside the image spares reading and is never believed: without it, or with another in its place, each
// touched chunk is read once, and the round ends in the disk's bytes all the same.
func TestBlocksThatAreNotTheImagesAreMadeAnew(t *testing.T) {
	for name, spoil := range map[string]func(files *memFiles, file *inode){
		"gone":            func(files *memFiles, _ *inode) { delete(files.names, "/vm/disk.blocks") },
		"shorter":         func(_ *memFiles, file *inode) { file.now = file.now[:700] },
		"of another time": func(_ *memFiles, file *inode) { slices.Reverse(file.now) },
		"torn":            func(_ *memFiles, file *inode) { clear(file.now[512*24+300:]) },
	} {
		t.Run(name, func(t *testing.T) {
			c := newScattered(t, 48*mib)
			image := c.files.names["/vm/disk"]
			spoil(c.files, c.files.names["/vm/disk.blocks"])
			image.read = 0
			if _, err := transfer.Apply(t.Context(), c.job()); err != nil {
				t.Fatal(err)
			}
			if n := int64(len(c.changed)); image.read == 0 || image.read > n*mib {
				t.Errorf("%d bytes of the image were read for %d chunks", image.read, n)
			}
			sameImage(t, c.files, "/vm/disk", c.disk.data)
			image.read = 0
			if _, err := transfer.Apply(t.Context(), c.job()); err != nil || image.read != 0 {
				t.Errorf("%d bytes of the image were read in the next round, %v", image.read, err)
			}
		})
	}
}

func TestARoundNeedsNoBlocks(t *testing.T) {
	c := newScattered(t, 12*mib)
	job := c.job()
	job.Files = noBlocks{c.files}
	if _, err := transfer.Apply(t.Context(), job); err != nil {
		t.Fatal(err)
	}
	sameImage(t, c.files, "/vm/disk", c.disk.data)
}

// noBlocks refuses the file beside the image.
type noBlocks struct{ *memFiles }

func (f noBlocks) Open(path string, create bool) (transfer.File, error) {
	if path == "/vm/disk.blocks" {
		return nil, fs.ErrPermission
	}
	return f.memFiles.Open(path, create)
}

// Rot beside a change stays what it is, one that the recorded digest tells.
func TestRotBesideAChangeIsFound(t *testing.T) {
	c := newScattered(t, 12*mib)
	c.files.names["/vm/disk"].now[3*mib+10*grain] ^= 1 // block 3 of the chunk changes
	if _, err := transfer.Apply(t.Context(), c.job()); err != nil {
		t.Fatal(err)
	}
	err := transfer.Verify(t.Context(), c.files, "/vm/disk", c.disk.Size(), c.ledger, nil)
	wantFault(t, err, fault.Blocked, fault.Damaged)
	if d := (*transfer.Difference)(nil); !errors.As(err, &d) || d.Index != 3 {
		t.Error(err)
	}
}

// A ledger in which chunks have the SHA-256 of their bytes stays good, and a round goes on from it.
func TestLedgerOfWholeChunks(t *testing.T) {
	c := newScattered(t, 13*mib)
	delete(c.files.names, "/vm/disk.blocks")
	before := imageBytes(t, c.files, "/vm/disk")
	for i := range c.ledger.sums {
		c.ledger.sums[i] = sha256.Sum256(before[i*mib : (i+1)*mib])
	}
	check := func(disk []byte) {
		t.Helper()
		if err := transfer.Verify(t.Context(), c.files, "/vm/disk", c.disk.Size(), c.ledger, nil); err != nil {
			t.Error(err)
		}
		a, err := transfer.OpenArtifact(t.Context(), c.files, "/vm/disk", c.disk.Size(), c.ledger)
		if err != nil {
			t.Fatal(err)
		}
		if sum, err := a.SHA256(t.Context()); err != nil || sum != sha256.Sum256(disk) {
			t.Errorf("%s, %v", sum, err)
		}
	}
	check(before)
	if _, err := transfer.Apply(t.Context(), c.job()); err != nil {
		t.Fatal(err)
	}
	check(c.disk.data)
	c.files.names["/vm/disk"].now[5*mib] ^= 1
	wantFault(t, transfer.Verify(t.Context(), c.files, "/vm/disk", c.disk.Size(), c.ledger, nil), fault.Blocked, fault.Damaged)
}

func TestDiscardLeavesNothing(t *testing.T) {
	c := newScattered(t, 2*mib)
	if err := transfer.Discard(c.files, "/vm/disk"); err != nil || len(c.files.names) != 0 {
		t.Errorf("%d files are left, %v", len(c.files.names), err)
	}
}
