package transfer_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"testing"

	"landfall/engine/transfer"
)

func BenchmarkChunkSum(b *testing.B) {
	p := content(mib, 3)
	b.SetBytes(mib)
	for b.Loop() {
		transfer.ChunkSum(p)
	}
}

func BenchmarkRoot(b *testing.B) {
	const size = 64 << 30
	sum := transfer.ZeroSum(mib)
	b.ReportMetric(float64(transfer.Chunks(size)), "chunks")
	for b.Loop() {
		transfer.Root(size, func(int64) transfer.Sum { return sum })
	}
}

// BenchmarkCopy copies from memory to a real file, a quarter of it data: what a copy costs besides the network.
func BenchmarkCopy(b *testing.B) {
	data := make([]byte, 256*mib)
	for off := 0; off < len(data); off += 16 * mib {
		copy(data[off:], bytes.Repeat([]byte("landfall"), 4*mib/8))
	}
	disk := &memDisk{data: data, streams: 8}
	benchmarkCopy(b, func() transfer.Job { return transfer.Job{Disk: disk} }, int64(len(data)))
}

// BenchmarkCopyHTTPS does so from a server with ranges in a process of its own.
func BenchmarkCopyHTTPS(b *testing.B) {
	const size = 256 * mib
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), fmt.Sprintf("%s=%d", serverVar, int64(size)))
	in, err := cmd.StdinPipe()
	if err != nil {
		b.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		_ = in.Close() // it ends then
		_ = cmd.Wait()
	})
	said, err := readAnswer(out)
	if err != nil {
		b.Fatal(err)
	}
	disk := &rangeDisk{url: said.url, size: size, streams: 8, http: said.client()}
	benchmarkCopy(b, func() transfer.Job { return transfer.Job{Disk: disk} }, size)
}

func benchmarkCopy(b *testing.B, job func() transfer.Job, size int64) {
	dir := b.TempDir()
	b.SetBytes(size)
	b.ReportAllocs()
	n := 0
	for b.Loop() {
		j := job()
		j.Path, j.Ledger = fmt.Sprintf("%s/%d", dir, n), discard{}
		if _, err := transfer.Copy(context.Background(), j); err != nil {
			b.Fatal(err)
		}
		b.StopTimer()
		if err := transfer.Discard(nil, j.Path); err != nil {
			b.Fatal(err)
		}
		n++
		b.StartTimer()
	}
}
