package transfer_test

import (
	"context"
	"io"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"landfall/engine/fault"
	"landfall/engine/transfer"
)

// between fails unless a duration lies where it should.
func between(t *testing.T, what string, d, low, high time.Duration) {
	t.Helper()
	if d < low || d > high {
		t.Errorf("%s took %s, want %s to %s", what, d, low, high)
	}
}

func TestThrottleHoldsItsRateOverAllStreams(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		throttle := &transfer.Throttle{}
		throttle.SetRate(10 * mib)
		start := time.Now()
		var wg sync.WaitGroup
		for i := range uint64(2) { // two copies share it
			wg.Go(func() {
				disk := &memDisk{data: content(20*mib, i), streams: 4}
				_, err := transfer.Copy(t.Context(), transfer.Job{
					Disk: disk, Path: "/vm/disk", Ledger: &memLedger{}, Files: newMemFiles(), Throttle: throttle,
				})
				if err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		between(t, "40 MiB at 10 MiB/s", time.Since(start), 3500*time.Millisecond, 4500*time.Millisecond)
	})
}

func TestThrottleChangesWhileCopying(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		throttle, progress := &transfer.Throttle{}, &transfer.Progress{}
		throttle.SetRate(1) // somebody mistyped
		start := time.Now()
		time.AfterFunc(10*time.Second, func() { throttle.SetRate(2 * mib) })
		time.AfterFunc(15*time.Second, func() { throttle.SetRate(0) })
		mustCopy(t, transfer.Job{
			Disk: &memDisk{data: content(50*mib, 1), streams: 4}, Path: "/vm/disk", Ledger: &memLedger{}, Files: newMemFiles(),
			Throttle: throttle, Progress: progress,
		})
		between(t, "the copy", time.Since(start), 15*time.Second, 17*time.Second)
	})
}

func TestPauseStopsReadingAndRecordsWhatIsThere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		throttle, progress, ledger := &transfer.Throttle{}, &transfer.Progress{}, &memLedger{}
		throttle.SetRate(4 * mib)
		disk := &memDisk{data: content(40*mib, 2), streams: 4}
		files := newMemFiles()
		finished := make(chan error, 1)
		start := time.Now()
		go func() {
			_, err := transfer.Copy(t.Context(), transfer.Job{
				Disk: disk, Path: "/vm/disk", Ledger: ledger, Files: files, Throttle: throttle, Progress: progress,
			})
			finished <- err
		}()
		time.Sleep(5 * time.Second)
		throttle.SetPaused(true)
		time.Sleep(2 * time.Second)
		paused := progress.Figures()
		disk.mu.Lock()
		if disk.now != 0 {
			t.Errorf("%d streams are still open", disk.now)
		}
		disk.mu.Unlock()
		if left := paused.Read - int64(ledger.count())*mib; left > 4*mib {
			t.Errorf("%d bytes read and not recorded in a pause", left)
		}
		if throttle.Paused() != true || throttle.Rate() != 4*mib {
			t.Errorf("settings read back as %v %d", throttle.Paused(), throttle.Rate())
		}
		time.Sleep(time.Hour)
		if now := progress.Figures(); now.Read != paused.Read {
			t.Errorf("read %d bytes in the pause", now.Read-paused.Read)
		}
		throttle.SetPaused(false)
		if err := <-finished; err != nil {
			t.Fatal(err)
		}
		between(t, "the copy", time.Since(start)-time.Hour-2*time.Second, 9*time.Second, 11*time.Second)
		sameImage(t, files, "/vm/disk", disk.data)
		if f := progress.Figures(); f.Read != 40*mib {
			t.Errorf("read %d bytes: the pause cost some twice", f.Read)
		}
	})
}

func TestPausedCopyCanBeStopped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		throttle := &transfer.Throttle{}
		throttle.SetPaused(true)
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		_, err := transfer.Copy(ctx, transfer.Job{
			Disk: &memDisk{data: content(4*mib, 2)}, Path: "/vm/disk", Ledger: &memLedger{}, Files: newMemFiles(), Throttle: throttle,
		})
		wantFault(t, err, fault.Transient, fault.Interrupted)
	})
}

func TestRateAndETA(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		progress, throttle := &transfer.Progress{}, &transfer.Throttle{}
		if _, ok := progress.ETA(time.Now()); ok {
			t.Error("an ETA before anything began")
		}
		throttle.SetRate(10 * mib)
		data := make([]byte, 400*mib)
		disk := &memDisk{data: data, streams: 4}
		disk.open = func(_ context.Context, _, _ int64, body io.Reader) (io.Reader, error) { return body, nil }
		go func() {
			_, err := transfer.Copy(t.Context(), transfer.Job{
				Disk: disk, Path: "/vm/disk", Ledger: &memLedger{}, Files: newMemFiles(), Throttle: throttle, Progress: progress,
			})
			if err != nil {
				t.Error(err)
			}
		}()
		time.Sleep(time.Second)
		if left, ok := progress.ETA(time.Now()); ok {
			t.Errorf("an ETA of %s after one second", left)
		}
		for range 9 {
			time.Sleep(time.Second)
			progress.Rate(time.Now())
		}
		left, ok := progress.ETA(time.Now())
		if !ok {
			t.Fatal("no ETA after ten seconds")
		}
		between(t, "the rest, as told after 10 of 40 seconds,", left, 28*time.Second, 32*time.Second)
		time.Sleep(400 * time.Millisecond) // something comes after the last look and before the pause
		throttle.SetPaused(true)
		time.Sleep(10 * time.Minute)
		if left, ok := progress.ETA(time.Now()); ok {
			t.Errorf("an ETA of %s in a long pause", left)
		}
		throttle.SetPaused(false)
		time.Sleep(time.Minute)
		if left, ok := progress.ETA(time.Now()); !ok || left != 0 {
			t.Errorf("ETA %s %v at the end", left, ok)
		}
	})
}
