package transfer

import (
	"cmp"
	"context"
	"errors"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"
	"golang.org/x/sync/semaphore"

	"landfall/sources"
)

// reader reads the chunks of a plan over parallel streams and hands each of them to a sink.
type reader struct {
	disk     sources.Disk
	plan     *plan
	throttle *Throttle
	progress *Progress
	pool     *pool
	streams  int
	request  int64 // bytes of one request at most; 0: as many as are largest
	// ragged leaves the buffers as they are where the plan has holes; otherwise they become zeros.
	ragged bool
	// budget is taken from for every chunk before it is asked for; the sink's owner gives back. Nil: no bound.
	budget *semaphore.Weighted
	// sink takes over the buffer, whose bytes are those of chunk i. It is called by several goroutines.
	sink func(i int64, buf []byte, zero bool) error

	read atomic.Int64 // bytes, all streams
}

// run returns when the whole plan was read, or with the first failure; no stream is at work then.
func (r *reader) run(ctx context.Context) error {
	q := newQueue(r.plan.runs, r.streams, cmp.Or(r.request, largest))
	watch := make([]*stream, r.streams)
	stop := make(chan struct{})
	g, ctx := errgroup.WithContext(ctx)
	for i := range watch {
		s := &stream{r: r}
		watch[i] = s
		r.progress.streams.Add(1)
		g.Go(func() error {
			defer r.progress.streams.Add(-1)
			defer s.close()
			return r.work(ctx, s, q)
		})
	}
	watched := make(chan struct{})
	go func() { watchSilence(watch, stop); close(watched) }()
	err := g.Wait()
	close(stop)
	<-watched
	return err
}

// work reads rows of chunks with one stream until there are none.
func (r *reader) work(ctx context.Context, s *stream, q *queue) error {
	for {
		row, ok := q.next()
		if !ok {
			return nil
		}
		if r.budget != nil {
			if err := r.budget.Acquire(ctx, row.end-row.first); err != nil {
				return context.Cause(ctx)
			}
		}
		for i := row.first; i < row.end; i++ {
			err := r.chunk(ctx, s, i, row.end)
			if err == nil {
				continue
			}
			rest := run{i, row.end}
			if r.budget != nil {
				r.budget.Release(rest.end - rest.first)
			}
			var w *worn
			if errors.As(err, &w) && w.others && q.retire(rest) {
				return nil
			}
			return err
		}
	}
}

// chunk reads chunk i and hands it over. Its row goes to end.
func (r *reader) chunk(ctx context.Context, s *stream, i, end int64) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	buf, err := r.pool.get(ctx)
	if err != nil {
		return err
	}
	size := r.plan.size
	buf = buf[:chunkLen(size, i)]
	zero, err := s.fill(ctx, buf, i*ChunkSize, min(end*ChunkSize, size))
	if err != nil {
		r.pool.put(buf)
		return err
	}
	return r.sink(i, buf, zero)
}

// watchSilence gives up streams that wait for a byte for too long: a connection can die without a word.
func watchSilence(streams []*stream, stop <-chan struct{}) {
	const looks = 6
	type seen struct {
		turn uint64
		same int
	}
	last := make([]seen, len(streams))
	ticker := time.NewTicker(silence / looks)
	defer ticker.Stop()
	for {
		select {
		case <-stop:
			return
		case <-ticker.C:
		}
		for i, s := range streams {
			turn := s.turns.Load()
			if turn%2 == 0 || turn != last[i].turn {
				last[i] = seen{turn: turn}
				continue
			}
			if last[i].same++; last[i].same >= looks {
				s.giveUp(errSilent)
			}
		}
	}
}
