package transfer_test

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"landfall/engine/fault"
	"landfall/engine/transfer"
	"landfall/sources"
)

func TestCopyGivesTheDisk(t *testing.T) {
	for _, size := range []int64{0, 1, 511, 4095, 4096, 4097, mib - 512, mib, mib + 1, mib + 4096, 3*mib + 512, 70*mib + 100} {
		t.Run(fmt.Sprint(size), func(t *testing.T) {
			data := content(size, uint64(size)+1)
			disk := &memDisk{data: data, streams: 4}
			ledger, progress, path := &memLedger{}, &transfer.Progress{}, imagePath(t)
			res := mustCopy(t, transfer.Job{Disk: disk, Path: path, Ledger: ledger, Progress: progress})
			sameImage(t, nil, path, data)

			if int64(ledger.count()) != transfer.Chunks(size) {
				t.Errorf("%d chunks recorded of %d", ledger.count(), transfer.Chunks(size))
			}
			for i, sum := range ledger.sums {
				if want := plainChunk(data[i*mib : min((i+1)*mib, size)]); sum != want {
					t.Errorf("chunk %d has digest %s, want %s", i, sum, want)
				}
			}
			if f := progress.Figures(); f.Read != size || f.Vouched != size || f.ToRead != size || f.Written+f.Zero != size {
				t.Errorf("figures %+v do not add up to %d", f, size)
			}
			if m := res.Manifest; m.Size != size || m.Data+m.Zero != size || m.Root != transfer.Root(size, func(i int64) transfer.Sum { return ledger.sums[i] }).String() {
				t.Errorf("manifest %+v", m)
			}
			if _, err := os.Stat(path + ".partial"); !os.IsNotExist(err) {
				t.Errorf("the partial file is still there: %v", err)
			}
			if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
				t.Errorf("mode of the image: %v %v", info.Mode(), err)
			}
			if info, err := os.Stat(filepath.Dir(path)); err != nil || info.Mode().Perm() != 0o700 {
				t.Errorf("mode of its folder: %v %v", info.Mode(), err)
			}
		})
	}
}

func TestCopyOfCompleteImageReadsNothing(t *testing.T) {
	data := content(5*mib, 3)
	job := transfer.Job{Disk: &memDisk{data: data}, Path: imagePath(t), Ledger: &memLedger{}}
	first := mustCopy(t, job)
	again := &memDisk{data: data}
	job.Disk = again
	second := mustCopy(t, job)
	if len(again.asked) != 0 {
		t.Errorf("asked the source for %s", describe(again.asked))
	}
	if first.Manifest != second.Manifest {
		t.Errorf("manifest %+v, before %+v", second.Manifest, first.Manifest)
	}
}

func TestZerosTakeNoSpace(t *testing.T) {
	data := make([]byte, 64*mib)
	data[40*mib] = 1
	path := imagePath(t)
	res := mustCopy(t, transfer.Job{Disk: &memDisk{data: data, streams: 4}, Path: path, Ledger: &memLedger{}})
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if used := info.Sys().(*syscall.Stat_t).Blocks * 512; used > 2*mib {
		t.Errorf("the image of one byte of data takes %d bytes", used)
	}
	if res.Manifest.Data != mib || res.Manifest.Zero != 63*mib {
		t.Errorf("manifest %+v", res.Manifest)
	}
}

// Random allocated maps, in any grain: the image is the disk, and nothing outside the map is asked for, save holes that
// are not worth a request.
func TestCopyOfAllocatedAreas(t *testing.T) {
	for seed := range uint64(40) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			random := rand.New(rand.NewPCG(seed, 2))
			size := int64(1 + random.IntN(24*mib))
			data := make([]byte, size)
			extents := []sources.Extent{}
			var inside int64
			for off := int64(random.IntN(2 * mib)); off < size; {
				length := min(size-off, int64(1+random.IntN(1<<(8+random.IntN(14)))))
				extents = append(extents, sources.Extent{Offset: off, Length: length})
				inside += length
				fill(random, data[off:off+length])
				off += length + int64(random.IntN(3*mib))
			}
			random.Shuffle(len(extents), func(i, j int) { extents[i], extents[j] = extents[j], extents[i] })
			disk := &memDisk{data: data, streams: 1 + random.IntN(6)}
			path := imagePath(t)
			progress := &transfer.Progress{}
			mustCopy(t, transfer.Job{Disk: disk, Path: path, Ledger: &memLedger{}, Extents: extents, Progress: progress})
			sameImage(t, nil, path, data)
			allowed := inside + int64(len(extents))*256<<10
			if f := progress.Figures(); f.Read > allowed || f.Read != f.ToRead || f.Vouched != f.ToRead {
				t.Errorf("read %d (to read %d, vouched %d) bytes of %d allocated ones in %d areas", f.Read, f.ToRead, f.Vouched, inside, len(extents))
			}
		})
	}
}

func fill(random *rand.Rand, p []byte) {
	switch random.IntN(4) {
	case 0: // allocated and zero
	case 1:
		p[len(p)-1] = 7
	default:
		for i := range p {
			p[i] = byte(random.Uint32())
		}
	}
}

func TestAllocatedOutsideTheDisk(t *testing.T) {
	for _, e := range []sources.Extent{{Offset: 0, Length: 9 * mib}, {Offset: -1, Length: 4}, {Offset: 5 * mib, Length: -1}, {Offset: 1 << 62, Length: 1 << 62}} {
		_, err := transfer.Copy(t.Context(), transfer.Job{
			Disk: &memDisk{data: make([]byte, 8*mib)}, Path: imagePath(t), Ledger: &memLedger{}, Extents: []sources.Extent{e},
		})
		wantFault(t, err, fault.Blocked, fault.Damaged)
	}
}

// Bytes that a killed run wrote but could not record must not shine through where the source has zeros now, whether
// these are read or lie outside the allocated areas.
func TestStaleBytesInPartial(t *testing.T) {
	for name, extents := range map[string][]sources.Extent{"read": nil, "not allocated": {{Offset: 2 * mib, Length: mib}}} {
		t.Run(name, func(t *testing.T) {
			data := make([]byte, 6*mib+700)
			copy(data[2*mib:], bytes.Repeat([]byte{9}, mib))
			path := imagePath(t)
			if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
				t.Fatal(err)
			}
			stale := bytes.Repeat([]byte{0xee}, len(data)+5000) // longer, too
			copy(stale[2*mib:], data[2*mib:3*mib])
			if err := os.WriteFile(path+".partial", stale[:len(data)], 0o600); err != nil {
				t.Fatal(err)
			}
			ledger := &memLedger{sums: map[int64]transfer.Sum{2: plainChunk(data[2*mib : 3*mib])}}
			disk := &memDisk{data: data}
			mustCopy(t, transfer.Job{Disk: disk, Path: path, Ledger: ledger, Extents: extents})
			sameImage(t, nil, path, data)
			for _, e := range disk.asked {
				if e.Offset < 3*mib && e.End() > 2*mib {
					t.Errorf("asked for recorded bytes: %d+%d", e.Offset, e.Length)
				}
			}
		})
	}
}

func TestCopyRefusesWhatDoesNotBelongTogether(t *testing.T) {
	data := content(4*mib, 9)
	sum := plainChunk(data[:mib])
	for name, c := range map[string]struct {
		file string
		size int64
		sums map[int64]transfer.Sum
	}{
		"ledger without file":        {"", 0, map[int64]transfer.Sum{0: sum}},
		"partial of another size":    {".partial", 3 * mib, map[int64]transfer.Sum{0: sum}},
		"whole without ledger":       {"", 4 * mib, nil},
		"ledger of a larger disk":    {".partial", 4 * mib, map[int64]transfer.Sum{4: sum}},
		"whole image of other size":  {"", 5 * mib, map[int64]transfer.Sum{0: sum}},
		"ledger of a negative chunk": {".partial", 4 * mib, map[int64]transfer.Sum{-1: sum}},
	} {
		t.Run(name, func(t *testing.T) {
			path := imagePath(t)
			if c.size > 0 {
				if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(path+c.file, make([]byte, c.size), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			ledger := &memLedger{sums: c.sums}
			found, err := transfer.Inspect(t.Context(), nil, path, int64(len(data)), ledger)
			if err != nil || found.State != transfer.Broken || found.Why == "" {
				t.Errorf("inspect gives %s %q, %v", found.State, found.Why, err)
			}
			disk := &memDisk{data: data}
			_, err = transfer.Copy(t.Context(), transfer.Job{Disk: disk, Path: path, Ledger: ledger})
			wantFault(t, err, fault.Blocked, fault.Damaged)
			if len(disk.asked) != 0 {
				t.Errorf("the source was read")
			}
			// What the engine does then: the ledger first, the files behind it.
			if err := transfer.Discard(nil, path); err != nil {
				t.Fatal(err)
			}
			mustCopy(t, transfer.Job{Disk: disk, Path: path, Ledger: &memLedger{}})
			sameImage(t, nil, path, data)
		})
	}
}

func TestInterruptedCopyKeepsWhatItRead(t *testing.T) {
	data := content(60*mib, 4)
	ctx, cancel := context.WithCancel(t.Context())
	progress := &transfer.Progress{}
	disk := &memDisk{data: data, streams: 3}
	disk.open = stopAt(progress, 30*mib, cancel)
	ledger, path := &memLedger{}, imagePath(t)
	_, err := transfer.Copy(ctx, transfer.Job{Disk: disk, Path: path, Ledger: ledger, Progress: progress})
	wantFault(t, err, fault.Transient, fault.Interrupted)
	if lost := progress.Figures().Read - int64(ledger.count())*mib; lost > 3*mib {
		t.Errorf("%d bytes were read and not recorded; only chunks cut in the middle may be", lost)
	}
	before := ledger.count()
	again := &memDisk{data: data, streams: 3}
	mustCopy(t, transfer.Job{Disk: again, Path: path, Ledger: ledger, Progress: progress})
	sameImage(t, nil, path, data)
	if f := progress.Figures(); f.Read != int64(len(data)-before*mib) {
		t.Errorf("read %d bytes with %d chunks recorded before", f.Read, before)
	}
}
