package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"

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
		return vm, machine.Disk{}, fault.Hint(fault.Newf(fault.Blocked, fault.SizeChanged, "the disk with key %d was removed", p.disk.Key), "cancel, and migrate the VM again as it is now")
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
		return fault.Hint(fault.Newf(fault.Blocked, fault.SizeChanged, "the disk had %d bytes and has %d", p.disk.Size, disk.Size()), "cancel, and migrate the VM again as it is now")
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
	// What was written since is asked for only after the stamp was taken, which every later write changes.
	open, err := p.src.OpenDisk(ctx, vm, disk)
	if err != nil {
		return r, err
	}
	defer open.Close()
	stamp := stampOf(open)
	if p.disk.Base == "" || p.disk.Full != "" {
		r, err = p.whole(ctx, open)
	} else {
		var changed []sources.Extent
		if changed, err = p.changes(ctx, vm, disk); err != nil {
			return r, err
		}
		r = passed{reader: open.Reader(), allocated: -1, round: warm.Round{Bytes: total(changed)}}
		err = p.apply(ctx, open, changed, &r)
	}
	if err != nil {
		return r, err
	}
	r.stamp = stamp
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

func stampOf(d sources.Disk) string {
	if s, ok := d.(sources.Stamped); ok {
		return s.Stamp()
	}
	return ""
}
