package vsphere

import (
	"cmp"
	"context"
	"strings"

	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/types"

	"landfall/engine/fault"
	"landfall/engine/machine"
	"landfall/sources"
)

// Changed gives one page of what was written since the change id.
func (s *Source) Changed(ctx context.Context, vm machine.VM, snapshot *sources.Snapshot, disk machine.Disk, since string, offset int64) (sources.Changes, error) {
	c, err := s.changed(ctx, vm.Ref, snapshot, disk, since, offset)
	return c, s.fail(err, "ask what changed on disk %s of VM %s", disk.Where(), vm.Ref)
}

func (s *Source) changed(ctx context.Context, ref machine.Ref, snapshot *sources.Snapshot, disk machine.Disk, since string, offset int64) (sources.Changes, error) {
	var none sources.Changes
	vm, b, err := s.look(ctx, ref, "runtime.powerState", "config.hardware.device")
	if err = cmp.Or(err, b.missing("runtime.powerState"), b.missing("config.hardware.device")); err != nil {
		return none, err
	}
	capacity, current := int64(-1), ""
	for _, d := range disks(object.VirtualDeviceList(get[types.ArrayOfVirtualDevice](b, "config.hardware.device").VirtualDevice)) {
		if d.Key == disk.Key {
			capacity, current = d.Capacity, trackedID(d.ChangeID)
		}
	}
	if snapshot != nil {
		current = snapshot.ChangeIDs[disk.Key]
	}
	switch {
	case capacity < 0:
		return none, fault.Newf(fault.Blocked, fault.NotFound, "the VM has no disk with device key %d any more", disk.Key)
	case capacity != disk.Capacity:
		return none, changed("it was recorded with %d bytes and has %d now", disk.Capacity, capacity)
	case offset < 0:
		return none, fault.Newf(fault.Blocked, fault.Refused, "offset %d", offset)
	case since == "":
		return none, lost("the snapshot recorded no change id: changes were not tracked yet")
	case current != "" && trackingFile(current) != trackingFile(since):
		return none, lost("the disk's tracking file is another since: change id %q was recorded and it has %q", since, current)
	case snapshot == nil && power(get[types.VirtualMachinePowerState](b, "runtime.powerState")) == machine.On:
		return none, runs("its power state is on")
	case offset >= capacity:
		return sources.Changes{Reach: capacity}, nil
	}
	return s.page(ctx, vm, snapshot, disk.Key, capacity, since, offset)
}

// trackingFile is the part of a change id that names the file; ids of two files cannot be compared.
func trackingFile(id string) string {
	file, _, _ := strings.Cut(id, "/")
	return file
}

// page asks once. What the answer leaves out before its start may have changed; what it says of areas outside of what it
// covers is asked again.
func (s *Source) page(ctx context.Context, vm types.ManagedObjectReference, snapshot *sources.Snapshot, key int32, capacity int64, since string, offset int64) (sources.Changes, error) {
	req := &types.QueryChangedDiskAreas{This: vm, DeviceKey: key, StartOffset: offset, ChangeId: since}
	if snapshot != nil {
		at := snapshotRef(snapshot.ID)
		req.Snapshot = &at
	}
	res, err := methods.QueryChangedDiskAreas(ctx, s.vim, req)
	if err != nil {
		return sources.Changes{}, s.queryFailed(ctx, err, snapshot)
	}
	answer := res.Returnval
	reach := answer.StartOffset + answer.Length
	if answer.StartOffset < 0 || answer.Length < 0 || reach <= offset {
		return sources.Changes{}, lost("the host's answers make no progress at byte %d", offset)
	}
	reach = min(reach, capacity)
	var areas []sources.Extent
	if answer.StartOffset > offset {
		areas = append(areas, sources.Extent{Offset: offset, Length: min(answer.StartOffset, capacity) - offset})
	}
	for _, a := range answer.ChangedArea {
		if a.Start < 0 || a.Length < 0 || a.Length > capacity || a.Start > capacity {
			return sources.Changes{}, lost("the host gives an area of %d bytes at %d, the disk has %d", a.Length, a.Start, capacity)
		}
		if from, to := max(a.Start, offset), min(a.Start+a.Length, reach); from < to {
			areas = append(areas, sources.Extent{Offset: from, Length: to - from})
		}
	}
	return sources.Changes{Extents: merge(areas, capacity), Reach: reach}, nil
}

// queryFailed tells an id that is no longer known from a snapshot that is gone.
func (s *Source) queryFailed(ctx context.Context, err error, snapshot *sources.Snapshot) error {
	_, said, f := soapFault(err)
	switch t := f.(type) {
	case *types.FileFault, *types.FileNotFound, *types.NotSupported, *types.InvalidState:
		e, _ := classify(err, s.host)
		return lost("%v", e.Err)
	case *types.InvalidArgument:
		if t.InvalidProperty == "snapshot" && snapshot != nil {
			return fault.Newf(fault.Blocked, fault.NotFound, "snapshot %s is gone: %s", snapshot.ID, said)
		}
		return lost("the host knows no such change id (%s)", cmp.Or(t.InvalidProperty, said, "InvalidArgument"))
	}
	return err
}

func lost(format string, args ...any) error {
	return fault.Hint(fault.Newf(fault.Blocked, fault.TrackingLost, format, args...),
		"what changed cannot be told any more: the whole disk is read again")
}

// allocatedAt asks which areas of a disk are in use as of a snapshot.
func (s *Source) allocatedAt(ctx context.Context, vm types.ManagedObjectReference, snapshot sources.Snapshot, key int32, size int64) ([]sources.Extent, error) {
	if snapshot.ChangeIDs[key] == "" {
		return nil, cannotTell("changed blocks are not tracked for this disk")
	}
	areas := []sources.Extent{}
	for at := int64(0); at < size; {
		c, err := s.page(ctx, vm, &snapshot, key, size, "*", at)
		if fault.Is(err, fault.TrackingLost) {
			return nil, cannotTell(err.Error())
		}
		if err != nil {
			return nil, err
		}
		areas = append(areas, c.Extents...)
		at = c.Reach
	}
	return merge(areas, size), nil
}
