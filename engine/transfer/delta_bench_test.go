package transfer_test

import (
	"context"
	"crypto/tls"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"landfall/engine/transfer"
	"landfall/sources"
)

// BenchmarkDelta is what a round costs of which 1 % of the disk changed, against a full copy, over HTTPS with a round trip
// of 0, 5 and 20 ms. LANDFALL_BENCH_MIB is the size of the disk, 256 by default. The changes are of 64 KiB, as change
// tracking tells them: each by itself anywhere, or in rows of 1 MiB, as guests write files.
func BenchmarkDelta(b *testing.B) {
	size := int64(256 * mib)
	if n, err := strconv.ParseInt(os.Getenv("LANDFALL_BENCH_MIB"), 10, 64); err == nil {
		size = n * mib
	}
	for _, rtt := range []time.Duration{0, 5 * time.Millisecond, 20 * time.Millisecond} {
		for _, row := range []int64{64 << 10, mib} {
			b.Run(fmt.Sprintf("rtt=%s/rows=%dKiB", rtt, row>>10), func(b *testing.B) { benchmarkDelta(b, size, row, rtt) })
		}
	}
}

// spent is what something took; the server's part is in it too.
type spent struct {
	began     time.Time
	wall, cpu time.Duration
}

func begin() *spent { return &spent{began: time.Now(), cpu: -cpuTime()} }

func (s *spent) end() { s.wall, s.cpu = time.Since(s.began), s.cpu+cpuTime() }

// cpuTime is what this process has used so far.
func cpuTime() time.Duration {
	var u unix.Rusage
	_ = unix.Getrusage(unix.RUSAGE_SELF, &u) // cannot fail
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

func benchmarkDelta(b *testing.B, size, row int64, rtt time.Duration) {
	pattern := content(4*mib, 3)
	for i := range pattern {
		pattern[i] |= 1
	}
	var version atomic.Int64
	s := &rangeServer{size: size, at: func(off int64, p []byte) {
		for off += version.Load() * 8191; len(p) > 0; {
			n := copy(p, pattern[off%int64(len(pattern)):])
			p, off = p[n:], off+int64(n)
		}
	}}
	s.Server = httptest.NewTLSServer(http.HandlerFunc(s.serve))
	b.Cleanup(s.Close)
	url := s.URL
	if rtt > 0 {
		at := strings.TrimPrefix(s.URL, "https://")
		url = "https://" + delayed(b, at, rtt)
	}
	client := &http.Client{Transport: &http.Transport{
		TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, MaxIdleConnsPerHost: 32,
		TLSNextProto: map[string]func(string, *tls.Conn) http.RoundTripper{},
	}}
	disk := &rangeDisk{url: url, size: size, streams: 16, http: client}
	r := rand.New(rand.NewPCG(uint64(row), 1))
	job := transfer.Job{Disk: disk, Path: filepath.Join(b.TempDir(), "disk"), Ledger: &memLedger{}}

	whole := begin()
	if _, err := transfer.Copy(context.Background(), job); err != nil {
		b.Fatal(err)
	}
	whole.end()
	var rounds spent
	requests, read := int64(0), int64(0)
	for b.Loop() {
		b.StopTimer()
		version.Add(1)
		job.Extents = nil
		for n := int64(0); n < size/100; n += row {
			job.Extents = append(job.Extents, sources.Extent{Offset: r.Int64N(size/row) * row, Length: row})
		}
		slices.SortFunc(job.Extents, func(a, b sources.Extent) int { return int(a.Offset - b.Offset) })
		b.StartTimer()
		round := begin()
		res, err := transfer.Apply(context.Background(), job)
		if err != nil {
			b.Fatal(err)
		}
		round.end()
		rounds.wall += round.wall
		rounds.cpu += round.cpu
		requests += res.Figures.Requests
		read += res.Figures.Read
	}
	n := float64(b.N)
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(whole.wall.Seconds(), "full-s")
	b.ReportMetric(rounds.wall.Seconds()/n, "delta-s")
	b.ReportMetric(whole.cpu.Seconds(), "full-cpu-s")
	b.ReportMetric(rounds.cpu.Seconds()/n, "delta-cpu-s")
	b.ReportMetric(float64(requests)/n, "requests")
	b.ReportMetric(float64(read)/n/mib, "MiB")
	wall, cpu := rounds.wall.Seconds()/n/whole.wall.Seconds(), rounds.cpu.Seconds()/n/whole.cpu.Seconds()
	b.ReportMetric(wall, "ratio")
	b.ReportMetric(cpu, "cpu-ratio")
	if most := 0.05; wall > most || cpu > most {
		b.Logf("a round costs more than %v of a full copy: %.3f of its time, %.3f of its CPU", most, wall, cpu)
	}
	if err := transfer.Verify(context.Background(), nil, job.Path, size, job.Ledger, nil); err != nil {
		b.Fatal(err)
	}
}
