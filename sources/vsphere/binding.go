package vsphere

import (
	"context"
	"slices"

	"github.com/vmware/govmomi/vim25/types"

	"landfall/engine/machine"
)

// bound is where what binds a VM to its host is kept; nil is not seen, or not there.
type bound struct {
	parent  *types.ManagedObjectReference // of the host: a cluster, or the resources of a lone host
	starter *types.ManagedObjectReference // what starts VMs with the host
}

func refOf(b bag, path string) *types.ManagedObjectReference {
	if ref, ok := b[path].(types.ManagedObjectReference); ok {
		return &ref
	}
	return nil
}

// autostart tells whether the host starts the VM by itself.
func (s *Source) autostart(ctx context.Context, starter *types.ManagedObjectReference, vm types.ManagedObjectReference) bool {
	if starter == nil {
		return false
	}
	content, err := s.retrieve(ctx, []types.ManagedObjectReference{*starter}, []string{"config"})
	if err != nil || len(content) == 0 {
		return false
	}
	c := get[types.HostAutoStartManagerConfig](bagOf(content[0]), "config")
	if c.Defaults == nil || !isTrue(c.Defaults.Enabled) {
		return false
	}
	return slices.ContainsFunc(c.PowerInfo, func(p types.AutoStartPowerInfo) bool { return p.Key == vm && p.StartAction == "powerOn" })
}

// rules names what the cluster keeps the VM on, near or away from.
func (s *Source) rules(ctx context.Context, cluster *types.ManagedObjectReference, vm types.ManagedObjectReference) (names []string) {
	if cluster == nil || cluster.Type != "ClusterComputeResource" {
		return nil
	}
	content, err := s.retrieve(ctx, []types.ManagedObjectReference{*cluster}, []string{"configurationEx"})
	if err != nil || len(content) == 0 {
		return nil
	}
	c := get[types.ClusterConfigInfoEx](bagOf(content[0]), "configurationEx")
	in := map[string]bool{}
	for _, g := range c.Group {
		if g, ok := g.(*types.ClusterVmGroup); ok && g != nil && slices.Contains(g.Vm, vm) {
			in[g.Name] = true
		}
	}
	for _, r := range c.Rule {
		binds, name := false, ""
		switch t := r.(type) {
		case *types.ClusterVmHostRuleInfo:
			binds, name = in[t.VmGroupName], t.Name
		case *types.ClusterAffinityRuleSpec:
			binds, name = slices.Contains(t.Vm, vm), t.Name
		case *types.ClusterAntiAffinityRuleSpec:
			binds, name = slices.Contains(t.Vm, vm), t.Name
		}
		if binds && isTrue(r.GetClusterRuleInfo().Enabled) {
			names = append(names, "host rule "+shown(name))
		}
	}
	return names
}

// direct marks the cards whose packets pass the hypervisor by.
func direct(nics []machine.NIC, states []types.VirtualMachineDeviceRuntimeInfo) {
	for _, d := range states {
		card, ok := d.RuntimeState.(*types.VirtualMachineDeviceRuntimeInfoVirtualEthernetCardRuntimeState)
		if !ok || !isTrue(card.VmDirectPathGen2Active) {
			continue
		}
		for i := range nics {
			if nics[i].Key == d.Key {
				nics[i].Model = "passthrough"
			}
		}
	}
}
