package transfer_test

import (
	"context"
	"io"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"landfall/engine/fault"
	"landfall/engine/transfer"
)

// hooked calls before every read.
type hooked struct {
	r      io.Reader
	before func() error
}

func (h hooked) Read(p []byte) (int, error) {
	if err := h.before(); err != nil {
		return 0, err
	}
	return h.r.Read(p[:min(len(p), 64<<10)])
}

// stopAt calls stop once so many bytes were read.
func stopAt(p *transfer.Progress, bytes int64, stop func()) func(context.Context, int64, int64, io.Reader) (io.Reader, error) {
	return func(ctx context.Context, _, _ int64, body io.Reader) (io.Reader, error) {
		return hooked{body, func() error {
			if p.Figures().Read >= bytes {
				stop()
			}
			return ctx.Err()
		}}, nil
	}
}

func TestStreamThatFailsGoesOnAtItsByte(t *testing.T) {
	for name, err := range map[string]error{
		"clean early end":   io.EOF,
		"classed early end": fault.Newf(fault.Transient, fault.EarlyEnd, "ended early"),
		"reset, unclassed":  errCut,
		"session ended":     fault.Newf(fault.Transient, fault.NotAuthenticated, "session ended"),
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				data := content(20*mib+300, 5)
				disk := &memDisk{data: data, streams: 3}
				disk.open = func(_ context.Context, _, _ int64, body io.Reader) (io.Reader, error) {
					return cutAfter(body, 1_500_001, err), nil
				}
				files, progress := newMemFiles(), &transfer.Progress{}
				mustCopy(t, transfer.Job{Disk: disk, Path: "/vm/disk", Ledger: &memLedger{}, Files: files, Progress: progress})
				sameImage(t, files, "/vm/disk", data)
				if f := progress.Figures(); f.Read != int64(len(data)) || f.Retries == 0 {
					t.Errorf("read %d bytes of %d with %d retries: not resumed at the byte", f.Read, len(data), f.Retries)
				}
			})
		})
	}
}

func TestSourceThatMakesNoHeadwayEndsTheCopy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		data := content(20*mib, 5)
		disk := &memDisk{data: data, streams: 3}
		disk.open = func(_ context.Context, offset, length int64, body io.Reader) (io.Reader, error) {
			if offset+length > 12*mib {
				return cutAfter(body, max(0, 12*mib-offset), errCut), nil
			}
			return body, nil
		}
		files, ledger := newMemFiles(), &memLedger{}
		start := time.Now()
		_, err := transfer.Copy(t.Context(), transfer.Job{Disk: disk, Path: "/vm/disk", Ledger: ledger, Files: files})
		wantFault(t, err, fault.Transient, "Unknown")
		if took := time.Since(start); took < time.Second || took > time.Minute {
			t.Errorf("gave up after %s", took)
		}
		if ledger.count() < 12 {
			t.Errorf("only %d chunks recorded of those that could be read", ledger.count())
		}
		disk.open = nil
		mustCopy(t, transfer.Job{Disk: disk, Path: "/vm/disk", Ledger: ledger, Files: files})
		sameImage(t, files, "/vm/disk", data)
	})
}

func TestFaultsThatEndACopyAtOnce(t *testing.T) {
	for name, c := range map[string]error{
		"the VM runs":       fault.Newf(fault.Transient, fault.VMRuns, "disk is held"),
		"no permission":     fault.Newf(fault.Blocked, fault.NoPermission, "no"),
		"disk is gone":      fault.Newf(fault.Permanent, fault.NotFound, "gone"),
		"asked for an hour": fault.RetryAfter(fault.Newf(fault.Transient, fault.Unreachable, "busy"), time.Hour),
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				data := content(30*mib, 6)
				var opened atomic.Int64
				disk := &memDisk{data: data, streams: 2}
				disk.open = func(_ context.Context, _, _ int64, body io.Reader) (io.Reader, error) {
					if opened.Add(1) > 2 {
						return nil, c
					}
					return body, nil
				}
				start := time.Now()
				ledger := &memLedger{}
				_, err := transfer.Copy(t.Context(), transfer.Job{Disk: disk, Path: "/vm/disk", Ledger: ledger, Files: newMemFiles()})
				wantFault(t, err, fault.ClassOf(c), fault.ReasonOf(c))
				if fault.AfterOf(err) != fault.AfterOf(c) {
					t.Errorf("the wait that was asked for is lost: %s", fault.AfterOf(err))
				}
				if took := time.Since(start); took > time.Second {
					t.Errorf("took %s", took)
				}
				if ledger.count() == 0 {
					t.Error("what was read before is not recorded")
				}
			})
		})
	}
}

func TestRetryAfterIsObeyed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		data := content(3*mib, 7)
		refused := false
		disk := &memDisk{data: data}
		disk.open = func(_ context.Context, _, _ int64, body io.Reader) (io.Reader, error) {
			if !refused {
				refused = true
				return nil, fault.RetryAfter(fault.Newf(fault.Transient, fault.Unreachable, "503"), 17*time.Second)
			}
			return body, nil
		}
		start := time.Now()
		files := newMemFiles()
		mustCopy(t, transfer.Job{Disk: disk, Path: "/vm/disk", Ledger: &memLedger{}, Files: files})
		sameImage(t, files, "/vm/disk", data)
		if took := time.Since(start); took < 17*time.Second || took > 19*time.Second {
			t.Errorf("took %s, asked for were 17 s", took)
		}
	})
}

// A host that allows fewer connections than it says keeps answering the surplus with a fault.
func TestStreamsThatAreNotWantedRetire(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		data := content(90*mib, 8)
		disk := &memDisk{data: data, streams: 8}
		disk.open = func(_ context.Context, _, _ int64, body io.Reader) (io.Reader, error) {
			disk.mu.Lock()
			defer disk.mu.Unlock()
			if disk.now > 3 {
				return nil, fault.Newf(fault.Transient, fault.Unreachable, "503 too many connections")
			}
			return hooked{body, func() error { time.Sleep(50 * time.Millisecond); return nil }}, nil
		}
		files, progress := newMemFiles(), &transfer.Progress{}
		mustCopy(t, transfer.Job{Disk: disk, Path: "/vm/disk", Ledger: &memLedger{}, Files: files, Progress: progress})
		sameImage(t, files, "/vm/disk", data)
		if f := progress.Figures(); f.Read != int64(len(data)) {
			t.Errorf("read %d bytes of %d", f.Read, len(data))
		}
	})
}

func TestSilentStreamIsGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		data := content(6*mib, 9)
		var opened atomic.Int64
		disk := &memDisk{data: data, streams: 2}
		disk.open = func(ctx context.Context, _, _ int64, body io.Reader) (io.Reader, error) {
			if opened.Add(1) == 2 {
				return io.MultiReader(io.LimitReader(body, 1000), hanging{ctx}), nil
			}
			return body, nil
		}
		start := time.Now()
		files, progress := newMemFiles(), &transfer.Progress{}
		mustCopy(t, transfer.Job{Disk: disk, Path: "/vm/disk", Ledger: &memLedger{}, Files: files, Progress: progress})
		sameImage(t, files, "/vm/disk", data)
		if took := time.Since(start); took < 50*time.Second || took > 90*time.Second {
			t.Errorf("took %s", took)
		}
		if f := progress.Figures(); f.Read != int64(len(data)) {
			t.Errorf("read %d bytes of %d", f.Read, len(data))
		}
	})
}

type hanging struct{ ctx context.Context }

func (h hanging) Read([]byte) (int, error) { <-h.ctx.Done(); return 0, h.ctx.Err() }

func TestLedgerThatFailsEndsTheCopy(t *testing.T) {
	data := content(100*mib, 11)
	ledger := &memLedger{err: fault.Newf(fault.Blocked, fault.NoSpace, "database or disk is full")}
	_, err := transfer.Copy(t.Context(), transfer.Job{Disk: &memDisk{data: data, streams: 4}, Path: imagePath(t), Ledger: ledger})
	wantFault(t, err, fault.Blocked, fault.NoSpace)
}
