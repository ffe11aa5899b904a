package esxsim

import (
	"github.com/vmware/govmomi/vim25/types"
)

// guest is what the host knows of the guest in the given power state.
func (m *machine) guest(power Power) *types.GuestInfo {
	v := m.spec
	g := &types.GuestInfo{
		GuestId: v.GuestID, GuestFullName: v.GuestFullName, GuestState: "notRunning",
		ToolsStatus: types.VirtualMachineToolsStatusToolsNotRunning, ToolsRunningStatus: "guestToolsNotRunning",
		ToolsVersionStatus: "guestToolsCurrent", ToolsVersionStatus2: "guestToolsCurrent", ToolsVersion: "12352",
		HostName: v.Hostname, GuestOperationsReady: types.NewBool(false),
	}
	switch v.Tools {
	case ToolsNone:
		g.ToolsStatus, g.ToolsVersion = types.VirtualMachineToolsStatusToolsNotInstalled, "0"
		g.ToolsVersionStatus, g.ToolsVersionStatus2 = "guestToolsNotInstalled", "guestToolsNotInstalled"
		g.HostName = ""
	case ToolsUnmanaged:
		g.ToolsVersionStatus, g.ToolsVersionStatus2 = "guestToolsUnmanaged", "guestToolsUnmanaged"
	}
	if power != On || !v.Tools.running() {
		return g
	}
	g.ToolsStatus, g.ToolsRunningStatus, g.GuestState = types.VirtualMachineToolsStatusToolsOk, "guestToolsRunning", "running"
	g.GuestFamily, g.GuestOperationsReady = "linuxGuest", types.NewBool(true)
	if len(v.IPs) > 0 {
		g.IpAddress = v.IPs[0]
	}
	for i, n := range v.NICs {
		name := n.Network
		def(&name, "VM Network")
		card, err := m.networkCard(n, i)
		if err != nil {
			continue
		}
		c := card.(types.BaseVirtualEthernetCard).GetVirtualEthernetCard()
		info := types.GuestNicInfo{Network: name, MacAddress: c.MacAddress, Connected: !n.Disconnected, DeviceConfigId: c.Key}
		if i == 0 {
			info.IpAddress = v.IPs
		}
		g.Net = append(g.Net, info)
	}
	return g
}

func (m *machine) guestSummary(power Power) *types.VirtualMachineGuestSummary {
	g := m.guest(power)
	return &types.VirtualMachineGuestSummary{
		GuestId: g.GuestId, GuestFullName: g.GuestFullName, ToolsStatus: g.ToolsStatus, ToolsVersionStatus: g.ToolsVersionStatus,
		ToolsVersionStatus2: g.ToolsVersionStatus2, ToolsRunningStatus: g.ToolsRunningStatus, HostName: g.HostName, IpAddress: g.IpAddress,
	}
}

// guestChanges publishes the guest by leaf path, so that watchers see it.
func (m *machine) guestChanges(power Power) []types.PropertyChange {
	g := m.guest(power)
	c := []types.PropertyChange{
		{Name: "guest.toolsStatus", Val: g.ToolsStatus}, {Name: "summary.guest.toolsStatus", Val: g.ToolsStatus},
		{Name: "guest.toolsRunningStatus", Val: g.ToolsRunningStatus}, {Name: "summary.guest.toolsRunningStatus", Val: g.ToolsRunningStatus},
		{Name: "guest.guestState", Val: g.GuestState},
		{Name: "guest.ipAddress", Val: g.IpAddress}, {Name: "summary.guest.ipAddress", Val: g.IpAddress},
		{Name: "guest.net", Val: g.Net},
	}
	return c
}
