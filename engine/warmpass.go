package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"landfall/engine/fault"
	"landfall/engine/machine"
	"landfall/engine/transfer"
	"landfall/engine/warm"
	"landfall/sources"
)

// warmJob is something under way for a worker, as the turns see it.
type warmJob struct {
	do       warm.Do
	progress *transfer.Progress
	throttle *transfer.Throttle
}

// leases tells whether it takes or removes a snapshot: a VM does one of these at a time.
func (j *warmJob) leases() bool { return j.do == warm.TakeLease || j.do == warm.DropLease }

// passed is what a job of a worker brought.
type passed struct {
	do        warm.Do
	lease     warm.Lease
	note      string
	round     warm.Round
	whole     bool // no ranges: the gap was only measured
	reader    string
	stamp     string
	allocated int64
	manifest  *transfer.Manifest
	proved    bool
	sha256    string
}

// reasons of the rounds' own.
const (
	leaseLost    = "LeaseLost"
	trackingLies = "TrackingLied"
)

// passing tells whether anything is under way for a worker.
func (t *turn) passing() bool {
	return slices.ContainsFunc(t.m.Status.Warm.Workers, func(d warm.Disk) bool { return t.e.jobs.running(t.jobKey("warm", d.Index)) })
}

// mayBegin tells whether a task can be begun beside what is under way and what was chosen before it.
func (t *turn) mayBegin(task warm.Task, chosen []warm.Task) bool {
	switch task.Do {
	case warm.Initialize:
		return !t.m.Status.Inventory.ChangeTracking || t.m.Status.Warm.Tracking
	case warm.Prepare, warm.Stop:
		return false // the coordinator's own looks say what is to be done
	case warm.Release, warm.Sweep:
		return !t.passing()
	case warm.TakeLease, warm.DropLease:
		busy := slices.ContainsFunc(chosen, func(c warm.Task) bool { return c.Do == warm.TakeLease || c.Do == warm.DropLease })
		for _, d := range t.m.Status.Warm.Workers {
			t.e.jobs.with(t.jobKey("warm", d.Index), func(state any) { busy = busy || state.(*warmJob).leases() })
		}
		return !busy
	}
	return true
}

// workWarm does what the machine asked for; the state was committed before.
func (t *turn) workWarm(ctx context.Context, work warmWork) error {
	src, err := t.live(ctx)
	if err != nil {
		return err
	}
	for _, task := range work.tasks {
		switch task.Do {
		case warm.Initialize:
			err = t.initialize(ctx, src)
		case warm.TakeLease:
			err = t.takeLease(ctx, src, task.Worker)
		case warm.DropLease:
			t.dropLease(src, task.Worker)
		case warm.Backfill, warm.Replay, warm.Catch:
			err = t.startPass(ctx, src, task)
		case warm.Finish:
			err = t.finishDisk(ctx, task.Worker)
		case warm.Sweep, warm.Release:
			err = t.releaseSource(ctx)
		}
		if err != nil {
			return err
		}
	}
	return t.prepareTarget(ctx, work.moves)
}

func (t *turn) startWarm(i int, do warm.Do, f func(ctx context.Context, j *warmJob) (passed, error)) {
	j := &warmJob{do: do, progress: new(transfer.Progress), throttle: new(transfer.Throttle)}
	j.throttle.SetRate(t.options().Strategy.Throttle)
	j.throttle.SetPaused(t.options().Strategy.Paused)
	now := t.e.Now
	t.e.jobs.start(t.jobKey("warm", i), j, func(ctx context.Context) (any, error) {
		began := now()
		p, err := f(ctx, j)
		p.do, p.round.Started, p.round.Seconds = do, began, max(now().Sub(began).Seconds(), 0)
		return p, err
	}, t.r.wake)
}

// startPass begins a pass over one disk. A disk that is read whole loses its old image first.
func (t *turn) startPass(ctx context.Context, src sources.Live, task warm.Task) error {
	i, w := task.Worker, t.m.Status.Warm.Workers[task.Worker]
	t.holdStaging()
	if err := errors.Join(t.forget(ctx, i), t.record(ctx)); err != nil {
		return err
	}
	p := pass{src: src, ref: t.m.Status.Inventory.Ref, disk: w, path: t.rawPath(i), ledger: t.e.Store.Ledger(t.m.UID, i), prove: t.m.Status.Warm.Options.Proved}
	if l := w.Lease; l != nil {
		p.snapshot = &sources.Snapshot{ID: l.ID, Name: l.Name, Description: warm.Description(t.m.UID), Taken: l.Taken}
	}
	t.startWarm(i, task.Do, func(ctx context.Context, j *warmJob) (passed, error) {
		switch p.job = j; task.Do {
		case warm.Backfill:
			return p.backfill(ctx)
		case warm.Replay:
			return p.replay(ctx)
		}
		return p.catchUp(ctx)
	})
	return nil
}

// pass is one pass over a disk; it outlives the turn.
type pass struct {
	src      sources.Live
	ref      machine.Ref
	disk     warm.Disk
	snapshot *sources.Snapshot
	path     string
	ledger   transfer.Ledger
	prove    bool
	job      *warmJob
}

// look gives the VM and the disk as they are now, and the snapshot, which must still be there.
func (p *pass) look(ctx context.Context) (machine.VM, machine.Disk, error) {
	vm, err := p.src.Inspect(ctx, p.ref)
	if err != nil {
		return vm, machine.Disk{}, err
	}
	n := slices.IndexFunc(vm.DiskList, func(d machine.Disk) bool { return d.Key == p.disk.Key })
	if n < 0 {
		return vm, machine.Disk{}, fault.Newf(fault.Blocked, fault.SizeChanged, "the disk with key %d is gone", p.disk.Key)
	}
	if p.snapshot != nil {
		all, err := p.src.Snapshots(ctx, p.ref)
		if err != nil {
			return vm, machine.Disk{}, err
		}
		k := slices.IndexFunc(all, func(s sources.Snapshot) bool { return s.ID == p.snapshot.ID })
		if k < 0 {
			return vm, machine.Disk{}, fault.Newf(fault.Transient, leaseLost, "our snapshot %s was removed by somebody else", p.snapshot.Name)
		}
		p.snapshot = &all[k]
	}
	return vm, vm.DiskList[n], nil
}

func (p *pass) transfer(disk sources.Disk, extents []sources.Extent) transfer.Job {
	return transfer.Job{Disk: disk, Path: p.path, Ledger: p.ledger, Extents: extents, Throttle: p.job.throttle, Progress: p.job.progress}
}

// sized sees that a disk that was opened is the one that was judged.
func (p *pass) sized(disk sources.Disk) error {
	if disk.Size() != p.disk.Size {
		return fault.Hint(fault.Newf(fault.Blocked, fault.SizeChanged, "the disk was %d bytes, is %d", p.disk.Size, disk.Size()), "cancel, and migrate the VM again as it is now")
	}
	return nil
}

// whole copies all of an opened disk.
func (p *pass) whole(ctx context.Context, disk sources.Disk) (passed, error) {
	r := passed{reader: disk.Reader(), allocated: -1}
	if err := p.sized(disk); err != nil {
		return r, err
	}
	var res transfer.Result
	var err error
	if _, r.whole = disk.(sources.Whole); r.whole {
		res, err = transfer.CopyWhole(ctx, p.transfer(disk, nil))
	} else {
		var extents []sources.Extent
		switch extents, err = disk.Allocated(ctx); {
		case fault.Is(err, fault.Unsupported):
			extents = nil
		case err != nil:
			return r, err
		default:
			extents, r.allocated = append([]sources.Extent{}, extents...), total(extents)
		}
		res, err = transfer.Copy(ctx, p.transfer(disk, extents))
	}
	if err != nil {
		return r, err
	}
	r.manifest, r.round.Bytes = &res.Manifest, res.Figures.Read
	return r, nil
}

func total(extents []sources.Extent) (n int64) {
	for _, x := range extents {
		n += x.Length
	}
	return n
}

// backfill copies the disk as its lease froze it.
func (p *pass) backfill(ctx context.Context) (passed, error) {
	vm, disk, err := p.look(ctx)
	if err != nil {
		return passed{}, err
	}
	open, err := p.src.OpenFrozen(ctx, vm, *p.snapshot, disk)
	if err != nil {
		return passed{}, err
	}
	defer open.Close()
	return p.whole(ctx, open)
}

// changes asks page by page what was written since the image's change id. Each page must reach further.
func (p *pass) changes(ctx context.Context, vm machine.VM, disk machine.Disk) ([]sources.Extent, error) {
	var all []sources.Extent
	for at := int64(0); at < p.disk.Size; {
		page, err := p.src.Changed(ctx, vm, p.snapshot, disk, p.disk.Base, at)
		if err != nil {
			return nil, err
		}
		if page.Reach <= at {
			return nil, fault.Newf(fault.Transient, "NoHeadway", "change tracking answers no further than byte %d of %d", page.Reach, p.disk.Size)
		}
		all, at = append(all, page.Extents...), page.Reach
	}
	return all, nil
}

// replay brings the image from its change id to that of the lease, or measures how much that is where there are no ranges.
func (p *pass) replay(ctx context.Context) (passed, error) {
	vm, disk, err := p.look(ctx)
	if err != nil {
		return passed{}, err
	}
	changed, err := p.changes(ctx, vm, disk)
	if err != nil {
		return passed{}, err
	}
	r := passed{whole: p.disk.Whole, reader: p.disk.Reader, round: warm.Round{Bytes: total(changed)}}
	if r.whole {
		return r, nil
	}
	open, err := p.src.OpenFrozen(ctx, vm, *p.snapshot, disk)
	if err != nil {
		return r, err
	}
	defer open.Close()
	r.reader = open.Reader()
	if _, r.whole = open.(sources.Whole); r.whole {
		return r, nil
	}
	return r, p.apply(ctx, open, changed, &r)
}

func (p *pass) apply(ctx context.Context, disk sources.Disk, changed []sources.Extent, r *passed) error {
	if err := p.sized(disk); err != nil {
		return err
	}
	res, err := transfer.Apply(ctx, p.transfer(disk, changed))
	if err == nil {
		r.manifest = &res.Manifest
	}
	return err
}

// catchUp brings the image to what the source holds now that it is off, and proves it where that is asked for. Power is looked
// at right before.
func (p *pass) catchUp(ctx context.Context) (r passed, err error) {
	p.snapshot = nil
	vm, disk, err := p.look(ctx)
	if err != nil {
		return r, err
	}
	if vm.Power != machine.Off {
		return r, fault.Newf(fault.Transient, fault.VMRuns, "%s is %s", vm.Ref, vm.Power)
	}
	if err := p.src.ProveOff(ctx, vm); err != nil {
		return r, err
	}
	var changed []sources.Extent
	whole := p.disk.Base == "" || p.disk.Full != ""
	if !whole {
		if changed, err = p.changes(ctx, vm, disk); err != nil {
			return r, err
		}
	}
	open, err := p.src.OpenDisk(ctx, vm, disk)
	if err != nil {
		return r, err
	}
	defer open.Close()
	if whole {
		r, err = p.whole(ctx, open)
	} else {
		r = passed{reader: open.Reader(), allocated: -1, round: warm.Round{Bytes: total(changed)}}
		err = p.apply(ctx, open, changed, &r)
	}
	if err != nil {
		return r, err
	}
	if s, ok := open.(sources.Stamped); ok {
		r.stamp = s.Stamp()
	}
	if !p.prove {
		return r, nil
	}
	if err := p.src.ProveOff(ctx, vm); err != nil {
		return r, err
	}
	err = transfer.Prove(ctx, transfer.Proof{Disk: open, Ledger: p.ledger, Throttle: p.job.throttle})
	if d := (*transfer.Difference)(nil); errors.As(err, &d) {
		err = fault.Hint(fault.New(fault.Permanent, trackingLies, fmt.Errorf("change tracking left something out: the source, read again, is not what was copied: %w", err)),
			"reset change tracking of the VM, or migrate it with strategy Cold")
	}
	if err != nil {
		return r, err
	}
	r.proved = true
	r.sha256, err = imageSum(ctx, p.path, p.disk.Size, p.ledger)
	return r, err
}

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
