package transfer_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"

	"landfall/engine/transfer"
	"landfall/sources"
)

// Killed with -9 at every write boundary of a round, the ledger vouches only for what is in the file, and the round, made
// again, ends in the disk's bytes.
func TestRoundKilledAtEveryBoundary(t *testing.T) {
	const size = 14*mib + 4096
	data := [2][]byte{bytes.Repeat([]byte("landfall"), size/8)}
	data[1] = bytes.Clone(data[0])
	var changed []sources.Extent
	for _, e := range []sources.Extent{
		{Offset: 2*mib + 3*grain, Length: grain}, {Offset: 5 * mib, Length: grain}, {Offset: 5*mib + 9*grain + 512, Length: 4096},
		{Offset: 7*mib - grain, Length: 2 * grain}, {Offset: 9 * mib, Length: mib}, {Offset: 14 * mib, Length: 4096},
	} {
		for i := range data[1][e.Offset:e.End()] {
			data[1][e.Offset+int64(i)] ^= 0x33
		}
		changed = append(changed, e)
	}
	clear(data[1][9*mib : 10*mib])
	var now atomic.Int64
	server := serveRanges(t, size, func(off int64, p []byte) { copy(p, data[now.Load()][off:]) }, false)
	first := victim{server: server, dir: t.TempDir(), streams: 3}
	first.run(t, 0)
	now.Store(1)
	extents, err := json.Marshal(changed)
	if err != nil {
		t.Fatal(err)
	}
	stride := int64(1)
	if testing.Short() {
		stride = 7
	}
	for kill := int64(1); ; kill += stride {
		v := victim{server: server, dir: t.TempDir(), streams: 3, changed: string(extents)}
		if err := os.CopyFS(v.dir, os.DirFS(first.dir)); err != nil {
			t.Fatal(err)
		}
		killed := v.run(t, kill)
		v.vouched(t, kill)
		v.run(t, 1+kill%7) // early in the recovery
		v.vouched(t, kill)
		v.run(t, 0)
		sameImage(t, nil, filepath.Join(v.dir, "vm", "disk"), data[1])
		if n := v.vouched(t, kill); n != transfer.Chunks(size) {
			t.Fatalf("killed at mark %d: %d chunks recorded in the end", kill, n)
		}
		if !killed {
			if kill < 20 {
				t.Fatalf("a round crosses only %d marks", kill)
			}
			return
		}
	}
}

// vouched sees that the bytes of every recorded chunk are in the file, and tells how many those are.
func (v victim) vouched(t *testing.T, kill int64) int64 {
	t.Helper()
	chunks, err := fileLedger{filepath.Join(v.dir, "ledger")}.Load(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	image, err := os.ReadFile(filepath.Join(v.dir, "vm", "disk.partial"))
	if errors.Is(err, fs.ErrNotExist) {
		image, err = os.ReadFile(filepath.Join(v.dir, "vm", "disk"))
	}
	if err != nil {
		t.Fatal(err)
	}
	known := map[int64]transfer.Sum{}
	for _, c := range chunks {
		known[c.Index] = c.Sum
	}
	for i, sum := range known {
		if plainChunk(image[i*mib:min((i+1)*mib, int64(len(image)))]) != sum {
			t.Fatalf("killed at mark %d: the ledger vouches for chunk %d, which is not in the file", kill, i)
		}
	}
	return int64(len(known))
}
