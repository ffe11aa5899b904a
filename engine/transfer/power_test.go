package transfer_test

import (
	"context"
	"errors"
	"io/fs"
	"math/rand/v2"
	"sync"
	"testing"

	"landfall/engine/boundary"
	"landfall/engine/transfer"
)

// snapshot is what a power loss at one mark could leave: files with any part of what was not synced, and the ledger,
// whose records are durable.
type snapshot struct {
	files  *memFiles
	chunks []transfer.Chunk
}

// Power lost at any write boundary: whatever part of the writes that were not synced survives, the ledger vouches only
// for what is there, and the copy can go on from it.
func TestPowerLostAtEveryBoundary(t *testing.T) {
	data := content(23*mib+99, 31)
	sums := map[int64]transfer.Sum{}
	for i := range transfer.Chunks(int64(len(data))) {
		sums[i] = plainChunk(data[i*mib : min((i+1)*mib, int64(len(data)))])
	}
	random := rand.New(rand.NewPCG(5, 5))
	files, ledger := newMemFiles(), &memLedger{}
	// A killed run has left bytes in the partial file that nobody vouches for.
	stale, err := files.Open("/vm/disk.partial", true)
	if err != nil {
		t.Fatal(err)
	}
	for off := int64(0); off < int64(len(data)); off += 3 * mib {
		if _, err := stale.WriteAt([]byte("left from before"), off); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(stale.Sync(), files.SyncDir("/vm")); err != nil {
		t.Fatal(err)
	}

	check := func(mark int, files *memFiles, chunks []transfer.Chunk) {
		image := survivor(t, files)
		for _, c := range chunks {
			if c.Sum != sums[c.Index] {
				t.Errorf("mark %d: wrong digest for chunk %d", mark, c.Index)
			}
			if end := min((c.Index+1)*mib, int64(len(data))); int64(len(image)) < end || plainChunk(image[c.Index*mib:end]) != c.Sum {
				t.Errorf("mark %d: the ledger vouches for chunk %d, which was lost", mark, c.Index)
			}
		}
	}
	var mu sync.Mutex
	var kept []snapshot
	marks := 0
	boundary.Hook = func(boundary.Kind, string) {
		mu.Lock()
		defer mu.Unlock()
		marks++
		chunks, _ := ledger.Load(context.Background()) // never fails
		lost := files.lose(random)
		check(marks, lost, chunks)
		if marks%6 == 0 {
			kept = append(kept, snapshot{lost, chunks})
		}
	}
	t.Cleanup(func() { boundary.Hook = nil })
	mustCopy(t, transfer.Job{Disk: &memDisk{data: data, streams: 3}, Path: "/vm/disk", Ledger: ledger, Files: files})
	boundary.Hook = nil
	chunks, _ := ledger.Load(t.Context())
	kept = append(kept, snapshot{files.lose(random), chunks})
	for _, s := range kept {
		again := &memLedger{}
		if err := again.Record(t.Context(), s.chunks); err != nil {
			t.Fatal(err)
		}
		mustCopy(t, transfer.Job{Disk: &memDisk{data: data, streams: 2}, Path: "/vm/disk", Ledger: again, Files: s.files})
		sameImage(t, s.files, "/vm/disk", data)
	}
	if marks < 30 {
		t.Errorf("only %d marks", marks)
	}
}

// survivor gives the image's bytes under whichever name it has.
func survivor(t *testing.T, files *memFiles) []byte {
	for _, path := range []string{"/vm/disk", "/vm/disk.partial"} {
		b, err := transfer.ReadFile(files, path)
		if err == nil {
			return b
		}
		if !errors.Is(err, fs.ErrNotExist) {
			t.Fatal(err)
		}
	}
	return nil
}
