package transfer

import "sync"

// queue hands out the chunks to read, in order, to streams that work side by side.
type queue struct {
	mu      sync.Mutex
	runs    []run
	left    int64
	streams int64
	most    int64 // chunks that are given at once
	active  int
}

func newQueue(runs []run, streams int, request int64) *queue {
	q := &queue{runs: append([]run(nil), runs...), streams: int64(streams), active: streams}
	q.most = max(min(ahead/q.streams, request)/ChunkSize, 1)
	for _, r := range runs {
		q.left += r.end - r.first
	}
	return q
}

// next gives neighbouring chunks: many while much is left, few near the end, so that all streams end together. When
// nothing is left the stream is counted out.
func (q *queue) next() (run, bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.runs) == 0 {
		q.active--
		return run{}, false
	}
	n := min(max(q.left/(2*q.streams), 1), q.most)
	r := &q.runs[0]
	out := run{r.first, min(r.end, r.first+n)}
	r.first = out.end
	if r.first == r.end {
		q.runs = q.runs[1:]
	}
	q.left -= out.end - out.first
	return out, true
}

// retire takes back what a stream could not read and counts the stream out. It refuses when no other stream is left to
// read it.
func (q *queue) retire(rest run) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.active == 1 {
		return false
	}
	q.active--
	q.runs = append([]run{rest}, q.runs...)
	q.left += rest.end - rest.first
	return true
}
