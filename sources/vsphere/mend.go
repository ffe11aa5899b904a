package vsphere

import (
	"context"
	"errors"

	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/types"

	"landfall/engine/boundary"
	"landfall/engine/fault"
	"landfall/engine/machine"
	"landfall/sources"
)

var _ sources.Mender = (*Source)(nil)

// Consolidate merges delta files that no snapshot needs any more.
func (s *Source) Consolidate(ctx context.Context, ref machine.Ref) error {
	needed := func() (types.ManagedObjectReference, bool, error) {
		vm, b, err := s.look(ctx, ref, "runtime.consolidationNeeded")
		return vm, get[bool](b, "runtime.consolidationNeeded"), err
	}
	vm, need, err := needed()
	if err == nil && need {
		boundary.Cross(boundary.SourceAct, "consolidate")
		var res *types.ConsolidateVMDisks_TaskResponse
		res, err = methods.ConsolidateVMDisks_Task(ctx, s.vim, &types.ConsolidateVMDisks_Task{This: vm})
		boundary.Cross(boundary.SourceAct, "consolidate")
		if err == nil {
			err = s.wait(ctx, res.Returnval)
		}
		if errors.Is(err, errForgotten) {
			if _, need, lerr := needed(); lerr == nil && !need {
				err = nil
			}
		}
	}
	return actFailed(err, s.host, "consolidate the disks of VM %s", ref)
}

// RemoveMedia takes out of the CD drives what is in them. A drive is left, connected to nothing.
func (s *Source) RemoveMedia(ctx context.Context, ref machine.Ref) error {
	vm, b, err := s.look(ctx, ref, "config.hardware.device")
	if err != nil {
		return actFailed(err, s.host, "look at the CD drives of VM %s", ref)
	}
	var edits []types.BaseVirtualDeviceConfigSpec
	for _, d := range get[types.ArrayOfVirtualDevice](b, "config.hardware.device").VirtualDevice {
		cd, ok := d.(*types.VirtualCdrom)
		if !ok || cd == nil || detail(cd.Backing) == "" {
			continue
		}
		empty := *cd
		empty.Backing = &types.VirtualCdromRemotePassthroughBackingInfo{
			VirtualDeviceRemoteDeviceBackingInfo: types.VirtualDeviceRemoteDeviceBackingInfo{UseAutoDetect: types.NewBool(false)}}
		empty.Connectable = &types.VirtualDeviceConnectInfo{AllowGuestControl: true}
		edits = append(edits, &types.VirtualDeviceConfigSpec{Operation: types.VirtualDeviceConfigSpecOperationEdit, Device: &empty})
	}
	if len(edits) == 0 {
		return nil
	}
	boundary.Cross(boundary.SourceAct, "remove media")
	res, err := methods.ReconfigVM_Task(ctx, s.vim, &types.ReconfigVM_Task{This: vm, Spec: types.VirtualMachineConfigSpec{DeviceChange: edits}})
	boundary.Cross(boundary.SourceAct, "remove media")
	if err == nil {
		err = s.wait(ctx, res.Returnval)
	}
	err = actFailed(err, s.host, "take out what is in the CD drives of VM %s", ref)
	if fault.ClassOf(err) == fault.Blocked && fault.HintOf(err) == "" {
		return fault.Hint(err, "a guest that has locked its CD drive must let it go first: eject it in the guest")
	}
	return err
}
