package vsphere

import (
	"context"
	"errors"

	vimfault "github.com/vmware/govmomi/fault"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/types"

	"landfall/engine/boundary"
	"landfall/engine/fault"
	"landfall/engine/machine"
)

// Power looks the power state up now.
func (s *Source) Power(ctx context.Context, ref machine.Ref) (machine.Power, error) {
	_, p, err := s.state(ctx, ref)
	if err != nil {
		return machine.PowerUnknown, s.fail(err, "look at the power state of VM %s", ref)
	}
	return p, nil
}

// state finds the VM and its power state. A state that could not be read is an error, never "off".
func (s *Source) state(ctx context.Context, ref machine.Ref) (types.ManagedObjectReference, machine.Power, error) {
	vm, b, err := s.look(ctx, ref, "runtime.powerState", "runtime.connectionState")
	if err != nil {
		return vm, machine.PowerUnknown, err
	}
	p := power(get[types.VirtualMachinePowerState](b, "runtime.powerState"))
	if err := b.missing("runtime.powerState"); err != nil {
		return vm, p, err
	}
	if p == machine.PowerUnknown {
		return vm, p, errors.New("the endpoint does not tell it")
	}
	if c := get[types.VirtualMachineConnectionState](b, "runtime.connectionState"); c == types.VirtualMachineConnectionStateDisconnected || c == types.VirtualMachineConnectionStateInaccessible {
		// What is told of such a VM is what was true when it was last seen.
		return vm, machine.PowerUnknown, fault.Newf(fault.Transient, fault.Unreachable, "the VM is %s", c)
	}
	return vm, p, nil
}

// Shutdown asks the guest to shut down.
func (s *Source) Shutdown(ctx context.Context, ref machine.Ref) error {
	vm, p, err := s.state(ctx, ref)
	if err == nil && p != machine.Off {
		boundary.Cross(boundary.SourceAct, "shutdown")
		_, err = methods.ShutdownGuest(ctx, s.vim, &types.ShutdownGuest{This: vm})
		boundary.Cross(boundary.SourceAct, "shutdown")
		if already(err, types.VirtualMachinePowerStatePoweredOff) {
			err = nil
		}
	}
	return actFailed(err, s.host, "shut down the guest of VM %s", ref)
}

// PowerOff pulls the plug.
func (s *Source) PowerOff(ctx context.Context, ref machine.Ref) error {
	err := s.turn(ctx, ref, machine.Off, types.VirtualMachinePowerStatePoweredOff, "power off", func(vm types.ManagedObjectReference) (types.ManagedObjectReference, error) {
		res, err := methods.PowerOffVM_Task(ctx, s.vim, &types.PowerOffVM_Task{This: vm})
		if err != nil {
			return vm, err
		}
		return res.Returnval, nil
	})
	return actFailed(err, s.host, "power off VM %s", ref)
}

// PowerOn starts the VM.
func (s *Source) PowerOn(ctx context.Context, ref machine.Ref) error {
	err := s.turn(ctx, ref, machine.On, types.VirtualMachinePowerStatePoweredOn, "power on", func(vm types.ManagedObjectReference) (types.ManagedObjectReference, error) {
		res, err := methods.PowerOnVM_Task(ctx, s.vim, &types.PowerOnVM_Task{This: vm})
		if err != nil {
			return vm, err
		}
		return res.Returnval, nil
	})
	return actFailed(err, s.host, "power on VM %s", ref)
}

// turn brings the VM into a power state and waits until the endpoint says so. To be there already is success, whether
// it is seen before the act or told by it.
func (s *Source) turn(ctx context.Context, ref machine.Ref, want machine.Power, told types.VirtualMachinePowerState, name string,
	start func(types.ManagedObjectReference) (types.ManagedObjectReference, error)) error {
	vm, p, err := s.state(ctx, ref)
	if err != nil || p == want {
		return err
	}
	boundary.Cross(boundary.SourceAct, name)
	task, err := start(vm)
	boundary.Cross(boundary.SourceAct, name)
	if err == nil {
		err = s.wait(ctx, task)
	}
	switch {
	case already(err, told):
		return nil
	case errors.Is(err, errForgotten):
		if _, p, lerr := s.state(ctx, ref); lerr == nil && p == want {
			return nil
		}
	}
	return err
}

// already tells whether an act was refused because its end is reached.
func already(err error, want types.VirtualMachinePowerState) bool {
	var f *types.InvalidPowerState
	_, ok := vimfault.As(err, &f)
	return ok && f != nil && f.ExistingState == want
}
