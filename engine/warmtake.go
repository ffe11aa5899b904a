package engine

import (
	"context"
	"errors"
	"fmt"
	"time"

	"landfall/engine/fault"
	"landfall/engine/transfer"
	"landfall/engine/warm"
)

// watchPasses records how far the passes are, and hands them the live settings.
func (t *turn) watchPasses() {
	st := &t.m.Status
	for i := range st.Disks {
		t.e.jobs.with(t.jobKey("warm", i), func(state any) {
			j := state.(*warmJob)
			j.throttle.SetRate(t.options().Strategy.Throttle)
			j.throttle.SetPaused(t.options().Strategy.Paused)
			if f := j.progress.Figures(); f.ToRead > 0 {
				d := &st.Disks[i]
				if f.Vouched > d.Copied && st.Attempt > 0 {
					st.Attempt = 0 // progress gives the budget back
				}
				d.Copied, d.ToCopy, d.Rate, d.ETA = f.Vouched, f.ToRead, j.progress.Rate(t.now), 0
				if eta, ok := j.progress.ETA(t.now); ok {
					d.ETA = eta.Seconds()
				}
			}
		})
	}
}

// takePasses records what finished jobs brought. All are recorded before the first error is given.
func (t *turn) takePasses() error {
	var errs []error
	for i := range t.m.Status.Warm.Workers {
		key := t.jobKey("warm", i)
		if t.e.jobs.running(key) {
			continue
		}
		v, ok, err := t.e.jobs.take(key)
		if !ok {
			continue
		}
		if err == nil {
			err = t.takePass(i, v.(passed))
		}
		switch {
		case err == nil, fault.Is(err, fault.Interrupted):
		case fault.Is(err, fault.TrackingLost):
			t.reread(i, "change tracking has forgotten what was written: "+err.Error())
		case fault.Is(err, leaseLost):
			t.m.Status.Warm.Dropped(i)
			t.reread(i, err.Error())
		case fault.Is(err, fault.Damaged):
			t.reread(i, "the image is not what was recorded: "+err.Error())
			errs = append(errs, fmt.Errorf("disk %d: %w", i, fault.New(fault.Transient, fault.Damaged, err)))
		default:
			errs = append(errs, fmt.Errorf("disk %d: %w", i, err))
		}
	}
	return errors.Join(errs...)
}

func (t *turn) takePass(i int, p passed) error {
	w, d := t.m.Status.Warm, &t.m.Status.Disks[i]
	d.Rate, d.ETA = 0, 0
	switch p.do {
	case warm.TakeLease:
		first := w.Workers[i].Count == 0 // a converged disk takes one a minute, for days
		if p.note != "" && first {
			t.event("warn", "Quiesce", "%s", p.note)
		}
		if !w.Leased(i, p.lease) {
			w.Workers[i].Empty = 0
			return fault.Hint(fault.Newf(fault.Blocked, "NoChangeID", "snapshots of %s give no change id for this disk, although change tracking is on", t.m.Status.Inventory.Ref),
				"power the VM off and on once, then retry; or cancel, and migrate it with strategy Cold")
		}
		if first {
			t.event("info", "Lease", "disk %d: snapshot %s, change id %q, quiesced %v", i, p.lease.Name, w.Workers[i].Lease.ChangeID, p.lease.Quiesced)
		}
		return nil
	case warm.DropLease:
		if l := w.Workers[i].Lease; l != nil {
			t.gone = append(t.gone, t.snapshotRow(l.Name))
		}
		w.Dropped(i)
		return nil
	case warm.Backfill:
		d.Copied = d.ToCopy
		d.Reader, d.Allocated, d.Manifest = p.reader, p.allocated, p.manifest
		w.Copied(i, p.round, p.reader, p.whole)
		t.event("info", "Backfilled", "disk %d: %d bytes read by %s in %s", i, p.round.Bytes, p.reader, span(p.round.Seconds))
		if p.whole {
			t.event("warn", "NoRanges", "disk %d: %s gives no ranges while the VM runs: rounds measure the gap, which is read when the source is off", i, p.reader)
		}
		return nil
	case warm.Replay:
		if p.manifest != nil {
			d.Copied, d.Manifest = d.ToCopy, p.manifest
		}
		w.Workers[i].Reader, w.Workers[i].Whole = p.reader, p.whole
		w.Replayed(i, p.round, !p.whole)
		return nil
	}
	d.Copied, d.Manifest, d.Stamp, d.Proved, d.SHA256 = d.ToCopy, p.manifest, p.stamp, p.proved, p.sha256
	if d.Reader != p.reader && d.Reader != "" {
		d.Reader += ", then " + p.reader
	} else {
		d.Reader = p.reader
	}
	w.Caught(i, p.round)
	t.event("info", "CaughtUp", "disk %d: %d bytes by %s in %s, Merkle root %s", i, p.round.Bytes, p.reader, span(p.round.Seconds), p.manifest.Root)
	return nil
}

func span(seconds float64) time.Duration {
	return time.Duration(seconds * float64(time.Second)).Round(time.Millisecond)
}

// finishDisk sees that the image is the one that was recorded at the last pass.
func (t *turn) finishDisk(ctx context.Context, i int) error {
	d := &t.m.Status.Disks[i]
	found, err := transfer.Inspect(ctx, nil, t.rawPath(i), d.Size, t.e.Store.Ledger(t.m.UID, i))
	if err != nil {
		return err
	}
	if found.State != transfer.Complete || d.Manifest == nil || found.Image.Root != d.Manifest.Root {
		return fault.Newf(fault.Permanent, fault.Damaged, "disk %d: the image is %s %s and not what the last pass recorded", i, found.State, found.Why)
	}
	d.Acquired = true
	t.m.Status.Warm.Workers[i].Final = true
	return nil
}
