package transfer

import (
	"context"
	"errors"
	"io"
	"sync/atomic"
	"time"

	"landfall/engine/fault"
)

// silence is how long a stream may give no byte before it is given up.
const silence = 60 * time.Second

// errSilent is the cause by which a stream is given up.
var errSilent = fault.Newf(fault.Transient, fault.Unreachable, "no byte arrived for %s", silence)

// stream reads ranges of a disk in order, over connections that it opens again where they fail.
type stream struct {
	r     *reader
	body  io.ReadCloser
	ctx   context.Context // of body
	at    int64           // offset of the next byte of body
	left  int64           // bytes that body still owes
	piece int             // of the plan, a hint

	turns  atomic.Uint64 // odd while the source is waited for; rises with every wait
	cancel atomic.Pointer[context.CancelCauseFunc]
}

// fill reads the disk's bytes at offset into p; holes of the plan are not asked of the source. end is where
// the stream's neighbouring chunks end: no request goes beyond. It tells whether all of p is zeros.
func (s *stream) fill(ctx context.Context, p []byte, offset, end int64) (zero bool, err error) {
	zero = true
	var row failures
	for done := 0; done < len(p); {
		pos := offset + int64(done)
		hole, ask := s.locate(pos, end)
		if hole > 0 {
			n := int(min(hole, int64(len(p)-done)))
			if !s.r.ragged {
				clear(p[done : done+n])
			}
			done += n
			continue
		}
		n, err := s.read(ctx, p[done:min(int64(len(p)), int64(done)+ask)], pos, ask)
		zero = zero && isZero(p[done:done+n])
		done += n
		if err == nil {
			continue
		}
		s.close()
		if ctx.Err() != nil {
			return false, context.Cause(ctx)
		}
		if err := s.r.settle(ctx, &row, err, pos+int64(n)); err != nil {
			return false, err
		}
	}
	return zero, nil
}

// locate tells how many bytes of hole lie at offset, or else how many bytes can be read from there in one request.
func (s *stream) locate(offset, end int64) (hole, ask int64) {
	pieces := s.r.plan.pieces
	if s.piece >= len(pieces) || pieces[s.piece].End() <= offset || s.piece > 0 && pieces[s.piece-1].End() > offset {
		s.piece = s.r.plan.at(offset)
	}
	if s.piece == len(pieces) || pieces[s.piece].Offset >= end {
		return end - offset, 0
	}
	if e := pieces[s.piece]; e.Offset <= offset {
		return 0, min(e.End(), end) - offset
	}
	return pieces[s.piece].Offset - offset, 0
}

// read reads some bytes at offset, opening a stream for ask bytes where none stands there.
func (s *stream) read(ctx context.Context, p []byte, offset, ask int64) (int, error) {
	throttle := s.r.throttle
	if !throttle.open() {
		// In a pause the other side would cut an idle connection.
		if err := throttle.wait(ctx, s.close); err != nil {
			return 0, err
		}
		p = p[:min(len(p), throttle.grain())]
	}
	if s.body == nil || s.at != offset {
		s.close()
		if err := s.open(ctx, offset, ask); err != nil {
			return 0, err
		}
	}
	s.turns.Add(1)
	n, err := s.body.Read(p)
	s.turns.Add(1)
	if n == 0 && err == nil {
		err = io.ErrNoProgress
	}
	s.at += int64(n)
	s.left -= int64(n)
	s.r.read.Add(int64(n))
	s.r.progress.count(n, time.Now())
	throttle.spend(n)
	switch {
	case s.left == 0:
		s.close()
		return n, nil
	case err != nil:
		return n, s.cause(early(err, s.at))
	}
	return n, nil
}

func (s *stream) open(ctx context.Context, offset, length int64) error {
	ctx, cancel := context.WithCancelCause(ctx)
	s.ctx = ctx
	s.cancel.Store(&cancel)
	s.r.progress.requests.Add(1)
	s.turns.Add(1)
	body, err := s.r.disk.Open(ctx, offset, length)
	s.turns.Add(1)
	if err != nil {
		return s.cause(err)
	}
	s.body, s.at, s.left = body, offset, length
	return nil
}

// close ends the request, if there is one.
func (s *stream) close() {
	if s.body != nil {
		_ = s.body.Close() // what matters was seen by Read
		s.body = nil
	}
	s.giveUp(nil)
}

// giveUp makes a read that is under way fail. It may be called from any goroutine.
func (s *stream) giveUp(cause error) {
	if cancel := s.cancel.Load(); cancel != nil {
		(*cancel)(cause)
	}
}

// cause prefers the reason why a stream was given up to the error that this led to.
func (s *stream) cause(err error) error {
	if s.ctx.Err() != nil {
		return context.Cause(s.ctx)
	}
	return err
}

// early makes the clean end of a stream that still owed bytes an error.
func early(err error, offset int64) error {
	if fault.ClassOf(err) == "" && (errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)) {
		return fault.Newf(fault.Transient, fault.EarlyEnd, "the stream ended at byte %d, before its promised length", offset)
	}
	return err
}
