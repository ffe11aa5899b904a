package vsphere

import (
	"cmp"
	"context"
	"errors"

	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/types"

	"landfall/engine/boundary"
	"landfall/engine/fault"
	"landfall/engine/machine"
	"landfall/sources"
)

var _ sources.Live = (*Source)(nil)

// SetChangeTracking switches change tracking of the VM. With snapshots present the endpoint would take the setting and
// track nothing for their chains, so that it is refused before it is asked for.
func (s *Source) SetChangeTracking(ctx context.Context, ref machine.Ref, on bool) error {
	act := "switch on change tracking"
	if !on {
		act = "switch off change tracking"
	}
	return actFailed(s.setTracking(ctx, ref, on), s.host, "%s of VM %s", act, ref)
}

func (s *Source) setTracking(ctx context.Context, ref machine.Ref, on bool) error {
	vm, b, err := s.look(ctx, ref, "config.changeTrackingEnabled", "config.version", "capability.changeTrackingSupported", "snapshot")
	if err = cmp.Or(err, b.missing("config.changeTrackingEnabled"), b.missing("snapshot")); err != nil {
		return err
	}
	if get[bool](b, "config.changeTrackingEnabled") == on {
		return nil
	}
	if can, told := b["capability.changeTrackingSupported"].(bool); on && told && !can {
		return fault.Hint(fault.Newf(fault.Blocked, fault.Unsupported, "the VM's hardware (%s) knows no change tracking", get[string](b, "config.version")),
			"migrate it cold, or upgrade its hardware version to 7 or above")
	}
	if _, has := b["snapshot"].(types.VirtualMachineSnapshotInfo); has {
		return fault.Hint(fault.Newf(fault.Blocked, fault.Refused, "the VM has snapshots"),
			"remove them first, or migrate the VM cold: changes are tracked only from a plain disk on")
	}
	boundary.Cross(boundary.SourceAct, "change tracking")
	res, err := methods.ReconfigVM_Task(ctx, s.vim, &types.ReconfigVM_Task{This: vm, Spec: types.VirtualMachineConfigSpec{ChangeTrackingEnabled: &on}})
	boundary.Cross(boundary.SourceAct, "change tracking")
	if err != nil {
		return err
	}
	err = s.wait(ctx, res.Returnval)
	if errors.Is(err, errForgotten) {
		if _, b, lerr := s.look(ctx, ref, "config.changeTrackingEnabled"); lerr == nil && get[bool](b, "config.changeTrackingEnabled") == on {
			return nil
		}
	}
	return err
}
