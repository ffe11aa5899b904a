package esxsim

import (
	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"
)

// wrapped is a VM as the API sees it: the simulator's, with the methods below
// in place of its own. The simulator insists on its object being field 0.
type wrapped struct {
	*simulator.VirtualMachine
	m *machine
}

// handle sees every call first: it counts, applies the fault script, and puts
// our own objects into the caller's session, where the simulator prefers them.
func (s *Server) handle(ctx *simulator.Context, call *simulator.Method) (mo.Reference, types.BaseMethodFault) {
	s.counters.call(call.Name)
	if fault := s.script.soap(s, call, false); fault != nil {
		return nil, fault
	}
	if ctx.Session == nil {
		if call.Name != "Login" && call.Name != "RetrieveServiceContent" {
			return nil, notAuthenticated(call.This)
		}
		return nil, nil
	}
	if s.cfg.FreeLicence && writes(call.Name) {
		return nil, &types.RestrictedVersion{}
	}
	s.wrap(ctx, call.This)
	return nil, nil
}

func (s *Server) wrap(ctx *simulator.Context, ref types.ManagedObjectReference) {
	switch ref.Type {
	case "VirtualMachine", "VirtualMachineSnapshot", "HostDatastoreBrowser":
	default:
		return
	}
	obj, private := s.vim.Get(ref), ctx.Session.Registry
	if obj == nil {
		if private.Get(ref) != nil {
			private.Remove(ctx, ref) // unregistered since
		}
		return
	}
	if private.Get(ref) != nil {
		return
	}
	var w mo.Reference
	switch o := obj.(type) {
	case *simulator.VirtualMachine:
		m := s.machineByRef(ref)
		if m == nil {
			return
		}
		w = &wrapped{o, m}
	case *simulator.VirtualMachineSnapshot:
		m := s.machineByRef(o.Vm)
		if m == nil {
			return
		}
		w = &snapshot{o, m}
	case *simulator.HostDatastoreBrowser:
		w = &browser{o, s}
	default:
		return
	}
	ctx.WithLock(obj, func() { private.Put(w) })
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.private[ref] == nil {
		s.private[ref] = map[*simulator.Registry]bool{}
	}
	s.private[ref][private] = true
}

// unwrap takes a reference out of every session, once the object is gone.
func (s *Server) unwrap(ctx *simulator.Context, ref types.ManagedObjectReference) {
	s.mu.Lock()
	in := s.private[ref]
	delete(s.private, ref)
	s.mu.Unlock()
	for r := range in {
		r.Remove(ctx, ref)
	}
}

// act runs f as the task of a call, unless the script has a fault for it.
func (w *wrapped) act(ctx *simulator.Context, method, name string, f func() (types.AnyType, types.BaseMethodFault)) types.ManagedObjectReference {
	s := w.m.server
	call := &simulator.Method{Name: method, This: w.m.ref}
	forget := s.script.forgets(s, call)
	task := w.m.task(ctx, name, func() (types.AnyType, types.BaseMethodFault) {
		if fault := s.script.soap(s, call, true); fault != nil {
			return nil, fault
		}
		return f()
	})
	if t, ok := ctx.Map.Get(task).(*simulator.Task); ok && forget {
		go func() {
			t.Wait()
			s.vim.Remove(s.context(), task)
		}()
	}
	return task
}

func (w *wrapped) power(want Power) func() (types.AnyType, types.BaseMethodFault) {
	return func() (types.AnyType, types.BaseMethodFault) { return nil, w.m.setPower(want) }
}

// PowerOnVMTask locks the VM's files and starts it.
func (w *wrapped) PowerOnVMTask(ctx *simulator.Context, _ *types.PowerOnVM_Task) soap.HasFault {
	return &methods.PowerOnVM_TaskBody{Res: &types.PowerOnVM_TaskResponse{Returnval: w.act(ctx, "PowerOnVM_Task", "powerOn", w.power(On))}}
}

// PowerOffVMTask stops the VM and frees its files.
func (w *wrapped) PowerOffVMTask(ctx *simulator.Context, _ *types.PowerOffVM_Task) soap.HasFault {
	return &methods.PowerOffVM_TaskBody{Res: &types.PowerOffVM_TaskResponse{Returnval: w.act(ctx, "PowerOffVM_Task", "powerOff", w.power(Off))}}
}

// SuspendVMTask suspends the VM and frees its files.
func (w *wrapped) SuspendVMTask(ctx *simulator.Context, _ *types.SuspendVM_Task) soap.HasFault {
	return &methods.SuspendVM_TaskBody{Res: &types.SuspendVM_TaskResponse{Returnval: w.act(ctx, "SuspendVM_Task", "suspend", w.power(Suspended))}}
}

// ResetVMTask leaves the VM running.
func (w *wrapped) ResetVMTask(ctx *simulator.Context, _ *types.ResetVM_Task) soap.HasFault {
	return &methods.ResetVM_TaskBody{Res: &types.ResetVM_TaskResponse{Returnval: w.act(ctx, "ResetVM_Task", "reset", func() (types.AnyType, types.BaseMethodFault) {
		return nil, w.m.mustRun()
	})}}
}

// ShutdownGuest asks the guest, which answers as its spec says.
func (w *wrapped) ShutdownGuest(*simulator.Context, *types.ShutdownGuest) soap.HasFault {
	if fault := w.m.askGuest(Off); fault != nil {
		return &methods.ShutdownGuestBody{Fault_: simulator.Fault("", fault)}
	}
	return &methods.ShutdownGuestBody{Res: &types.ShutdownGuestResponse{}}
}

// StandbyGuest asks the guest likewise.
func (w *wrapped) StandbyGuest(*simulator.Context, *types.StandbyGuest) soap.HasFault {
	if fault := w.m.askGuest(Suspended); fault != nil {
		return &methods.StandbyGuestBody{Fault_: simulator.Fault("", fault)}
	}
	return &methods.StandbyGuestBody{Res: &types.StandbyGuestResponse{}}
}

// UnregisterVM takes the VM out of the inventory; its files stay.
func (w *wrapped) UnregisterVM(ctx *simulator.Context, req *types.UnregisterVM) soap.HasFault {
	res := w.VirtualMachine.UnregisterVM(ctx, req)
	if res.Fault() == nil {
		w.m.server.forget(ctx, w.m)
	}
	return res
}

// DestroyTask is refused: nothing that talks to this host may delete a VM.
func (w *wrapped) DestroyTask(*simulator.Context, *types.Destroy_Task) soap.HasFault {
	return &methods.Destroy_TaskBody{Fault_: simulator.Fault("", &types.NoPermission{Object: &w.m.ref, PrivilegeId: "VirtualMachine.Inventory.Delete"})}
}

// ReconfigVMTask also keeps what it changed over a restart. Change tracking
// is not switched while there are snapshots.
func (w *wrapped) ReconfigVMTask(ctx *simulator.Context, req *types.ReconfigVM_Task) soap.HasFault {
	if req.Spec.ChangeTrackingEnabled != nil && w.m.obj.Snapshot != nil {
		return &methods.ReconfigVM_TaskBody{Fault_: simulator.Fault("", &types.InvalidState{})}
	}
	if on := req.Spec.ChangeTrackingEnabled; on != nil && *on && !w.m.canTrack() {
		return &methods.ReconfigVM_TaskBody{Fault_: simulator.Fault("", &types.NotSupported{})}
	}
	res := w.VirtualMachine.ReconfigVMTask(ctx, req)
	if body, ok := res.(*methods.ReconfigVM_TaskBody); ok && body.Res != nil {
		if t, ok := ctx.Map.Get(body.Res.Returnval).(*simulator.Task); ok {
			w.m.server.serving.Go(func() {
				t.Wait()
				w.m.reconfigured()
			})
		}
	}
	return res
}

// RenameTask also keeps the name over a restart.
func (w *wrapped) RenameTask(ctx *simulator.Context, req *types.Rename_Task) soap.HasFault {
	return &methods.Rename_TaskBody{Res: &types.Rename_TaskResponse{Returnval: w.act(ctx, "Rename_Task", "rename", func() (types.AnyType, types.BaseMethodFault) {
		return nil, w.m.rename(req.NewName)
	})}}
}

// RefreshStorageInfo looks at the files again.
func (w *wrapped) RefreshStorageInfo(*simulator.Context, *types.RefreshStorageInfo) soap.HasFault {
	w.m.mu.Lock()
	w.m.storage()
	w.m.mu.Unlock()
	return &methods.RefreshStorageInfoBody{Res: &types.RefreshStorageInfoResponse{}}
}
