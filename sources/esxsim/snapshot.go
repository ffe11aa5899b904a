package esxsim

import (
	"fmt"
	"slices"
	"strconv"
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
		func() (types.AnyType, types.BaseMethodFault) {
			return w.m.takeSnapshot(req.Name, req.Description, req.Quiesce)
		})}}
}

// CreateSnapshotExTask does the same.
func (w *wrapped) CreateSnapshotExTask(ctx *simulator.Context, req *types.CreateSnapshotEx_Task) soap.HasFault {
	return &methods.CreateSnapshotEx_TaskBody{Res: &types.CreateSnapshotEx_TaskResponse{Returnval: w.act(ctx, "CreateSnapshotEx_Task", "createSnapshot",
		func() (types.AnyType, types.BaseMethodFault) {
			return w.m.takeSnapshot(req.Name, req.Description, req.QuiesceSpec != nil)
		})}}
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
			return nil, v.m.removeSnapshot(req.This, req.RemoveChildren, req.Consolidate == nil || *req.Consolidate)
		})}}
}

// ConsolidateVMDisksTask merges the deltas that snapshots left behind.
func (w *wrapped) ConsolidateVMDisksTask(ctx *simulator.Context, _ *types.ConsolidateVMDisks_Task) soap.HasFault {
	return &methods.ConsolidateVMDisks_TaskBody{Res: &types.ConsolidateVMDisks_TaskResponse{Returnval: w.act(ctx, "ConsolidateVMDisks_Task", "consolidateDisks",
		func() (types.AnyType, types.BaseMethodFault) { return nil, w.m.consolidate() })}}
}

// Snapshots form one line: there is no way back, so that no tree can grow.
// Each disk has one delta for each snapshot, beside orphans.

// layerOf is the delta that the i-th snapshot began; the number of layers
// where it began none, of an independent disk or one that came later.
func (d *disk) layerOf(i int) int {
	if i -= d.late; i < 0 {
		return len(d.layers)
	}
	for k, l := range d.layers {
		if !l.delta() || l.Orphan {
			continue
		}
		if i == 0 {
			return k
		}
		i--
	}
	return len(d.layers)
}

func (m *machine) takeSnapshot(name, description string, quiesce bool) (types.AnyType, types.BaseMethodFault) {
	var ref types.ManagedObjectReference
	var fault types.BaseMethodFault
	m.change(func(ctx *simulator.Context) {
		if quiesce && m.quiesce && m.power == On {
			fault = &types.ApplicationQuiesceFault{}
			return
		}
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
	most := 32
	m.stun(ctx)
	if m.tracking {
		most = 28
	}
	if len(line) >= most {
		return types.ManagedObjectReference{}, &types.TooManySnapshotLevels{}
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
		d.freeze()
		if err := m.writeLayers(d); err != nil {
			return o.Self, &types.FileFault{File: err.Error()}
		}
	}
	m.freezeDevices(&o.Config, len(line))
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
		m.freezeDevices(&o.Config, i)
		ctx.Map.Put(o)
		line = append(line, types.VirtualMachineSnapshotTree{Snapshot: o.Self, Vm: m.ref, Name: s.Name, Description: s.Description,
			Id: int32(i + 1), CreateTime: s.taken(), State: types.VirtualMachinePowerStatePoweredOff, ReplaySupported: types.NewBool(false)})
	}
	if len(line) > 0 {
		m.publishSnapshots(ctx, line)
	}
}

// freezeDevices describes the disks as the i-th snapshot has them.
func (m *machine) freezeDevices(c *types.VirtualMachineConfigInfo, i int) {
	for k, dev := range c.Hardware.Device {
		for _, d := range m.disks {
			if d.key != dev.GetVirtualDevice().Key {
				continue
			}
			then, at := m.diskDevice(d), d.layerOf(i)
			b := m.backing(d, min(at-1, d.top))
			b.ChangeId = ""
			if at < len(d.layers) && m.tracking {
				b.ChangeId = d.layers[at].ChangeID
			}
			then.Backing = b
			c.Hardware.Device[k] = then
		}
	}
}

func (s Snapshot) taken() time.Time {
	if s.Taken.IsZero() {
		return time.Now()
	}
	return s.Taken
}

func (m *machine) removeSnapshot(ref types.ManagedObjectReference, children, consolidate bool) types.BaseMethodFault {
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
			m.dropSnapshot(ctx, line, i, consolidate)
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
				m.dropSnapshot(ctx, line, i, true)
				line = slices.Delete(line, i, i+1)
			}
		}
		m.publishSnapshots(ctx, line)
	})
	return nil
}

// dropSnapshot merges the delta that was begun by snapshot i, or leaves it as
// an orphan.
func (m *machine) dropSnapshot(ctx *simulator.Context, line []types.VirtualMachineSnapshotTree, i int, merge bool) {
	ref := line[i].Snapshot
	if m.keepDisk > 0 {
		m.keepDisk--
		merge = false
	}
	for _, d := range m.disks {
		k := d.layerOf(i)
		if i < d.late {
			d.late--
		}
		if k >= len(d.layers) {
			continue // it took no part
		}
		if !merge {
			d.layers[k].Orphan = true
			continue
		}
		if err := d.merge(k); err != nil {
			fmt.Fprintf(m.server.cfg.Log, "merge %s: %v\n", d.spec.File, err)
		}
		d.epoch++
		if err := m.writeLayers(d); err != nil {
			fmt.Fprintf(m.server.cfg.Log, "merge %s: %v\n", d.spec.File, err)
		}
	}
	ctx.Map.Remove(ctx, ref)
	m.server.unwrap(ctx, ref)
}

// orphans says whether a delta is left without its snapshot.
func (m *machine) orphans() bool {
	for _, d := range m.disks {
		if slices.ContainsFunc(d.layers, func(l layer) bool { return l.Orphan }) {
			return true
		}
	}
	return false
}

func (m *machine) consolidate() types.BaseMethodFault {
	var fault types.BaseMethodFault
	m.change(func(ctx *simulator.Context) {
		for _, d := range m.disks {
			for k := len(d.layers) - 1; k > 0; k-- {
				if !d.layers[k].Orphan {
					continue
				}
				err := d.merge(k)
				if err == nil {
					err = m.writeLayers(d)
				}
				if err != nil {
					fault = &types.FileFault{File: d.path(d.layers[0].Descriptor).String()}
				}
				d.epoch++
			}
		}
		m.publishSnapshots(ctx, m.snapshotLine())
	})
	return fault
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
	needed := m.orphans()
	changes = append(changes, types.PropertyChange{Name: "runtime.consolidationNeeded", Val: needed}, types.PropertyChange{Name: "summary.runtime.consolidationNeeded", Val: needed})
	ctx.Update(m.obj, changes)
	m.storage()
}

// canTrack is true from hardware version 7 on.
func (m *machine) canTrack() bool {
	n, err := strconv.Atoi(strings.TrimPrefix(m.spec.HardwareVersion, "vmx-"))
	return err == nil && n >= 7
}

// stun is when a wanted change of tracking becomes active.
func (m *machine) stun(ctx *simulator.Context) {
	want := m.obj.Config.ChangeTrackingEnabled != nil && *m.obj.Config.ChangeTrackingEnabled
	if want == m.tracking {
		return
	}
	m.tracking = want
	for _, d := range m.disks {
		if !want {
			d.lose()
		}
		if err := m.writeLayers(d); err != nil {
			fmt.Fprintf(m.server.cfg.Log, "change tracking of %q: %v\n", m.name, err)
		}
	}
	ctx.Update(m.obj, []types.PropertyChange{{Name: "config.hardware.device", Val: m.currentDevices()}})
}

func (m *machine) loseTracking(ctx *simulator.Context) {
	for _, d := range m.disks {
		d.lose()
	}
	for i, n := range m.snapshotLine() {
		if o, ok := m.server.vim.Get(n.Snapshot).(*simulator.VirtualMachineSnapshot); ok {
			ctx.WithLock(o, func() { m.freezeDevices(&o.Config, i) })
		}
	}
	ctx.Update(m.obj, []types.PropertyChange{{Name: "config.hardware.device", Val: m.currentDevices()}})
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
