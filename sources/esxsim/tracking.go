package esxsim

import (
	"fmt"
	"os"
	"path/filepath"
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
	areas, fault := m.areasSince(d, req.ChangeId)
	if fault != nil {
		return nil, fault
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

// areasSince is where rounds of a running VM will come from; now nothing
// changes a disk, so that the present id has no changes and others are dead.
func (m *machine) areasSince(d *disk, id string) ([]Range, types.BaseMethodFault) {
	if id == d.changeID() {
		return nil, nil
	}
	if id != "*" {
		if uuid, _, ok := strings.Cut(id, "/"); !ok || len(uuid) != len(spacedUUID(stableUUID())) {
			return nil, &types.InvalidArgument{InvalidProperty: "changeId"}
		}
		return nil, &types.FileFault{File: d.path(d.layers[d.top].Descriptor).String()}
	}
	if d.spec.Thick {
		return []Range{{0, d.size}}, nil
	}
	areas, err := d.allocated(m.server.cfg.Grain)
	if err != nil {
		fmt.Fprintf(m.server.cfg.Log, "allocated areas of %s: %v\n", d.spec.File, err)
		return nil, &types.FileFault{File: d.path(d.layers[0].Extent).String()}
	}
	return areas, nil
}

// allocated is the truth about the base extent.
func (d *disk) allocated(grain int64) ([]Range, error) {
	if d.spec.Bare {
		return nil, nil
	}
	f, err := os.Open(filepath.Join(d.dir(), d.layers[0].Extent))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return allocated(f, d.size, grain)
}
