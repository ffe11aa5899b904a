package kubevirt

import (
	"fmt"
	"slices"

	virt "kubevirt.io/api/core/v1"

	"landfall/engine/machine"
	"landfall/engine/spec"
	"landfall/targets"
)

func (r *rendering) networks(s *virt.VirtualMachineInstanceSpec) {
	model := r.guest.nicModel()
	for i, n := range r.in.VM.NICs {
		m, ok := r.in.Spec.NetworkFor(n)
		if !ok && n.Network == "" && n.NetworkID == "" {
			r.note("NIC %d (%s) is on no network and is left out", i, escaped(n.Label))
			continue
		}
		if !ok {
			r.fail("NIC %d (%s): network %q is not mapped: add it to spec.network.mappings", i, escaped(n.Label), bounded(n.Network, 128))
			return
		}
		name := fmt.Sprintf("nic-%d", i)
		iface := virt.Interface{Name: name, Model: model, MacAddress: r.mac(i, n), InterfaceBindingMethod: binding(m)}
		switch {
		case n.StartConnected:
		case lacks(r.in.Lacks, targets.FeatureLinkState):
			r.note("NIC %d is not connected at power-on in the source, but will be: this release of KubeVirt cannot keep a link down", i)
		default:
			iface.State = virt.InterfaceStateLinkDown
		}
		s.Domain.Devices.Interfaces = append(s.Domain.Devices.Interfaces, iface)
		s.Networks = append(s.Networks, virt.Network{Name: name, NetworkSource: network(m)})
	}
	if len(s.Networks) == 0 {
		// Otherwise KubeVirt adds a NIC that the source does not have.
		none := false
		s.Domain.Devices.AutoattachPodInterface = &none
		return
	}
	r.note("NICs are %s: %s", model, r.guest.why)
}

func (r *rendering) mac(i int, n machine.NIC) string {
	if !r.in.Spec.KeepMAC() || n.MAC == "" {
		return ""
	}
	mac, ok := targets.CardMAC(n.MAC)
	switch {
	case !ok:
		r.note("NIC %d: %q is no hardware address of a card: the cluster makes a new one", i, bounded(n.MAC, 64))
		return ""
	case slices.Contains(r.macs, mac):
		r.note("NIC %d: %s is another NIC's of this VM already: the cluster makes a new one", i, mac)
		return ""
	}
	r.macs = append(r.macs, mac)
	return mac
}

func binding(m spec.NetworkMapping) virt.InterfaceBindingMethod {
	if m.Binding == "masquerade" || m.Binding == "" && m.Type == "Pod" {
		return virt.InterfaceBindingMethod{Masquerade: &virt.InterfaceMasquerade{}}
	}
	return virt.InterfaceBindingMethod{Bridge: &virt.InterfaceBridge{}}
}

func network(m spec.NetworkMapping) virt.NetworkSource {
	if m.Type == "Multus" {
		return virt.NetworkSource{Multus: &virt.MultusNetwork{NetworkName: m.Name}}
	}
	return virt.NetworkSource{Pod: &virt.PodNetwork{}}
}
