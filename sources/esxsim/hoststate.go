package esxsim

import (
	"cmp"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"
)

// HostState is how the host says it is.
type HostState struct {
	Maintenance bool     `json:"maintenance,omitempty"`
	Status      string   `json:"status,omitempty"` // green (default), yellow, red, gray
	Issues      []string `json:"issues,omitempty"` // what it says of itself
}

// describeHost gives the host its state, and a list of what it starts by itself.
func (s *Server) describeHost() {
	h := s.host
	h.Runtime.InMaintenanceMode = s.cfg.Host.Maintenance
	h.OverallStatus = types.ManagedEntityStatus(cmp.Or(s.cfg.Host.Status, "green"))
	h.Summary.OverallStatus = h.OverallStatus
	for i, text := range s.cfg.Host.Issues {
		h.ConfigIssue = append(h.ConfigIssue, &types.Event{Key: int32(i), FullFormattedMessage: text})
	}
	ref := types.ManagedObjectReference{Type: "HostAutoStartManager", Value: "ha-autostart-mgr"}
	h.ConfigManager.AutoStartManager = &ref
	s.vim.Put(&mo.HostAutoStartManager{Self: ref, Config: types.HostAutoStartManagerConfig{
		Defaults: &types.AutoStartDefaults{Enabled: new(true)}}})
}

// bind tells the host to start the VM by itself, and the cluster to keep it on the host, where its description says so.
func (s *Server) bind(m *machine) {
	if m.spec.Autostart {
		a := s.vim.Get(*s.host.ConfigManager.AutoStartManager).(*mo.HostAutoStartManager)
		a.Config.PowerInfo = append(a.Config.PowerInfo, types.AutoStartPowerInfo{Key: m.ref, StartOrder: -1, StartAction: "powerOn", StopAction: "none"})
	}
	c, ok := s.vim.Get(*s.host.Parent).(*simulator.ClusterComputeResource)
	if !ok || m.spec.HostRule == "" {
		return
	}
	info, ok := c.ConfigurationEx.(*types.ClusterConfigInfoEx)
	if !ok {
		return
	}
	info.Group = append(info.Group,
		&types.ClusterVmGroup{ClusterGroupInfo: types.ClusterGroupInfo{Name: m.spec.HostRule + " VMs"}, Vm: []types.ManagedObjectReference{m.ref}},
		&types.ClusterHostGroup{ClusterGroupInfo: types.ClusterGroupInfo{Name: m.spec.HostRule}, Host: []types.ManagedObjectReference{s.host.Self}})
	info.Rule = append(info.Rule, &types.ClusterVmHostRuleInfo{
		ClusterRuleInfo: types.ClusterRuleInfo{Name: m.spec.HostRule, Enabled: new(true), Mandatory: new(true)},
		VmGroupName:     m.spec.HostRule + " VMs", AffineHostGroupName: m.spec.HostRule})
}
