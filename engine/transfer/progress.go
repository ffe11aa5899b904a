package transfer

import (
	"math"
	"sync"
	"sync/atomic"
	"time"
)

// Progress counts what a copy does while it runs; read it at any time from any goroutine. The zero value is ready. One
// Progress serves one copy at a time.
type Progress struct {
	toRead, vouched, read, zero, written atomic.Int64
	requests, retries, syncs, streams    atomic.Int64
	moved                                atomic.Int64 // when something was last read, in Unix nanoseconds

	mu      sync.Mutex
	started time.Time
	last    time.Time
	seen    int64
	rate    float64
}

// Figures are the counters at one moment, in bytes unless said.
type Figures struct {
	ToRead   int64 // to be read from the source for the whole disk
	Vouched  int64 // of ToRead: synced and recorded, in this run and before it
	Read     int64 // from the source, in this run
	Zero     int64 // found to be zeros, or known to be without reading, in this run
	Written  int64 // to the image, in this run
	Requests int64 // streams opened
	Retries  int64 // streams that failed and were opened again
	Syncs    int64 // batches recorded
	Streams  int64 // streams at work now
}

// Figures gives the counters.
func (p *Progress) Figures() Figures {
	return Figures{
		ToRead: p.toRead.Load(), Vouched: p.vouched.Load(), Read: p.read.Load(), Zero: p.zero.Load(),
		Written: p.written.Load(), Requests: p.requests.Load(), Retries: p.retries.Load(), Syncs: p.syncs.Load(),
		Streams: p.streams.Load(),
	}
}

const (
	window     = 10 * time.Second // over which a rate is averaged
	enough     = 3 * time.Second  // before which an ETA would be a guess
	sampleStep = 500 * time.Millisecond
)

// begin starts the clock of a run.
func (p *Progress) begin(now time.Time, toRead, vouched int64) {
	for _, c := range []*atomic.Int64{&p.read, &p.zero, &p.written, &p.requests, &p.retries, &p.syncs, &p.streams, &p.moved} {
		c.Store(0)
	}
	p.toRead.Store(toRead)
	p.vouched.Store(vouched)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.started, p.last, p.seen, p.rate = now, now, 0, 0
}

// count tells that so many bytes came from the source.
func (p *Progress) count(n int, now time.Time) {
	p.read.Add(int64(n))
	p.moved.Store(now.UnixNano())
}

// Rate is the recent speed of reading in bytes per second, as of now; 0 before a first look is possible.
func (p *Progress) Rate(now time.Time) float64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.sample(now)
}

func (p *Progress) sample(now time.Time) float64 {
	dt := now.Sub(p.last)
	if p.started.IsZero() || dt < sampleStep {
		return p.rate
	}
	read := p.read.Load()
	current := float64(read-p.seen) / dt.Seconds()
	if p.last.Equal(p.started) {
		p.rate = current
	} else {
		p.rate += (current - p.rate) * (1 - math.Exp(-dt.Seconds()/window.Seconds()))
	}
	p.last, p.seen = now, read
	return p.rate
}

// ETA is how long the rest will take at the recent speed. ok is false while that is not known: too early, or nothing
// moves.
func (p *Progress) ETA(now time.Time) (left time.Duration, ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	rate := p.sample(now)
	rest := p.toRead.Load() - p.vouched.Load()
	switch {
	case p.started.IsZero():
		return 0, false
	case rest <= 0:
		return 0, true
	case now.Sub(p.started) < enough || rate < 1:
		return 0, false
	case now.UnixNano()-p.moved.Load() > int64(window):
		return 0, false // one look over a long silence averages what came before it to a trickle
	}
	seconds := float64(rest) / rate
	if seconds > math.MaxInt64/float64(time.Second) {
		return 0, false
	}
	return time.Duration(seconds * float64(time.Second)), true
}
