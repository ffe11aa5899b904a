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

	began := time.Now()
	if _, err := transfer.Copy(context.Background(), job); err != nil {
		b.Fatal(err)
	}
	full := time.Since(began)
	var spent time.Duration
	requests := int64(0)
	for b.Loop() {
		b.StopTimer()
		version.Add(1)
		job.Extents = nil
		for n := int64(0); n < size/100; n += row {
			job.Extents = append(job.Extents, sources.Extent{Offset: r.Int64N(size/row) * row, Length: row})
		}
		slices.SortFunc(job.Extents, func(a, b sources.Extent) int { return int(a.Offset - b.Offset) })
		b.StartTimer()
		began := time.Now()
		res, err := transfer.Apply(context.Background(), job)
		if err != nil {
			b.Fatal(err)
		}
		spent += time.Since(began)
		requests += res.Figures.Requests
	}
	b.ReportMetric(full.Seconds(), "full-s")
	b.ReportMetric(spent.Seconds()/float64(b.N), "delta-s")
	b.ReportMetric(spent.Seconds()/float64(b.N)/full.Seconds(), "ratio")
	b.ReportMetric(float64(requests)/float64(b.N), "requests")
	if err := transfer.Verify(context.Background(), nil, job.Path, size, job.Ledger, nil); err != nil {
		b.Fatal(err)
	}
}
