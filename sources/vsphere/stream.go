package vsphere

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"landfall/engine/fault"
)

// stream is one range under way. Read is for one goroutine; Close may come from another.
type stream struct {
	disk   *folderDisk
	ctx    context.Context
	cancel context.CancelCauseFunc
	body   io.ReadCloser
	at     int64 // of the next byte
	left   int64
	err    error // what ended it; every further Read gives it again
	free   func()
	once   sync.Once

	begun   time.Time
	waiting atomic.Int64 // since when a Read waits, in nanoseconds after begun; 0: none does
	dog     *time.Timer
}

var (
	errStalled      = errors.New("no bytes arrived")
	errStreamClosed = fault.Newf(fault.Blocked, fault.Interrupted, "the stream is closed")
)

// watch ends the stream when one Read waits for longer than patience. A reader that takes its time (a throttle, a
// pause) is no stall.
func (s *stream) watch(patience time.Duration) {
	s.begun = time.Now()
	s.dog = time.AfterFunc(patience/4, func() {
		if since := s.waiting.Load(); since != 0 && time.Since(s.begun)-time.Duration(since) >= patience {
			s.cancel(errStalled)
			return
		}
		if s.ctx.Err() == nil {
			s.dog.Reset(patience / 4)
		}
	})
}

// Read gives io.EOF only after the last byte that was asked for.
func (s *stream) Read(p []byte) (int, error) {
	switch {
	case s.err != nil:
		return 0, s.err
	case s.left == 0:
		return 0, io.EOF
	case int64(len(p)) > s.left:
		p = p[:s.left]
	}
	s.waiting.Store(max(int64(time.Since(s.begun)), 1))
	n, err := s.body.Read(p)
	s.waiting.Store(0)
	s.left -= int64(n)
	s.at += int64(n)
	if err == nil || s.left == 0 {
		return n, nil
	}
	s.err = s.broken(err)
	return n, s.err
}

// broken says why a stream ended before its last byte.
func (s *stream) broken(err error) error {
	d := s.disk
	switch cause := context.Cause(s.ctx); {
	case errors.Is(cause, errStalled):
		err = fault.Newf(fault.Transient, Stalled, "%w for %s", errStalled, d.src.opts.StallTimeout)
	case errors.Is(cause, errDiskClosed), errors.Is(cause, errStreamClosed):
		err = cause
	case cause != nil:
		err = s.ctx.Err()
	case s.running():
		err = runs("its power state is on")
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		err = fault.Newf(fault.Transient, fault.EarlyEnd, "the host ended the stream %d bytes early", s.left)
	}
	return d.src.fail(err, "read at %d of %s", s.at, d.name)
}

// running looks whether the VM was started under the stream.
func (s *stream) running() bool {
	s.disk.power.Lock()
	defer s.disk.power.Unlock()
	return s.disk.src.seenRunning(s.ctx, s.disk.at.vm)
}

// Close gives the connection back.
func (s *stream) Close() error {
	if s.disk == nil {
		return nil
	}
	s.once.Do(func() {
		s.dog.Stop()
		s.cancel(errStreamClosed)
		_ = s.body.Close()
		s.free()
	})
	return nil
}

func (s *stream) String() string { return fmt.Sprintf("%s at %d", s.disk.name, s.at) }
