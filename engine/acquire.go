package engine

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"landfall/engine/fault"
	"landfall/engine/transfer"
	"landfall/sources"
)

// copied is what a copy job brings.
type copied struct {
	result    transfer.Result
	reader    string
	allocated int64 // bytes; -1: the source cannot tell
	proved    bool
	sha256    string // of the whole image, where it was proved
	elapsed   time.Duration
}

// watchEvery is how often the progress of running work is recorded: twice a second for all disks together.
const watchEvery = 500 * time.Millisecond

// copyJob is a copy under way, as the turns see it.
type copyJob struct {
	progress *transfer.Progress
	throttle *transfer.Throttle
}

// seeDisks takes what finished copies brought and says which disks are to be copied next.
func (t *turn) seeDisks() (Observation, error) {
	var todo []int
	for i := range t.m.Status.Disks {
		if err := t.takeCopy(i); err != nil {
			return Observation{}, err
		}
		if !t.m.Status.Disks[i].Acquired || (t.options().Strategy.Verify == "proved" && !t.m.Status.Disks[i].Proved) {
			todo = append(todo, i)
		}
	}
	if len(todo) == 0 {
		return Observation{Sight: Running, Seen: "every disk is acquired"}, nil
	}
	if t.options().Strategy.Paused { // who is paused takes nobody's permit
		return Observation{Sight: Running, Seen: "paused", again: t.e.Poll}, nil
	}
	if todo = t.permitted(todo); len(todo) == 0 {
		return Observation{Sight: Running, Seen: fmt.Sprintf("waiting for a copy permit, place %d", t.m.Status.Queue), again: t.e.Poll}, nil
	}
	return Observation{Sight: Partial, Seen: "to be copied: " + disksText(todo), next: todo}, nil
}

// disksText names disks by their index: "disk 0, disk 2".
func disksText(disks []int) string {
	names := make([]string, len(disks))
	for i, d := range disks {
		names[i] = fmt.Sprintf("disk %d", d)
	}
	return strings.Join(names, ", ")
}

// permitted gives the disks that may be copied now; the place of the others is recorded.
func (t *turn) permitted(disks []int) (now []int) {
	t.m.Status.Queue = 0
	for _, i := range disks {
		ok, place := t.e.permits.ask(t.permitHost(), t.m.UID, t.jobKey("copy", i))
		switch {
		case ok:
			now = append(now, i)
		case t.m.Status.Queue == 0 || place < t.m.Status.Queue:
			t.m.Status.Queue = place
		}
	}
	if len(now) > 0 {
		t.m.Status.Queue = 0
	}
	return now
}

// permitHost is the ESXi host that serves the disks, or the endpoint where it is not known.
func (t *turn) permitHost() string { return hostOf(*t.m.Status.Inventory, t.options()) }

func (t *turn) jobKey(what string, disk int) string {
	return fmt.Sprintf("%s/%s/%d", t.m.UID, what, disk)
}

// takeCopy records what a finished copy brought, and gives its error.
func (t *turn) takeCopy(i int) error {
	key := t.jobKey("copy", i)
	if t.e.jobs.running(key) {
		return nil
	}
	v, ok, err := t.e.jobs.take(key)
	if !ok {
		return nil
	}
	d := &t.m.Status.Disks[i]
	if c, _ := v.(copied); err == nil {
		m := c.result.Manifest
		d.Acquired, d.Manifest, d.Reader, d.Allocated, d.Proved = true, &m, c.reader, c.allocated, c.proved
		d.SHA256 = c.sha256
		d.Copied, d.Rate, d.ETA = d.ToCopy, 0, 0
		t.measured(c)
		t.event("info", "DiskAcquired", "disk %d: %d bytes, %d read, Merkle root %s", i, m.Size, c.result.Figures.Read, m.Root)
		return nil
	}
	if fault.Is(err, fault.Damaged) {
		d.Forget = true
		err = fault.New(fault.Transient, fault.Damaged, err)
	}
	return fmt.Errorf("disk %d (%s): %w", i, d.Label, err)
}

// tellingCopy is how much a copy must have read for its rate to tell anything of the host.
const tellingCopy = 8 << 20

// measured keeps how fast the copy was, unless somebody held it back.
func (t *turn) measured(c copied) {
	o := t.options().Strategy
	if n := c.result.Figures.Read; n >= tellingCopy && c.elapsed > 0 && o.Throttle == 0 && !o.Paused {
		t.rates = append(t.rates, Rate{Host: t.permitHost(), Bytes: n, Seconds: c.elapsed.Seconds()})
	}
}

// copying tells whether a copy of this migration works.
func (t *turn) copying() bool {
	for i := range t.m.Status.Disks {
		if t.e.jobs.running(t.jobKey("copy", i)) {
			return true
		}
	}
	return false
}

// watchCopies records how far the copies are. The source is not asked: a copy finds out by itself when the VM runs.
func (t *turn) watchCopies() (Observation, error) {
	st := &t.m.Status
	var busy, idle []int
	for i := range st.Disks {
		if err := t.takeCopy(i); err != nil {
			return Observation{}, err
		}
		if !st.Disks[i].Acquired && !t.e.jobs.running(t.jobKey("copy", i)) {
			idle = append(idle, i)
		}
		t.e.jobs.with(t.jobKey("copy", i), func(state any) {
			busy = append(busy, i)
			j := state.(*copyJob)
			f := j.progress.Figures()
			if d := &st.Disks[i]; f.ToRead > 0 {
				if f.Vouched > d.Copied && st.Attempt > 0 {
					st.Attempt = 0 // progress gives the budget back
				}
				d.Copied, d.ToCopy, d.Rate, d.ETA = f.Vouched, f.ToRead, j.progress.Rate(t.now), 0
				if eta, ok := j.progress.ETA(t.now); ok {
					d.ETA = eta.Seconds()
				}
			}
			j.throttle.SetRate(t.options().Strategy.Throttle)
			j.throttle.SetPaused(t.options().Strategy.Paused)
		})
	}
	if t.options().Strategy.Paused {
		return Observation{Sight: Running, Seen: "paused", again: watchEvery}, nil
	}
	if next := t.permitted(idle); len(next) > 0 {
		return Observation{Sight: Partial, Seen: "to be copied: " + disksText(next), next: next}, nil
	}
	return Observation{Sight: Running, Seen: "copying " + disksText(busy), again: watchEvery}, nil
}

// copyDisks starts the copies that have a permit. A disk that was written since its copy was begun, between two looks at the
// power of its VM, is copied from the beginning.
func (t *turn) copyDisks(ctx context.Context, disks []int) error {
	src, err := t.source(ctx)
	if err != nil {
		return err
	}
	for _, i := range disks {
		d := &t.m.Status.Disks[i]
		disk, stamp, err := t.openDisk(ctx, src, i)
		if err != nil {
			return err
		}
		if d.Stamp != "" && d.Stamp != stamp {
			t.event("warn", "SourceWritten", "disk %d was written since its copy was begun (%s, now %s): it is copied anew", i, d.Stamp, stamp)
			*d = Disk{Index: d.Index, Key: d.Key, Label: d.Label, Size: d.Size, Forget: true}
		}
		d.Stamp = stamp
		if err := errors.Join(t.forget(ctx, i), t.record(ctx)); err != nil {
			return errors.Join(err, disk.Close())
		}
		t.startCopy(src, disk, i)
	}
	return nil
}

// openDisk opens a source disk and gives its stamp, "" where the source cannot tell.
func (t *turn) openDisk(ctx context.Context, src sources.Source, i int) (sources.Disk, string, error) {
	vm := *t.m.Status.Inventory
	disk, err := src.OpenDisk(ctx, vm, vm.DiskList[i])
	if err != nil {
		return nil, "", fmt.Errorf("disk %d: %w", i, err)
	}
	if s, ok := disk.(sources.Stamped); ok {
		return disk, s.Stamp(), nil
	}
	return disk, "", nil
}

// forget removes what belongs to another time of the disk: first the ledger's word for it, then the bytes.
func (t *turn) forget(ctx context.Context, i int) error {
	d := &t.m.Status.Disks[i]
	if !d.Forget {
		return nil
	}
	if err := t.e.Store.ResetLedger(ctx, t.m.UID, i); err != nil {
		return err
	}
	if err := transfer.Discard(nil, t.rawPath(i)); err != nil {
		return err
	}
	d.Forget = false
	return nil
}

func (t *turn) startCopy(src sources.Source, disk sources.Disk, i int) {
	e, uid, vm := t.e, t.m.UID, *t.m.Status.Inventory
	state := &copyJob{progress: new(transfer.Progress), throttle: new(transfer.Throttle)}
	state.throttle.SetRate(t.options().Strategy.Throttle)
	prove := t.options().Strategy.Verify == "proved"
	path := t.rawPath(i)
	t.holdStaging()
	key, wake := t.jobKey("copy", i), t.r.wake
	e.jobs.start(key, state, func(ctx context.Context) (any, error) {
		defer disk.Close()
		if err := src.ProveOff(ctx, vm); err != nil { // looked at again right before the first read
			return nil, err
		}
		extents, err := disk.Allocated(ctx)
		allocated := int64(-1)
		switch {
		case fault.Is(err, fault.Unsupported):
			extents = nil
		case err != nil:
			return nil, err
		default:
			allocated = 0
			for _, x := range extents {
				allocated += x.Length
			}
			if extents == nil {
				extents = []sources.Extent{}
			}
		}
		began := e.Now()
		res, err := transfer.Copy(ctx, transfer.Job{Disk: disk, Path: path, Ledger: e.Store.Ledger(uid, i), Extents: extents,
			Throttle: state.throttle, Progress: state.progress})
		if err != nil {
			return nil, err
		}
		elapsed := e.Now().Sub(began)
		if prove {
			// All of the disk, not only what the source called allocated: a map that lies is found out.
			if err := src.ProveOff(ctx, vm); err != nil {
				return nil, err
			}
			if err := transfer.Prove(ctx, transfer.Proof{Disk: disk, Ledger: e.Store.Ledger(uid, i), Throttle: state.throttle}); err != nil {
				return nil, err
			}
		}
		c := copied{result: res, reader: disk.Reader(), allocated: allocated, proved: prove, elapsed: elapsed}
		if prove {
			c.sha256, err = imageSum(ctx, path, disk.Size(), e.Store.Ledger(uid, i))
		}
		return c, err
	}, func() {
		e.permits.free(uid, key)
		wake()
	})
}

// imageSum is the SHA-256 of the whole image, which an operator can compare with any other tool's.
func imageSum(ctx context.Context, path string, size int64, ledger transfer.Ledger) (string, error) {
	a, err := transfer.OpenArtifact(ctx, nil, path, size, ledger)
	if err != nil {
		return "", err
	}
	defer a.Close()
	sum, err := a.SHA256(ctx)
	return sum.String(), err
}

// rawPath is where the acquired image of a disk lies; the name is the same on every retry.
func (t *turn) rawPath(i int) string {
	return filepath.Join(t.staging(), fmt.Sprintf("disk-%d.raw", i))
}

func (t *turn) staging() string { return filepath.Join(t.e.Staging, t.m.UID) }

// forgetCopies makes every disk be copied from the beginning.
func (t *turn) forgetCopies(why string) {
	t.e.jobs.stop(t.m.UID)
	begun := false
	for i := range t.m.Status.Disks {
		d := &t.m.Status.Disks[i]
		begun = begun || d.Acquired || d.ToCopy > 0
		*d = Disk{Index: d.Index, Key: d.Key, Label: d.Label, Size: d.Size, Forget: true}
	}
	if begun {
		t.event("warn", "CopiesForgotten", "the copies are begun anew: %s", why)
	}
}
