package esxsim

import (
	"fmt"
	"strings"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"
)

// QueryChangedDiskAreas answers, for changeId "*", which areas of a disk are
// allocated, a part at a time: the caller goes on at startOffset + length.
func (w *wrapped) QueryChangedDiskAreas(_ *simulator.Context, req *types.QueryChangedDiskAreas) soap.HasFault {
	body := &methods.QueryChangedDiskAreasBody{}
	info, fault := w.m.changedAreas(req)
	if fault != nil {
		body.Fault_ = simulator.Fault("", fault)
		return body
	}
	body.Res = &types.QueryChangedDiskAreasResponse{Returnval: *info}
	return body
}

func (m *machine) changedAreas(req *types.QueryChangedDiskAreas) (*types.DiskChangeInfo, types.BaseMethodFault) {
	m.mu.Lock()
	defer m.mu.Unlock()
	var d *disk
	for _, x := range m.disks {
		if x.key == req.DeviceKey {
			d = x
		}
	}
	if d == nil {
		return nil, &types.InvalidArgument{InvalidProperty: "deviceKey"}
	}
	if req.StartOffset < 0 || req.StartOffset >= d.size {
		return nil, &types.InvalidArgument{InvalidProperty: "startOffset"}
	}
	failed := &types.FileFault{File: d.path(d.layers[d.top].Descriptor).String()}
	if !m.tracking {
		return nil, failed
	}
	if req.Snapshot == nil && m.power == On {
		return nil, failed
	}
	if req.Snapshot != nil {
		if o, ok := m.server.vim.Get(*req.Snapshot).(*simulator.VirtualMachineSnapshot); !ok || o.Vm != m.ref {
			return nil, &types.InvalidArgument{InvalidProperty: "snapshot"}
		}
	}
	areas, fault := m.areasSince(d, req.ChangeId, req.Snapshot)
	if fault != nil {
		return nil, fault
	}
	areas = without(areas, d.lies.Omit)
	if d.lies.Stuck {
		return &types.DiskChangeInfo{StartOffset: req.StartOffset}, nil
	}
	info := &types.DiskChangeInfo{StartOffset: req.StartOffset, Length: d.size - req.StartOffset}
	for _, a := range areas {
		from, to := max(a.Offset, req.StartOffset), a.Offset+a.Length
		if to <= from {
			continue
		}
		if len(info.ChangedArea) == m.server.cfg.AreasPerCall {
			info.Length = from - req.StartOffset
			break
		}
		info.ChangedArea = append(info.ChangedArea, types.DiskChangeExtent{Start: from, Length: to - from})
	}
	return info, nil
}

// areasSince gives what was written since an id, or is allocated, as of a
// snapshot or as of now.
func (m *machine) areasSince(d *disk, id string, snapshot *types.ManagedObjectReference) ([]Range, types.BaseMethodFault) {
	dead := &types.FileFault{File: d.path(d.layers[d.top].Descriptor).String()}
	stamps, layer := d.stamps, d.top
	if snapshot != nil {
		for i, n := range m.snapshotLine() {
			if n.Snapshot == *snapshot {
				layer = d.layerOf(i) - 1
			}
		}
		if layer+1 < len(d.layers) {
			stamps = d.frozen[d.layers[layer+1].Descriptor]
		}
	}
	if id != "*" {
		if uuid, _, ok := strings.Cut(id, "/"); !ok || len(uuid) != len(spacedUUID(stableUUID())) {
			return nil, &types.InvalidArgument{InvalidProperty: "changeId"}
		}
		areas, ok := d.changedSince(stamps, id)
		if !ok {
			return nil, dead
		}
		return areas, nil
	}
	switch {
	case d.lies.Unknown:
		return nil, dead
	case d.spec.Thick || d.lies.Whole:
		return []Range{{0, d.size}}, nil
	case d.spec.Bare:
		return nil, nil
	}
	v, err := d.view(layer)
	if err == nil {
		defer v.close()
		var areas []Range
		if areas, err = v.areas(m.server.cfg.Grain); err == nil {
			return areas, nil
		}
	}
	fmt.Fprintf(m.server.cfg.Log, "allocated areas of %s: %v\n", d.spec.File, err)
	return nil, dead
}
