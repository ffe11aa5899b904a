package vsphere

import (
	"context"

	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/vim25/types"

	"landfall/engine/fault"
	"landfall/engine/machine"
	"landfall/sources"
)

// readings tells of every disk which readers would read it, as the VM is now. Where the VM is off, folder really opens
// the disk; what needs a snapshot is judged by the hardware, for a probe takes none.
func (s *Source) readings(ctx context.Context, vm machine.VM, moref types.ManagedObjectReference) ([]sources.Reading, error) {
	vm.Ref.MoRef = moref.Value
	_, b, err := s.look(ctx, vm.Ref, "runtime.powerState", "config.hardware.device")
	if err != nil {
		return nil, err
	}
	for _, path := range []string{"runtime.powerState", "config.hardware.device"} {
		if err := b.missing(path); err != nil {
			return nil, err
		}
	}
	off := power(get[types.VirtualMachinePowerState](b, "runtime.powerState")) != machine.On
	var out []sources.Reading
	for _, d := range disks(object.VirtualDeviceList(get[types.ArrayOfVirtualDevice](b, "config.hardware.device").VirtualDevice)) {
		r, err := s.byFolder(ctx, vm, b, d, off)
		if err != nil {
			return nil, err
		}
		out = append(out, r, frozenReading("export", d))
		if !s.nbd.IsZero() {
			out = append(out, frozenReading("nbd", d))
		}
	}
	return out, nil
}

// byFolder tries the folder reader. Only a failure that may pass is an error: it says nothing about the disk.
func (s *Source) byFolder(ctx context.Context, vm machine.VM, b bag, d machine.Disk, off bool) (sources.Reading, error) {
	r := sources.Reading{Disk: d.Key, Reader: "folder"}
	if _, err := diskNow(b, d); err != nil {
		r.Said = err.Error()
		return r, nil //nolint:nilerr // that a reader refuses is what was asked
	}
	if !off {
		r.Works, r.Said = true, "once the VM is off"
		return r, nil
	}
	opened, err := s.openFolder(ctx, vm.Ref, d)
	switch {
	case err == nil:
		_ = opened.Close()
		r.Works = true
		return r, nil
	case fault.Is(err, fault.VMRuns):
		r.Works, r.Said = true, "once nothing holds the disk: "+err.Error()
		return r, nil
	}
	err = s.fail(err, "open %s", d.Path)
	if fault.ClassOf(err) == fault.Transient {
		return r, err
	}
	r.Said = err.Error()
	return r, nil
}

// frozenReading judges a reader of snapshots.
func frozenReading(reader string, d machine.Disk) sources.Reading {
	r := sources.Reading{Disk: d.Key, Reader: reader, Warm: true}
	switch {
	case d.Independent:
		r.Said = "the disk is independent: a snapshot does not freeze it"
	case d.Backing == machine.RDMPhysical:
		r.Said = "the disk is a raw device in physical mode: a snapshot does not freeze it"
	case d.Shared:
		r.Said = "the disk is shared: a VM with such a disk takes no snapshot"
	default:
		r.Works, r.Said = true, "of a snapshot; not tried, for a probe takes none"
	}
	return r
}
