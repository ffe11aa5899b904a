package vsphere

import (
	"context"
	"errors"
	"io"
	"net/http"
	"sync"
	"time"

	"github.com/vmware/govmomi/vim25/types"

	"landfall/engine/fault"
	"landfall/engine/machine"
	"landfall/sources"
)

// exportDisk reads a disk as a snapshot froze it through the host's export: one stream from its start, also while the VM
// runs.
type exportDisk struct {
	src      *Source
	vm       types.ManagedObjectReference
	snapshot sources.Snapshot
	disk     machine.Disk
	life     context.Context
	over     context.CancelFunc

	mu    sync.Mutex
	lease *lease // made when the disk was opened, or for a further reading
}

var _ sources.Whole = (*exportDisk)(nil)

func (s *Source) openExport(ctx context.Context, vm types.ManagedObjectReference, snapshot sources.Snapshot, disk machine.Disk) (*exportDisk, error) {
	l, err := s.newLease(ctx, snapshot.ID)
	if err != nil {
		return nil, err
	}
	if _, err := l.url(disk); err != nil {
		l.end(false)
		return nil, err
	}
	d := &exportDisk{src: s, vm: vm, snapshot: snapshot, disk: disk, lease: l}
	d.life, d.over = context.WithCancel(context.Background())
	return d, nil
}

// Reader names the way the disk is read.
func (d *exportDisk) Reader() string { return "export" }

// Size is what the VM's hardware says; the stream's own word is compared with it before a byte is given.
func (d *exportDisk) Size() int64 { return d.disk.Capacity }

// Streams is 1: an export is one stream.
func (d *exportDisk) Streams() int { return 1 }

// Open is not possible.
func (d *exportDisk) Open(context.Context, int64, int64) (io.ReadCloser, error) {
	return nil, fault.Newf(fault.Blocked, fault.Unsupported, "read %s: an export gives the disk as a whole only", d.disk.Path)
}

// Allocated asks the host, so that progress can be told against what is to come.
func (d *exportDisk) Allocated(ctx context.Context) ([]sources.Extent, error) {
	areas, err := d.src.allocatedAt(ctx, d.vm, d.snapshot, d.disk.Key, d.disk.Capacity)
	return areas, d.src.fail(err, "ask which areas of %s are in use", d.disk.Path)
}

// Close gives the lease back; a reading under way fails.
func (d *exportDisk) Close() error {
	d.over()
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.lease != nil {
		d.lease.end(false)
		d.lease = nil
	}
	return nil
}

// eachError is the caller's own failure, which is not the stream's.
type eachError struct{ error }

// ReadAll reads the stream from its start to its end mark.
func (d *exportDisk) ReadAll(ctx context.Context, each func(offset int64, p []byte) error) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	err := d.readAll(ctx, each)
	if own := (eachError{}); errors.As(err, &own) {
		return own.error
	}
	return d.src.fail(err, "read %s by an export", d.disk.Path)
}

func (d *exportDisk) readAll(ctx context.Context, each func(offset int64, p []byte) error) error {
	if d.life.Err() != nil {
		return errDiskClosed
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(d.life, func() { cancel(errDiskClosed) })()
	release, err := d.src.permit(ctx)
	if err != nil {
		return because(ctx, err)
	}
	defer release()
	if d.lease == nil || d.lease.gone() {
		if d.lease != nil {
			d.lease.end(false)
		}
		if d.lease, err = d.src.newLease(ctx, d.snapshot.ID); err != nil {
			d.lease = nil
			return because(ctx, err)
		}
	}
	l := d.lease
	d.lease = nil // a stream is read once: the next reading begins with a lease of its own
	err = d.stream(ctx, cancel, l, each)
	l.end(err == nil)
	if (l.gone() || isStatus(err, http.StatusNotFound)) && err != nil && !errors.As(err, &eachError{}) {
		return errLeaseLost // its address goes with it
	}
	return err
}

func (d *exportDisk) stream(ctx context.Context, cancel context.CancelCauseFunc, l *lease, each func(offset int64, p []byte) error) error {
	u, err := l.url(d.disk)
	if err != nil {
		return err
	}
	res, err := l.get(ctx, u)
	if err != nil {
		return because(ctx, err)
	}
	defer res.Body.Close()
	w := &watched{r: res.Body, patience: d.src.opts.StallTimeout}
	w.dog = time.AfterFunc(w.patience, func() {
		cancel(fault.Newf(fault.Transient, Stalled, "%w for %s", errStalled, w.patience))
	})
	defer w.dog.Stop()
	return because(ctx, decodeVMDK(w, d.disk.Capacity, func(offset int64, p []byte) error {
		l.percent.Store(int32(offset * 100 / max(d.disk.Capacity, 1)))
		w.dog.Stop() // the caller may take its time
		if err := each(offset, p); err != nil {
			return eachError{err}
		}
		w.dog.Reset(w.patience)
		return nil
	}))
}

// because prefers the reason why a reading was stopped to the error that this led to.
func because(ctx context.Context, err error) error {
	if err != nil && ctx.Err() != nil && !errors.As(err, &eachError{}) {
		return context.Cause(ctx)
	}
	return err
}

// watched is a body whose silence is noticed.
type watched struct {
	r        io.Reader
	dog      *time.Timer
	patience time.Duration
}

func (w *watched) Read(p []byte) (int, error) {
	w.dog.Reset(w.patience)
	return w.r.Read(p)
}
