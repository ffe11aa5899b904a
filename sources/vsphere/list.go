package vsphere

import (
	"context"
	"time"

	"github.com/vmware/govmomi/property"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/types"

	"landfall/engine/fault"
	"landfall/engine/machine"
)

// listed are the leaf properties of a row; whole subtrees would cost ten times as much for thousands of VMs.
var listed = []string{
	"name", "parent", "parentVApp",
	"runtime.powerState", "runtime.connectionState", "runtime.host",
	"summary.config.instanceUuid", "summary.config.template", "summary.config.guestId", "summary.config.guestFullName",
	"summary.config.numCpu", "summary.config.memorySizeMB", "summary.config.numVirtualDisks", "summary.config.managedBy",
	"summary.storage.committed", "summary.storage.uncommitted",
	"guest.toolsRunningStatus", "guest.toolsVersionStatus2",
	"snapshot.currentSnapshot",
}

// List gives every VM in two calls, whatever their number. What cannot be read of a VM is left empty in its row.
func (s *Source) List(ctx context.Context) ([]machine.Summary, error) {
	var rows []machine.Summary
	err := s.session.whole(func() error {
		content, err := s.everything(ctx)
		if err != nil {
			return err
		}
		rows = rowsOf(content)
		return nil
	})
	return rows, s.fail(err, "list the VMs of %s", s.host)
}

// everything reads VMs and what is above them by one view.
func (s *Source) everything(ctx context.Context) ([]types.ObjectContent, error) {
	if s.vim.ServiceContent.ViewManager == nil {
		return nil, fault.Newf(fault.Blocked, fault.Refused, "it has no view manager")
	}
	above := []string{"Folder", "Datacenter", "VirtualApp", "HostSystem"}
	view, err := methods.CreateContainerView(ctx, s.vim, &types.CreateContainerView{
		This: *s.vim.ServiceContent.ViewManager, Container: s.vim.ServiceContent.RootFolder,
		Type: append([]string{"VirtualMachine"}, above...), Recursive: true,
	})
	if err != nil {
		return nil, err
	}
	defer func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
		defer cancel()
		_, _ = methods.DestroyView(ctx, s.vim, &types.DestroyView{This: view.Returnval}) // ends with the session anyway
	}()

	props := []types.PropertySpec{{Type: "VirtualMachine", PathSet: listed}}
	for _, kind := range above {
		paths := []string{"name", "parent"}
		if kind == "VirtualApp" {
			paths = append(paths, "parentFolder", "parentVApp")
		}
		props = append(props, types.PropertySpec{Type: kind, PathSet: paths})
	}
	skip := true
	res, err := property.DefaultCollector(s.vim).RetrieveProperties(ctx, types.RetrieveProperties{SpecSet: []types.PropertyFilterSpec{{
		PropSet: props,
		ObjectSet: []types.ObjectSpec{
			{Obj: s.vim.ServiceContent.RootFolder},
			{Obj: view.Returnval, Skip: &skip, SelectSet: []types.BaseSelectionSpec{&types.TraversalSpec{Type: "ContainerView", Path: "view"}}},
		},
	}}})
	if err != nil {
		return nil, err
	}
	return res.Returnval, nil
}

func rowsOf(content []types.ObjectContent) []machine.Summary {
	above := tree{}
	vms := 0
	for _, o := range content {
		if o.Obj.Type == "VirtualMachine" {
			vms++
			continue
		}
		above.add(o.Obj, bagOf(o))
	}
	rows := make([]machine.Summary, 0, vms)
	paths := map[types.ManagedObjectReference]string{}
	for _, o := range content {
		if o.Obj.Type != "VirtualMachine" {
			continue
		}
		b := bagOf(o)
		row := summary(o.Obj, b)
		if parent, ok := parentOf(b); ok {
			if _, ok := paths[parent]; !ok {
				paths[parent] = above.path(&parent)
			}
			row.Folder = paths[parent]
		}
		row.Host = above[get[types.ManagedObjectReference](b, "runtime.host")].name
		rows = append(rows, row)
	}
	return rows
}

// parentOf is the folder of a VM, or the vApp that it is in.
func parentOf(b bag) (types.ManagedObjectReference, bool) {
	if ref, ok := b["parent"].(types.ManagedObjectReference); ok {
		return ref, true
	}
	ref, ok := b["parentVApp"].(types.ManagedObjectReference)
	return ref, ok
}

// summary fills the row of a VM from the properties of listed, whichever are there.
func summary(ref types.ManagedObjectReference, b bag) machine.Summary {
	r := machine.Summary{
		Ref:        machine.Ref{MoRef: ref.Value, InstanceUUID: get[string](b, "summary.config.instanceUuid")},
		Name:       shown(get[string](b, "name")),
		Power:      power(get[types.VirtualMachinePowerState](b, "runtime.powerState")),
		GuestID:    get[string](b, "summary.config.guestId"),
		Guest:      get[string](b, "summary.config.guestFullName"),
		CPUs:       get[int32](b, "summary.config.numCpu"),
		MemoryMiB:  int64(get[int32](b, "summary.config.memorySizeMB")),
		Disks:      get[int32](b, "summary.config.numVirtualDisks"),
		Committed:  get[int64](b, "summary.storage.committed"),
		Tools:      tools(get[string](b, "guest.toolsRunningStatus"), get[string](b, "guest.toolsVersionStatus2")),
		Template:   get[bool](b, "summary.config.template"),
		Connection: string(get[types.VirtualMachineConnectionState](b, "runtime.connectionState")),
		Agent:      agent(get[types.ManagedByInfo](b, "summary.config.managedBy")),
	}
	r.Provision = r.Committed + get[int64](b, "summary.storage.uncommitted")
	_, r.Snapshots = b["snapshot.currentSnapshot"].(types.ManagedObjectReference)
	return r
}

func power(p types.VirtualMachinePowerState) machine.Power {
	switch p {
	case types.VirtualMachinePowerStatePoweredOn:
		return machine.On
	case types.VirtualMachinePowerStatePoweredOff:
		return machine.Off
	case types.VirtualMachinePowerStateSuspended:
		return machine.Suspended
	}
	return machine.PowerUnknown
}

// tools says what the guest's tools do. Who installed them does not matter: open-vm-tools that runs is fine.
func tools(running, version string) machine.Tools {
	switch types.VirtualMachineToolsRunningStatus(running) {
	case types.VirtualMachineToolsRunningStatusGuestToolsRunning, types.VirtualMachineToolsRunningStatusGuestToolsExecutingScripts:
		return machine.ToolsRunning
	}
	switch {
	case version == string(types.VirtualMachineToolsVersionStatusGuestToolsNotInstalled):
		return machine.ToolsMissing
	case running == string(types.VirtualMachineToolsRunningStatusGuestToolsNotRunning):
		return machine.ToolsNotRunning
	}
	return machine.ToolsUnknown
}

// agent tells whether a cluster runs the VM for itself (vCLS and other agents of the agent manager).
func agent(m types.ManagedByInfo) bool {
	return m.ExtensionKey == "com.vmware.vim.eam" || m.Type == "cluster-agent"
}
