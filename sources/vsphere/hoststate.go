package vsphere

import (
	"context"

	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"

	"landfall/engine/fault"
)

// hostState is how the host of a VM is.
type hostState struct {
	maintenance bool
	status      string
	why         []string
}

func (s *Source) hostState(ctx context.Context, ref types.ManagedObjectReference) (h hostState, err error) {
	if ref.Value == "" {
		return h, fault.Newf(fault.Blocked, fault.NoPermission, "the account does not see the VM's host")
	}
	content, err := s.retrieve(ctx, []types.ManagedObjectReference{ref},
		[]string{"runtime.inMaintenanceMode", "overallStatus", "configIssue", "triggeredAlarmState"})
	if err != nil {
		return h, err
	}
	if len(content) == 0 {
		return h, fault.Newf(fault.Blocked, fault.NotFound, "the VM's host is gone")
	}
	b := bagOf(content[0])
	if err := b.missing("runtime.inMaintenanceMode"); err != nil {
		return h, err
	}
	h.maintenance = get[bool](b, "runtime.inMaintenanceMode")
	h.status = string(get[types.ManagedEntityStatus](b, "overallStatus"))
	for _, e := range get[types.ArrayOfEvent](b, "configIssue").Event {
		if e != nil && e.GetEvent() != nil && e.GetEvent().FullFormattedMessage != "" {
			h.why = append(h.why, e.GetEvent().FullFormattedMessage)
		}
	}
	for _, a := range get[types.ArrayOfAlarmState](b, "triggeredAlarmState").AlarmState {
		var alarm mo.Alarm
		name := a.Alarm.Value
		if s.one(ctx, a.Alarm, []string{"info"}, &alarm) == nil && alarm.Info.Name != "" {
			name = alarm.Info.Name
		}
		h.why = append(h.why, "alarm "+name)
	}
	return h, nil
}
