package esxsim

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"
)

// snapshot is a snapshot as the API sees it.
type snapshot struct {
	*simulator.VirtualMachineSnapshot
	m *machine
}

// CreateSnapshotTask takes a snapshot: every dependent disk goes on in a delta.
func (w *wrapped) CreateSnapshotTask(ctx *simulator.Context, req *types.CreateSnapshot_Task) soap.HasFault {
	return &methods.CreateSnapshot_TaskBody{Res: &types.CreateSnapshot_TaskResponse{Returnval: w.act(ctx, "CreateSnapshot_Task", "createSnapshot",
		func() (types.AnyType, types.BaseMethodFault) { return w.m.takeSnapshot(req.Name, req.Description) })}}
}

// CreateSnapshotExTask does the same.
func (w *wrapped) CreateSnapshotExTask(ctx *simulator.Context, req *types.CreateSnapshotEx_Task) soap.HasFault {
	return &methods.CreateSnapshotEx_TaskBody{Res: &types.CreateSnapshotEx_TaskResponse{Returnval: w.act(ctx, "CreateSnapshotEx_Task", "createSnapshot",
		func() (types.AnyType, types.BaseMethodFault) { return w.m.takeSnapshot(req.Name, req.Description) })}}
}

// RemoveAllSnapshotsTask merges every delta into its base.
func (w *wrapped) RemoveAllSnapshotsTask(ctx *simulator.Context, _ *types.RemoveAllSnapshots_Task) soap.HasFault {
	return &methods.RemoveAllSnapshots_TaskBody{Res: &types.RemoveAllSnapshots_TaskResponse{Returnval: w.act(ctx, "RemoveAllSnapshots_Task", "removeAllSnapshots",
		func() (types.AnyType, types.BaseMethodFault) { return nil, w.m.removeSnapshots("") })}}
}

// RevertToCurrentSnapshotTask is not offered: nothing here needs it yet.
func (w *wrapped) RevertToCurrentSnapshotTask(*simulator.Context, *types.RevertToCurrentSnapshot_Task) soap.HasFault {
	return &methods.RevertToCurrentSnapshot_TaskBody{Fault_: simulator.Fault("", &types.NotSupported{})}
}

// RevertToSnapshotTask is not offered either.
func (v *snapshot) RevertToSnapshotTask(*simulator.Context, *types.RevertToSnapshot_Task) soap.HasFault {
	return &methods.RevertToSnapshot_TaskBody{Fault_: simulator.Fault("", &types.NotSupported{})}
}

// RemoveSnapshotTask merges the delta of one snapshot; its children stay
// unless they are to go with it.
func (v *snapshot) RemoveSnapshotTask(ctx *simulator.Context, req *types.RemoveSnapshot_Task) soap.HasFault {
	w := &wrapped{v.m.obj, v.m}
	return &methods.RemoveSnapshot_TaskBody{Res: &types.RemoveSnapshot_TaskResponse{Returnval: w.act(ctx, "RemoveSnapshot_Task", "removeSnapshot",
		func() (types.AnyType, types.BaseMethodFault) {
			return nil, v.m.removeSnapshot(req.This, req.RemoveChildren)
		})}}
}

// ExportSnapshot is not offered yet; the simulator would serve the descriptor.
func (v *snapshot) ExportSnapshot(*simulator.Context, *types.ExportSnapshot) soap.HasFault {
	return &methods.ExportSnapshotBody{Fault_: simulator.Fault("", &types.NotSupported{})}
}

// Snapshots form one line: there is no way back, so that no tree can grow.
// The number of deltas of each disk is the number of snapshots.

func (m *machine) takeSnapshot(name, description string) (types.AnyType, types.BaseMethodFault) {
	var ref types.ManagedObjectReference
	var fault types.BaseMethodFault
	m.change(func(ctx *simulator.Context) {
		ref, fault = m.addSnapshot(ctx, name, description)
	})
	if fault != nil {
		return nil, fault
	}
	return ref, nil
}

// addSnapshot needs the object's lock and mu.
func (m *machine) addSnapshot(ctx *simulator.Context, name, description string) (types.ManagedObjectReference, types.BaseMethodFault) {
	line := m.snapshotLine()
	if len(line) >= 32 {
		return types.ManagedObjectReference{}, &types.InvalidState{}
	}
	o := &simulator.VirtualMachineSnapshot{}
	o.Vm = m.ref
	deepCopy(*m.obj.Config, &o.Config)
	ctx.Map.Put(o)
	node := types.VirtualMachineSnapshotTree{Snapshot: o.Self, Vm: m.ref, Name: name, Description: description,
		Id: int32(len(line) + 1), CreateTime: time.Now(), State: types.VirtualMachinePowerStatePoweredOff, ReplaySupported: types.NewBool(false)}
	for _, d := range m.disks {
		if strings.HasPrefix(d.spec.Mode, "independent") {
			continue
		}
		base := strings.TrimSuffix(d.spec.File, ".vmdk")
		n := 1
		for slices.ContainsFunc(d.layers, func(l layer) bool { return l.Descriptor == fmt.Sprintf("%s-%06d.vmdk", base, n) }) {
			n++
		}
		d.layers = append(d.layers, layer{Descriptor: fmt.Sprintf("%s-%06d.vmdk", base, n), Extent: fmt.Sprintf("%s-%06d-delta.vmdk", base, n), Parent: d.top})
		d.top = len(d.layers) - 1
		d.epoch++
		if err := m.writeLayers(d); err != nil {
			return o.Self, &types.FileFault{File: err.Error()}
		}
	}
	m.publishSnapshots(ctx, append(line, node))
	return o.Self, nil
}

// restoreSnapshots makes the objects of snapshots that were there before the
// process; their files are.
func (m *machine) restoreSnapshots(ctx *simulator.Context) {
	var line []types.VirtualMachineSnapshotTree
	for i, s := range m.spec.Snapshots {
		o := &simulator.VirtualMachineSnapshot{}
		o.Vm = m.ref
		deepCopy(*m.obj.Config, &o.Config)
		for k, dev := range o.Config.Hardware.Device {
			for _, d := range m.disks {
				if d.key == dev.GetVirtualDevice().Key {
					then := m.diskDevice(d)
					then.Backing = m.backing(d, min(i, d.top))
					o.Config.Hardware.Device[k] = then
				}
			}
		}
		ctx.Map.Put(o)
		line = append(line, types.VirtualMachineSnapshotTree{Snapshot: o.Self, Vm: m.ref, Name: s.Name, Description: s.Description,
			Id: int32(i + 1), CreateTime: time.Now(), State: types.VirtualMachinePowerStatePoweredOff, ReplaySupported: types.NewBool(false)})
	}
	if len(line) > 0 {
		m.publishSnapshots(ctx, line)
	}
}

func (m *machine) removeSnapshot(ref types.ManagedObjectReference, children bool) types.BaseMethodFault {
	var fault types.BaseMethodFault = &types.ManagedObjectNotFound{Obj: ref}
	m.change(func(ctx *simulator.Context) {
		line := m.snapshotLine()
		at := slices.IndexFunc(line, func(t types.VirtualMachineSnapshotTree) bool { return t.Snapshot == ref })
		if at < 0 {
			return
		}
		fault = nil
		last := at
		if children {
			last = len(line) - 1
		}
		for i := last; i >= at; i-- {
			m.dropSnapshot(ctx, line, i)
			line = slices.Delete(line, i, i+1)
		}
		m.publishSnapshots(ctx, line)
	})
	return fault
}

// removeSnapshots removes those with the name; "" removes all.
func (m *machine) removeSnapshots(name string) types.BaseMethodFault {
	m.change(func(ctx *simulator.Context) {
		line := m.snapshotLine()
		for i := len(line) - 1; i >= 0; i-- {
			if name == "" || line[i].Name == name {
				m.dropSnapshot(ctx, line, i)
				line = slices.Delete(line, i, i+1)
			}
		}
		m.publishSnapshots(ctx, line)
	})
	return nil
}

// dropSnapshot merges the delta that was begun by snapshot i. Deltas are
// empty, since nothing writes yet, so that merging is forgetting the file.
func (m *machine) dropSnapshot(ctx *simulator.Context, line []types.VirtualMachineSnapshotTree, i int) {
	ref := line[i].Snapshot
	for _, d := range m.disks {
		if i+1 >= len(d.layers) {
			continue // independent
		}
		gone := d.layers[i+1]
		d.layers = slices.Delete(d.layers, i+1, i+2)
		for k := range d.layers {
			d.layers[k].Parent = k - 1
		}
		d.top = len(d.layers) - 1
		d.epoch++
		for _, f := range []string{gone.Descriptor, gone.Extent, trackingFile(gone.Descriptor)} {
			_ = os.Remove(filepath.Join(d.dir(), f))
		}
		if err := m.writeLayers(d); err != nil {
			fmt.Fprintf(m.server.cfg.Log, "merge %s: %v\n", gone.Descriptor, err)
		}
	}
	ctx.Map.Remove(ctx, ref)
	m.server.unwrap(ctx, ref)
}

// snapshotLine flattens the chain of snapshots, oldest first.
func (m *machine) snapshotLine() []types.VirtualMachineSnapshotTree {
	var line []types.VirtualMachineSnapshotTree
	if m.obj.Snapshot == nil {
		return nil
	}
	for list := m.obj.Snapshot.RootSnapshotList; len(list) > 0; {
		node := list[0]
		list = node.ChildSnapshotList
		node.ChildSnapshotList = nil
		line = append(line, node)
	}
	return line
}

func (m *machine) publishSnapshots(ctx *simulator.Context, line []types.VirtualMachineSnapshotTree) {
	changes := []types.PropertyChange{{Name: "config.hardware.device", Val: m.currentDevices()}}
	if len(line) == 0 {
		changes = append(changes, types.PropertyChange{Name: "snapshot", Val: nil}, types.PropertyChange{Name: "rootSnapshot", Val: nil})
	} else {
		var tree []types.VirtualMachineSnapshotTree
		for i := len(line) - 1; i >= 0; i-- {
			node := line[i]
			node.ChildSnapshotList = tree
			tree = []types.VirtualMachineSnapshotTree{node}
		}
		current := line[len(line)-1].Snapshot
		if m.obj.Snapshot == nil {
			m.obj.Snapshot = &types.VirtualMachineSnapshotInfo{}
		}
		changes = append(changes,
			types.PropertyChange{Name: "snapshot.rootSnapshotList", Val: tree},
			types.PropertyChange{Name: "snapshot.currentSnapshot", Val: current},
			types.PropertyChange{Name: "rootSnapshot", Val: []types.ManagedObjectReference{line[0].Snapshot}})
	}
	ctx.Update(m.obj, changes)
	m.storage()
}

// currentDevices rebuilds the disks from what they are now, beside the rest.
func (m *machine) currentDevices() []types.BaseVirtualDevice {
	var list []types.BaseVirtualDevice
	for _, dev := range m.obj.Config.Hardware.Device {
		for _, d := range m.disks {
			if d.key == dev.GetVirtualDevice().Key {
				dev = m.diskDevice(d)
			}
		}
		list = append(list, dev)
	}
	return list
}

// change runs f with the object and the record locked, then keeps the result.
func (m *machine) change(f func(*simulator.Context)) {
	ctx := m.server.context()
	ctx.WithLock(m.obj, func() {
		m.mu.Lock()
		defer m.mu.Unlock()
		f(ctx)
	})
	m.server.remember(m)
}
