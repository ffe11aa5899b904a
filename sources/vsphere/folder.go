package vsphere

import (
	"cmp"
	"context"
	"errors"
	"io"
	"sync"

	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/vim25/types"

	"landfall/engine/fault"
	"landfall/engine/machine"
	"landfall/sources"
)

// folderDisk reads a disk of a VM that is off through the host's file access: ranges over HTTPS of the flat file that
// the descriptor names.
type folderDisk struct {
	src     *Source
	at      place
	key     int32
	name    string // for messages
	size    int64
	stamp   string // when the host says that the file was last written
	tracked bool   // changed blocks are tracked, so that the host can tell what is allocated
	life    context.Context
	end     context.CancelFunc
	power   sync.Mutex // one look at the power state at a time, when many streams break at once
}

var (
	_ sources.Disk    = (*folderDisk)(nil)
	_ sources.Stamped = (*folderDisk)(nil)
)

// OpenDisk looks the disk up by its key as it is now, so that a snapshot taken meanwhile is seen, reads its descriptor
// and proves that its bytes are served in ranges and are as many as the disk is large.
func (s *Source) OpenDisk(ctx context.Context, vm machine.VM, disk machine.Disk) (sources.Disk, error) {
	d, err := s.openFolder(ctx, vm.Ref, disk)
	if err != nil {
		return nil, s.fail(err, "open disk %s (%s) of VM %s", disk.Where(), disk.Path, vm.Ref)
	}
	return d, nil
}

func (s *Source) openFolder(ctx context.Context, ref machine.Ref, want machine.Disk) (*folderDisk, error) {
	moref, b, err := s.look(ctx, ref, "runtime.powerState", "config.hardware.device", "config.changeTrackingEnabled", "parent", "parentVApp")
	if err = cmp.Or(err, b.missing("runtime.powerState"), b.missing("config.hardware.device")); err != nil {
		return nil, err
	}
	if p := power(get[types.VirtualMachinePowerState](b, "runtime.powerState")); p == machine.On {
		return nil, runs("its power state is on")
	}
	now, err := diskNow(b, want)
	if err != nil {
		return nil, err
	}
	path, ok := parsePath(now.Path)
	if !ok {
		return nil, fault.Newf(fault.Blocked, fault.NotFound, "the disk names no datastore (%q)", now.Path)
	}
	ref.MoRef = moref.Value
	at := place{file: path, datacenter: s.datacenter(ctx, b), vm: ref}
	desc, err := s.readDescriptor(ctx, at)
	if err != nil {
		return nil, err
	}
	flat, err := desc.flat()
	if err != nil {
		return nil, err
	}
	if flat.sectors*512 != now.Capacity {
		return nil, changed("its descriptor says %d bytes, the VM's hardware %d", flat.sectors*512, now.Capacity)
	}
	at.file = path.beside(flat.file)
	size, stamp, err := s.size(ctx, at)
	if err != nil {
		return nil, err
	}
	if size != now.Capacity {
		return nil, changed("%s has %d bytes, the VM's hardware says %d", at.file, size, now.Capacity)
	}
	d := &folderDisk{src: s, at: at, key: now.Key, name: now.Path, size: size, stamp: stamp,
		tracked: get[bool](b, "config.changeTrackingEnabled") && now.ChangeID != ""}
	d.life, d.end = context.WithCancel(context.Background())
	return d, nil
}

// diskNow finds the wanted disk among the VM's devices as they are now, and refuses what cannot be read as a flat file.
func diskNow(b bag, want machine.Disk) (machine.Disk, error) {
	for _, d := range disks(object.VirtualDeviceList(get[types.ArrayOfVirtualDevice](b, "config.hardware.device").VirtualDevice)) {
		switch {
		case d.Key != want.Key:
			continue
		case d.Capacity != want.Capacity:
			return d, changed("it was recorded with %d bytes and has %d now", want.Capacity, d.Capacity)
		case d.Parent:
			return d, unsupported("it is a delta on another disk: the VM has a snapshot (%s)", d.Path)
		case d.Backing != machine.Flat:
			return d, unsupported("its backing is %s (%s)", d.Backing, d.BackingRaw)
		}
		return d, nil
	}
	return machine.Disk{}, fault.Hint(fault.Newf(fault.Blocked, fault.NotFound, "the VM has no disk with device key %d any more", want.Key),
		"look whether the disk was removed")
}

// datacenter is what the file access wants as dcPath.
func (s *Source) datacenter(ctx context.Context, b bag) string {
	if s.about.API == hostAgent {
		return "ha-datacenter"
	}
	parent, ok := parentOf(b)
	if !ok {
		return ""
	}
	return s.ancestry(ctx, parent).datacenter(&parent)
}

func changed(format string, args ...any) error {
	return fault.Hint(fault.Newf(fault.Blocked, fault.SizeChanged, format, args...), "the disk was resized or its files do not belong together: look at it, then start again")
}

// Reader names the way the disk is read.
func (d *folderDisk) Reader() string { return "folder" }

// Size is what the file itself told.
func (d *folderDisk) Size() int64 { return d.size }

// Stamp is when the host says that the file was last written.
func (d *folderDisk) Stamp() string { return d.stamp }

// Streams is the cap on connections of the whole source: all its disks share them.
func (d *folderDisk) Streams() int { return cap(d.src.permits) }

// Close ends what is still read.
func (d *folderDisk) Close() error {
	d.end()
	return nil
}

var errDiskClosed = fault.Newf(fault.Blocked, fault.Interrupted, "the disk is closed")

// Open asks for a range. It waits for one of the source's connections.
func (d *folderDisk) Open(ctx context.Context, offset, length int64) (io.ReadCloser, error) {
	st, err := d.open(ctx, offset, length)
	if err != nil {
		return nil, d.src.fail(err, "read %d bytes at %d of %s", length, offset, d.name)
	}
	return st, nil
}

func (d *folderDisk) open(ctx context.Context, offset, length int64) (*stream, error) {
	if offset < 0 || length < 0 || length > d.size-offset {
		return nil, fault.Newf(fault.Blocked, fault.Refused, "the disk has only %d bytes", d.size)
	}
	if d.life.Err() != nil {
		return nil, errDiskClosed
	}
	if length == 0 {
		return &stream{}, nil
	}
	ctx, cancel := context.WithCancelCause(ctx)
	stop := context.AfterFunc(d.life, func() { cancel(errDiskClosed) })
	give := func(release func(), err error) (*stream, error) {
		stop()
		if release != nil {
			release()
		}
		if cause := context.Cause(ctx); errors.Is(cause, errDiskClosed) {
			err = cause
		}
		cancel(nil)
		return nil, err
	}
	release, err := d.src.permit(ctx)
	if err != nil {
		return give(nil, err)
	}
	res, err := d.src.get(ctx, d.at, rangeHeader(offset, length))
	if err != nil {
		return give(release, err)
	}
	r, err := partial(res, offset, length)
	if err == nil && r.total != d.size {
		err = changed("%s had %d bytes and has %d now", d.at.file, d.size, r.total)
	}
	if err != nil {
		_ = res.Body.Close()
		return give(release, err)
	}
	st := &stream{disk: d, ctx: ctx, cancel: cancel, body: res.Body, at: offset, left: length, free: func() { stop(); release() }}
	st.watch(d.src.opts.StallTimeout)
	return st, nil
}
