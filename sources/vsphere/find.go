package vsphere

import (
	"context"
	"strings"

	vimfault "github.com/vmware/govmomi/fault"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/types"

	"landfall/engine/fault"
	"landfall/engine/machine"
)

// look finds the VM and reads the given properties of it now, as far as they can be read. The identity is checked in
// the same call: a MoRef that was given to another VM is NotFound, never that VM.
func (s *Source) look(ctx context.Context, ref machine.Ref, paths ...string) (types.ManagedObjectReference, bag, error) {
	vm := types.ManagedObjectReference{Type: "VirtualMachine", Value: ref.MoRef}
	if ref.MoRef == "" {
		found, err := s.byUUID(ctx, ref.InstanceUUID)
		if err != nil {
			return vm, nil, err
		}
		vm = found
	}
	content, err := s.retrieve(ctx, []types.ManagedObjectReference{vm}, append([]string{"summary.config.instanceUuid"}, paths...))
	if vimfault.Is(err, &types.ManagedObjectNotFound{}) || err == nil && len(content) == 0 {
		return vm, nil, s.gone(ctx, ref)
	}
	if err != nil {
		return vm, nil, err
	}
	b := bagOf(content[0])
	if uuid := get[string](b, "summary.config.instanceUuid"); ref.InstanceUUID != "" && uuid != "" && !strings.EqualFold(uuid, ref.InstanceUUID) {
		return vm, nil, s.gone(ctx, ref)
	}
	return vm, b, nil
}

func (s *Source) byUUID(ctx context.Context, uuid string) (types.ManagedObjectReference, error) {
	var none types.ManagedObjectReference
	index := s.vim.ServiceContent.SearchIndex
	if uuid == "" || index == nil {
		return none, fault.Newf(fault.Blocked, fault.NotFound, "no VM is named: neither its id nor its instance UUID is known")
	}
	instance := true
	res, err := methods.FindByUuid(ctx, s.vim, &types.FindByUuid{This: *index, Uuid: uuid, VmSearch: true, InstanceUuid: &instance})
	if err != nil {
		return none, err
	}
	if res.Returnval == nil {
		return none, fault.Hint(fault.Newf(fault.Blocked, fault.NotFound, "no VM with instance UUID %s on %s", uuid, s.host),
			"look whether it was removed, or moved to another host")
	}
	return *res.Returnval, nil
}

// gone says that the VM is not there any more, and where a VM of its instance UUID is now, if one is.
func (s *Source) gone(ctx context.Context, ref machine.Ref) error {
	err := fault.Newf(fault.Blocked, fault.NotFound, "no VM %s on %s", ref, s.host)
	if ref.InstanceUUID != "" && ref.MoRef != "" {
		err = fault.Newf(fault.Blocked, fault.NotFound, "no VM %s with instance UUID %s on %s", ref.MoRef, ref.InstanceUUID, s.host)
		if now, ferr := s.byUUID(ctx, ref.InstanceUUID); ferr == nil {
			return fault.Hint(err, "the VM is now registered as %s: start a new migration of that one", now.Value)
		}
	}
	return fault.Hint(err, "look whether it was removed, or registered anew under another id")
}
