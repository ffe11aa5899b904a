package transfer_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"landfall/engine/boundary"
	"landfall/engine/transfer"
	"landfall/sources"
)

// The test binary plays the engine that is killed: with this set it copies, or applies what CHANGED has, and dies at the
// mark of that number.
const childVar = "LANDFALL_TRANSFER_CHILD"

func TestMain(m *testing.M) {
	if os.Getenv(childVar) != "" {
		os.Exit(child())
	}
	if os.Getenv(serverVar) != "" {
		os.Exit(serveProcess())
	}
	os.Exit(m.Run())
}

func child() int {
	kill, _ := strconv.ParseInt(os.Getenv(childVar), 10, 64)
	size, _ := strconv.ParseInt(os.Getenv("SIZE"), 10, 64)
	streams, _ := strconv.Atoi(os.Getenv("STREAMS"))
	dir := os.Getenv("DIR")
	var marks atomic.Int64
	boundary.Hook = func(boundary.Kind, string) {
		if marks.Add(1) == kill {
			_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
			select {}
		}
	}
	do, job := transfer.Copy, transfer.Job{
		Disk: &rangeDisk{url: os.Getenv("URL"), size: size, streams: streams, http: http.DefaultClient},
		Path: filepath.Join(dir, "vm", "disk"), Ledger: fileLedger{filepath.Join(dir, "ledger")},
	}
	if s := os.Getenv("CHANGED"); s != "" {
		do = transfer.Apply
		if err := json.Unmarshal([]byte(s), &job.Extents); err != nil {
			panic(err)
		}
	}
	if _, err := do(context.Background(), job); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// victim is a copy in a process of its own.
type victim struct {
	server  *rangeServer
	dir     string
	streams int
	changed string // extents of a round, in JSON; none: a copy
}

func (v victim) command(kill int64) *exec.Cmd {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), fmt.Sprintf("%s=%d", childVar, kill), "URL="+v.server.URL, "DIR="+v.dir,
		fmt.Sprintf("SIZE=%d", v.server.size), fmt.Sprintf("STREAMS=%d", v.streams), "CHANGED="+v.changed)
	return cmd
}

// run copies until the mark and tells whether it was killed there; 0 is never.
func (v victim) run(t *testing.T, kill int64) (killed bool) {
	t.Helper()
	cmd := v.command(kill)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	err := cmd.Run()
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.Sys().(syscall.WaitStatus).Signal() == syscall.SIGKILL {
		return true
	}
	if err != nil {
		t.Fatalf("copy in a process: %v: %s", err, stderr.Bytes())
	}
	return false
}

// recorded gives the chunks that the ledger vouches for, having checked each against the disk and the file.
func (v victim) recorded(t *testing.T) map[int64]bool {
	t.Helper()
	chunks, err := fileLedger{filepath.Join(v.dir, "ledger")}.Load(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	out := map[int64]bool{}
	if len(chunks) == 0 {
		return out
	}
	f, err := os.Open(filepath.Join(v.dir, "vm", "disk.partial"))
	if errors.Is(err, os.ErrNotExist) {
		f, err = os.Open(filepath.Join(v.dir, "vm", "disk"))
	}
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for _, c := range chunks {
		want := make([]byte, min(mib, v.server.size-c.Index*mib))
		v.server.at(c.Index*mib, want)
		got := make([]byte, len(want))
		if _, err := f.ReadAt(got, c.Index*mib); err != nil || !bytes.Equal(got, want) || c.Sum != plainChunk(want) {
			t.Fatalf("the ledger vouches for chunk %d, which is not in the file (%v)", c.Index, err)
		}
		if out[c.Index] {
			t.Errorf("chunk %d was recorded twice", c.Index)
		}
		out[c.Index] = true
	}
	return out
}

// untouched sees that no recorded chunk was asked for again.
func untouched(t *testing.T, recorded map[int64]bool, sent []sources.Extent) {
	t.Helper()
	for _, e := range sent {
		for i := e.Offset / mib; i*mib < e.End(); i++ {
			if recorded[i] {
				t.Fatalf("bytes %d+%d of recorded chunk %d were read again", e.Offset, e.Length, i)
			}
		}
	}
}

// Killed with -9 at every write boundary, and once more early in the recovery, a copy goes on: no recorded chunk is
// read or written again, and the disk arrives whole.
func TestKilledAtEveryBoundary(t *testing.T) {
	data := make([]byte, 36*mib+1234)
	for i := range transfer.Chunks(int64(len(data))) {
		if i%7 == 0 || i > 34 { // the rest is zeros
			copy(data[i*mib:], content(mib, uint64(3*i)))
			data[i*mib+7] = 1
		}
	}
	server := serveRanges(t, int64(len(data)), func(off int64, p []byte) { copy(p, data[off:]) }, false)
	stride := int64(1)
	if testing.Short() {
		stride = 9 // each kill takes three processes
	}
	for kill := int64(1); ; kill += stride {
		v := victim{server: server, dir: t.TempDir(), streams: 3}
		server.taken()
		if !v.run(t, kill) {
			if kill < 28 { // 7 chunks of data, at least one batch, and the file's own
				t.Fatalf("a copy crosses only %d marks", kill)
			}
			break
		}
		first := v.recorded(t)
		server.taken()
		v.run(t, 1+kill%7) // early in the recovery
		untouched(t, first, server.taken())
		second := v.recorded(t)
		for i := range first {
			if !second[i] {
				t.Fatalf("killed at mark %d: chunk %d is no longer recorded", kill, i)
			}
		}
		v.run(t, 0)
		untouched(t, second, server.taken())
		sameImage(t, nil, filepath.Join(v.dir, "vm", "disk"), data)
		if got := v.recorded(t); int64(len(got)) != transfer.Chunks(server.size) {
			t.Fatalf("killed at mark %d: %d chunks recorded in the end", kill, len(got))
		}
	}
}

// Killed anywhere in a large copy, not more than 64 MiB are read again, as the server counts what it sent.
func TestKilledCopyReadsLittleAgain(t *testing.T) {
	const size = 600*mib + 512
	pattern := content(16*mib, 21)
	at := func(off int64, p []byte) {
		for len(p) > 0 {
			n := copy(p, pattern[off%int64(len(pattern)):])
			p, off = p[n:], off+int64(n)
		}
	}
	server := serveRanges(t, size, at, false)
	v := victim{server: server, dir: t.TempDir(), streams: 8}
	for round := range 4 {
		before := int64(len(v.recorded(t))) * mib
		server.taken()
		cmd := v.command(0)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		var sent []sources.Extent
		for stop := int64(80+37*round) * mib; total(sent) < stop; sent = append(sent, server.taken()...) {
			time.Sleep(time.Millisecond)
		}
		if err := cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		_ = cmd.Wait() // killed
		server.CloseClientConnections()
		sent = append(sent, server.taken()...)
		if gained := int64(len(v.recorded(t)))*mib - before; total(sent)-gained > 64*mib {
			t.Errorf("round %d: of %d MiB sent only %d MiB were recorded", round, total(sent)>>20, gained>>20)
		}
	}
	done := v.recorded(t)
	v.run(t, 0)
	untouched(t, done, server.taken())
	f, err := os.Open(filepath.Join(v.dir, "vm", "disk"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	want, got := make([]byte, mib), make([]byte, mib)
	for off := int64(0); off < size; off += mib {
		n := min(mib, size-off)
		at(off, want[:n])
		if _, err := f.ReadAt(got[:n], off); err != nil || !bytes.Equal(got[:n], want[:n]) {
			t.Fatalf("the image differs in the MiB at %d (%v)", off, err)
		}
	}
}
