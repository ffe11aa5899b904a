package transfer_test

import (
	"bytes"
	"net/http"
	"path/filepath"
	"runtime"
	"sync/atomic"
	"testing"

	"landfall/engine/transfer"
)

// Over TLS, with a server that cuts, ends early and is busy now and then.
func TestCopyOverHTTPS(t *testing.T) {
	data := content(50*mib+512, 61)
	server := serveRanges(t, int64(len(data)), func(off int64, p []byte) { copy(p, data[off:]) }, true)
	var requests atomic.Int64
	server.meddle = func(w http.ResponseWriter, _ int64) (int64, bool) {
		switch requests.Add(1) % 7 {
		case 2:
			return 1_000_003, false // less than was promised, then the connection closes
		case 4:
			w.Header().Set("Retry-After", "0")
			w.WriteHeader(http.StatusServiceUnavailable)
			return 0, true
		case 6:
			panic(http.ErrAbortHandler)
		}
		return int64(len(data)), false
	}
	path, progress := imagePath(t), &transfer.Progress{}
	mustCopy(t, transfer.Job{
		Disk: &rangeDisk{url: server.URL, size: int64(len(data)), streams: 4, http: server.Client()},
		Path: path, Ledger: fileLedger{filepath.Join(t.TempDir(), "ledger")}, Progress: progress,
	})
	sameImage(t, nil, path, data)
	if f := progress.Figures(); f.Read != int64(len(data)) || f.Retries == 0 {
		t.Errorf("read %d bytes of %d, with %d retries", f.Read, len(data), f.Retries)
	}
}

// The heap does not grow with the disk: buffers lie outside it and are used again.
func TestCopyDoesNotAllocatePerChunk(t *testing.T) {
	run := func(chunks int64) uint64 {
		data := bytes.Repeat([]byte{5}, int(chunks)*mib)
		job := transfer.Job{Disk: &memDisk{data: data, streams: 4}, Path: imagePath(t), Ledger: discard{}, Progress: &transfer.Progress{}}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		mustCopy(t, job)
		runtime.ReadMemStats(&after)
		return after.TotalAlloc - before.TotalAlloc
	}
	small, large := run(40), run(240)
	if per := (int64(large) - int64(small)) / 200; per > 2048 {
		t.Errorf("%d bytes allocated per chunk of 1 MiB", per)
	}
}
