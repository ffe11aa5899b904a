package transfer

import (
	"context"
	"fmt"
	"time"

	"landfall/engine/fault"
)

const (
	tries    = 6                      // failures in a row, without progress between them, that end a stream
	firstGap = 250 * time.Millisecond // before the first retry, doubled for each further one
	longest  = 30 * time.Second       // a wait that is done within a copy; a source that asks for more ends it
	headway  = 64 << 10               // bytes that count as progress
)

// failures is a row of failures of one stream.
type failures struct {
	count int
	mark  int64 // offset at the first of the row
	total int64 // read by all streams at the first of the row
}

// settle decides about a failure of a stream at offset: nil after a wait means to go on there, else the row is at its
// end.
func (r *reader) settle(ctx context.Context, row *failures, err error, offset int64) error {
	class := fault.ClassOf(err)
	if class == "" {
		class = fault.Transient
		err = fault.New(class, fault.ReasonOf(err), err)
	}
	err = fmt.Errorf("read disk at byte %d: %w", offset, err)
	if class != fault.Transient || fault.Is(err, fault.VMRuns) {
		return err
	}
	if row.count == 0 || offset-row.mark >= headway {
		*row = failures{mark: offset, total: r.read.Load()}
	}
	row.count++
	wait := max(firstGap<<(row.count-1), fault.AfterOf(err))
	if row.count >= tries || wait > longest {
		return &worn{err, r.read.Load() > row.total}
	}
	r.progress.retries.Add(1)
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// worn is a row of failures at its end.
type worn struct {
	err    error
	others bool // other streams got on meanwhile: the source may just not want so many
}

func (w *worn) Error() string { return w.err.Error() }
func (w *worn) Unwrap() error { return w.err }
