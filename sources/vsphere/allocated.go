package vsphere

import (
	"cmp"
	"context"
	"slices"

	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/types"

	"landfall/engine/fault"
	"landfall/sources"
)

// Allocated asks the host which areas of the disk are in use: all that changed since the beginning.
func (d *folderDisk) Allocated(ctx context.Context) ([]sources.Extent, error) {
	areas, err := d.allocated(ctx)
	return areas, d.src.fail(err, "ask which areas of %s are in use", d.name)
}

func (d *folderDisk) allocated(ctx context.Context) ([]sources.Extent, error) {
	if !d.tracked {
		return nil, cannotTell("changed blocks are not tracked for this disk")
	}
	vm := types.ManagedObjectReference{Type: "VirtualMachine", Value: d.at.vm.MoRef}
	var areas []sources.Extent
	for at := int64(0); at < d.size; {
		res, err := methods.QueryChangedDiskAreas(ctx, d.src.vim, &types.QueryChangedDiskAreas{This: vm, DeviceKey: d.key, StartOffset: at, ChangeId: "*"})
		if err != nil {
			if _, _, f := soapFault(err); f != nil {
				e, _ := classify(err, d.src.host)
				return nil, cannotTell(e.Err.Error())
			}
			return nil, err
		}
		answer := res.Returnval
		if answer.StartOffset > at { // what the answer leaves out may hold data
			areas = append(areas, sources.Extent{Offset: at, Length: answer.StartOffset - at})
		}
		for _, a := range answer.ChangedArea {
			if a.Start < 0 || a.Length < 0 {
				return nil, cannotTell("the host gives an area of negative length")
			}
			areas = append(areas, sources.Extent{Offset: a.Start, Length: a.Length})
		}
		next := answer.StartOffset + answer.Length // answers are partial
		if next <= at {
			return nil, cannotTell("the host's answers make no progress")
		}
		at = next
	}
	return merge(areas, d.size), nil
}

func cannotTell(why string) error {
	return fault.Newf(fault.Blocked, fault.Unsupported, "the whole disk must be read: %s", why)
}

// merge sorts areas, joins those that touch and cuts them to the disk.
func merge(areas []sources.Extent, size int64) []sources.Extent {
	slices.SortFunc(areas, func(a, b sources.Extent) int { return cmp.Compare(a.Offset, b.Offset) })
	out := areas[:0]
	for _, a := range areas {
		if a.Offset >= size || a.Length <= 0 {
			continue
		}
		a.Length = min(a.Length, size-a.Offset)
		if n := len(out); n > 0 && a.Offset <= out[n-1].End() {
			out[n-1].Length = max(out[n-1].End(), a.End()) - out[n-1].Offset
			continue
		}
		out = append(out, a)
	}
	return out
}
