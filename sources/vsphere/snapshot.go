package vsphere

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"

	vimfault "github.com/vmware/govmomi/fault"
	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/types"

	"landfall/engine/boundary"
	"landfall/engine/fault"
	"landfall/engine/machine"
	"landfall/sources"
)

// Snapshots gives the VM's snapshot tree, with each disk's change id as of each snapshot.
func (s *Source) Snapshots(ctx context.Context, ref machine.Ref) ([]sources.Snapshot, error) {
	_, all, err := s.snapshots(ctx, ref)
	return all, s.fail(err, "look at the snapshots of VM %s", ref)
}

func (s *Source) snapshots(ctx context.Context, ref machine.Ref) (types.ManagedObjectReference, []sources.Snapshot, error) {
	for again := 0; ; again++ {
		vm, b, err := s.look(ctx, ref, "snapshot")
		if err = cmp.Or(err, b.missing("snapshot")); err != nil {
			return vm, nil, err
		}
		var all []sources.Snapshot
		flatten(get[types.VirtualMachineSnapshotInfo](b, "snapshot").RootSnapshotList, "", 1, &all)
		err = s.changeIDs(ctx, all)
		if vimfault.Is(err, &types.ManagedObjectNotFound{}) && again < 3 {
			continue // one was removed between the two looks
		}
		return vm, all, err
	}
}

// flatten puts parents before children.
func flatten(list []types.VirtualMachineSnapshotTree, parent string, depth int, all *[]sources.Snapshot) {
	if depth > deepest {
		return
	}
	for _, n := range list {
		*all = append(*all, sources.Snapshot{ID: n.Snapshot.Value, Parent: parent, Name: shown(n.Name), Description: n.Description, Taken: n.CreateTime, Depth: depth})
		flatten(n.ChildSnapshotList, n.Snapshot.Value, depth+1, all)
	}
}

func (s *Source) changeIDs(ctx context.Context, all []sources.Snapshot) error {
	refs := make([]types.ManagedObjectReference, len(all))
	for i := range all {
		refs[i] = snapshotRef(all[i].ID)
	}
	content, err := s.retrieve(ctx, refs, []string{"config.hardware.device"})
	if err != nil {
		return err
	}
	for _, c := range content {
		b := bagOf(c)
		if err := b.missing("config.hardware.device"); err != nil {
			return err
		}
		i := slices.IndexFunc(all, func(s sources.Snapshot) bool { return s.ID == c.Obj.Value })
		if i < 0 {
			continue
		}
		all[i].ChangeIDs = map[int32]string{}
		for _, d := range disks(object.VirtualDeviceList(get[types.ArrayOfVirtualDevice](b, "config.hardware.device").VirtualDevice)) {
			all[i].ChangeIDs[d.Key] = trackedID(d.ChangeID)
		}
	}
	return nil
}

// trackedID is a change id that can be asked about; "*" stands for none.
func trackedID(id string) string {
	if id == "*" {
		return ""
	}
	return id
}

func snapshotRef(id string) types.ManagedObjectReference {
	return types.ManagedObjectReference{Type: "VirtualMachineSnapshot", Value: id}
}

// TakeSnapshot takes a snapshot, unless it is there already.
func (s *Source) TakeSnapshot(ctx context.Context, ref machine.Ref, wanted sources.SnapshotSpec) (sources.Snapshot, error) {
	got, err := s.takeSnapshot(ctx, ref, wanted)
	if wanted.Quiesce && refusesRest(err) {
		e, _ := classify(err, s.host)
		err = fault.Hint(fault.New(fault.Blocked, fault.QuiesceFailed, e.Err), "take it without bringing the guest to rest: the copy is then as after a power cut")
	}
	return got, actFailed(err, s.host, "take snapshot %q of VM %s", wanted.Name, ref)
}

func (s *Source) takeSnapshot(ctx context.Context, ref machine.Ref, wanted sources.SnapshotSpec) (sources.Snapshot, error) {
	vm, got, found, err := s.named(ctx, ref, wanted)
	if err != nil || found {
		return got, err
	}
	tasks, err := s.taking(ctx, ref)
	for _, t := range tasks { // whether it succeeds is seen by what is there then
		if err := s.wait(ctx, t); ctx.Err() != nil {
			return got, err
		}
	}
	if len(tasks) > 0 {
		vm, got, found, err = s.named(ctx, ref, wanted)
	}
	if err != nil || found {
		return got, err
	}
	boundary.Cross(boundary.SourceAct, "take snapshot")
	res, err := methods.CreateSnapshot_Task(ctx, s.vim, &types.CreateSnapshot_Task{
		This: vm, Name: wanted.Name, Description: wanted.Description, Memory: false, Quiesce: wanted.Quiesce,
	})
	boundary.Cross(boundary.SourceAct, "take snapshot")
	if err != nil {
		return got, err
	}
	if err := s.wait(ctx, res.Returnval); err != nil && !errors.Is(err, errForgotten) {
		return got, err
	}
	_, got, found, err = s.named(ctx, ref, wanted)
	if err == nil && !found {
		err = fault.Newf(fault.Transient, fault.Conflict, "the endpoint calls it done and does not show the snapshot")
	}
	return got, err
}

// named finds the wanted snapshot. One of its name that says something else of itself is another's.
func (s *Source) named(ctx context.Context, ref machine.Ref, wanted sources.SnapshotSpec) (types.ManagedObjectReference, sources.Snapshot, bool, error) {
	vm, all, err := s.snapshots(ctx, ref)
	if err != nil {
		return vm, sources.Snapshot{}, false, err
	}
	taken := false
	for _, n := range all {
		if n.Name == wanted.Name && n.Description == wanted.Description {
			return vm, n, true, nil
		}
		taken = taken || n.Name == wanted.Name
	}
	if taken {
		return vm, sources.Snapshot{}, false, fault.Hint(fault.Newf(fault.Blocked, fault.NotOurs, "the VM has a snapshot of this name that was not taken for this migration"),
			"look at it in the host's client, and rename or remove it there")
	}
	return vm, sources.Snapshot{}, false, nil
}

// refusesRest tells whether a quiesced snapshot failed for the guest's sake. With VSS disabled Windows gives a general
// fault, so that those count too: without quiescing they come again, should it not have been that.
func refusesRest(err error) bool {
	_, _, f := soapFault(err)
	switch f.(type) {
	case *types.ApplicationQuiesceFault, *types.FilesystemQuiesceFault, *types.ToolsUnavailable, *types.GenericVmConfigFault, *types.SnapshotFault, *types.VmConfigFault:
		return true
	}
	return false
}

// Settled looks for snapshots that are being taken.
func (s *Source) Settled(ctx context.Context, ref machine.Ref) error {
	tasks, err := s.taking(ctx, ref)
	if err == nil && len(tasks) > 0 {
		err = fault.Newf(fault.Transient, InProgress, "a snapshot is being taken (%s)", tasks[0].Value)
	}
	return s.fail(err, "look what is done to VM %s", ref)
}

// taking gives the VM's tasks that take a snapshot and have not ended.
func (s *Source) taking(ctx context.Context, ref machine.Ref) (tasks []types.ManagedObjectReference, err error) {
	_, b, err := s.look(ctx, ref, "recentTask")
	if err = cmp.Or(err, b.missing("recentTask")); err != nil {
		return nil, err
	}
	infos := func(of ...types.ManagedObjectReference) ([]types.ObjectContent, error) {
		return s.retrieve(ctx, of, []string{"info.state", "info.descriptionId"})
	}
	recent := get[types.ArrayOfManagedObjectReference](b, "recentTask").ManagedObjectReference
	content, err := infos(recent...)
	if vimfault.Is(err, &types.ManagedObjectNotFound{}) { // one is forgotten by now, which fails the others too
		content, err = nil, nil
		for _, t := range recent {
			c, lerr := infos(t)
			if lerr != nil && !vimfault.Is(lerr, &types.ManagedObjectNotFound{}) {
				return nil, lerr
			}
			content = append(content, c...)
		}
	}
	for _, c := range content {
		b := bagOf(c)
		state := get[types.TaskInfoState](b, "info.state")
		ended := state == types.TaskInfoStateSuccess || state == types.TaskInfoStateError
		if !ended && strings.HasPrefix(get[string](b, "info.descriptionId"), "VirtualMachine.createSnapshot") {
			tasks = append(tasks, c.Obj)
		}
	}
	return tasks, err
}

// RemoveSnapshot removes the snapshot, merges its deltas and looks that both are gone.
func (s *Source) RemoveSnapshot(ctx context.Context, ref machine.Ref, snapshot sources.Snapshot) error {
	return actFailed(s.removeSnapshot(ctx, ref, snapshot), s.host, "remove snapshot %q of VM %s", snapshot.Name, ref)
}

func (s *Source) removeSnapshot(ctx context.Context, ref machine.Ref, snapshot sources.Snapshot) error {
	there, err := s.has(ctx, ref, snapshot)
	if err != nil {
		return err
	}
	if there {
		yes := true
		boundary.Cross(boundary.SourceAct, "remove snapshot")
		res, err := methods.RemoveSnapshot_Task(ctx, s.vim, &types.RemoveSnapshot_Task{This: snapshotRef(snapshot.ID), RemoveChildren: false, Consolidate: &yes})
		boundary.Cross(boundary.SourceAct, "remove snapshot")
		if err == nil {
			err = s.wait(ctx, res.Returnval)
		}
		// What counts is whether it is there: a task may be forgotten, and another may have been faster.
		if err != nil && !errors.Is(err, errForgotten) && !vimfault.Is(err, &types.ManagedObjectNotFound{}) {
			return err
		}
		if there, lerr := s.has(ctx, ref, snapshot); lerr != nil || there {
			return cmp.Or(lerr, err, fault.Newf(fault.Transient, fault.Conflict, "the endpoint calls it done and still shows the snapshot"))
		}
	}
	return s.consolidate(ctx, ref)
}

// has looks for the snapshot by its id. Should the id be another's by now, nothing may be done to it.
func (s *Source) has(ctx context.Context, ref machine.Ref, snapshot sources.Snapshot) (bool, error) {
	_, all, err := s.snapshots(ctx, ref)
	if err != nil {
		return false, err
	}
	i := slices.IndexFunc(all, func(n sources.Snapshot) bool { return n.ID == snapshot.ID })
	if i < 0 {
		return false, nil
	}
	if all[i].Name != snapshot.Name || all[i].Description != snapshot.Description {
		return false, fault.Hint(fault.Newf(fault.Blocked, fault.NotOurs, "%s is now the snapshot %q", snapshot.ID, all[i].Name), "nothing was removed; look at the VM's snapshots in the host's client")
	}
	return true, nil
}

// consolidate merges deltas that a removed snapshot left behind. Snapshots that are there keep theirs.
func (s *Source) consolidate(ctx context.Context, ref machine.Ref) error {
	for tried := false; ; tried = true {
		vm, b, err := s.look(ctx, ref, "runtime.consolidationNeeded")
		if err = cmp.Or(err, b.missing("runtime.consolidationNeeded")); err != nil || !get[bool](b, "runtime.consolidationNeeded") {
			return err
		}
		if tried {
			return fault.Hint(fault.Newf(fault.Transient, fault.Conflict, "the snapshot is gone and its files are left: the VM's disks need consolidation"),
				"look whether a backup holds a disk of the VM, then consolidate its disks in the host's client")
		}
		boundary.Cross(boundary.SourceAct, "consolidate")
		res, err := methods.ConsolidateVMDisks_Task(ctx, s.vim, &types.ConsolidateVMDisks_Task{This: vm})
		boundary.Cross(boundary.SourceAct, "consolidate")
		if err == nil {
			err = s.wait(ctx, res.Returnval)
		}
		if err != nil && !errors.Is(err, errForgotten) {
			e, _ := classify(err, s.host)
			return fault.Hint(e, "the snapshot is gone and its files are left: consolidate the VM's disks in the host's client")
		}
	}
}
