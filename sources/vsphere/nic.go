package vsphere

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/vim25/types"

	"landfall/engine/machine"
)

// networkNames are the names of distributed port groups, by their key, and of opaque networks, by their id.
type networkNames map[string]string

// networks looks up the names that NICs give only by key. A network that was deleted, or may not be seen, has none.
func (s *Source) networks(ctx context.Context, devices object.VirtualDeviceList, b bag) networkNames {
	names := networkNames{}
	refs := map[types.ManagedObjectReference]bool{}
	for _, d := range devices {
		card, ok := d.(types.BaseVirtualEthernetCard)
		if !ok {
			continue
		}
		switch t := card.GetVirtualEthernetCard().Backing.(type) {
		case *types.VirtualEthernetCardDistributedVirtualPortBackingInfo:
			if t.Port.PortgroupKey != "" {
				refs[types.ManagedObjectReference{Type: "DistributedVirtualPortgroup", Value: t.Port.PortgroupKey}] = true
			}
		case *types.VirtualEthernetCardOpaqueNetworkBackingInfo:
			for _, n := range get[types.ArrayOfManagedObjectReference](b, "network").ManagedObjectReference {
				if n.Type == "OpaqueNetwork" {
					refs[n] = true
				}
			}
		}
	}
	for ref := range refs { // one by one: a port group that is gone would fail the others
		paths := []string{"name"}
		if ref.Type == "OpaqueNetwork" {
			paths = append(paths, "summary")
		}
		content, err := s.retrieve(ctx, []types.ManagedObjectReference{ref}, paths)
		if err != nil || len(content) == 0 {
			continue
		}
		found := bagOf(content[0])
		id := ref.Value
		if o, ok := found["summary"].(types.OpaqueNetworkSummary); ok {
			id = o.OpaqueNetworkId
		}
		names[id] = shown(get[string](found, "name"))
	}
	return names
}

func nics(devices object.VirtualDeviceList, names networkNames) []machine.NIC {
	var out []machine.NIC
	for _, d := range devices {
		if card, ok := d.(types.BaseVirtualEthernetCard); ok && card.GetVirtualEthernetCard() != nil {
			out = append(out, nicOf(d, card.GetVirtualEthernetCard(), names))
		}
	}
	slices.SortStableFunc(out, func(a, b machine.NIC) int { return cmp.Compare(a.Key, b.Key) })
	return out
}

func nicOf(d types.BaseVirtualDevice, card *types.VirtualEthernetCard, names networkNames) machine.NIC {
	n := machine.NIC{Key: card.Key, Label: label(&card.VirtualDevice), Model: model(d), MAC: strings.ToLower(card.MacAddress)}
	n.StartConnected = card.Connectable != nil && card.Connectable.StartConnected
	switch t := card.Backing.(type) {
	case types.BaseVirtualDeviceDeviceBackingInfo: // a standard port group, also behind SR-IOV and older cards
		if b := t.GetVirtualDeviceDeviceBackingInfo(); b != nil {
			n.Network = shown(b.DeviceName)
		}
	case *types.VirtualEthernetCardDistributedVirtualPortBackingInfo:
		n.NetworkID = t.Port.PortgroupKey
		n.Network = cmp.Or(names[n.NetworkID], n.NetworkID)
	case *types.VirtualEthernetCardOpaqueNetworkBackingInfo:
		n.NetworkID = t.OpaqueNetworkId
		n.Network = cmp.Or(names[n.NetworkID], n.NetworkID)
	}
	return n
}

func model(d types.BaseVirtualDevice) string {
	switch d.(type) {
	case *types.VirtualVmxnet3, *types.VirtualVmxnet3Vrdma:
		return "vmxnet3"
	case *types.VirtualVmxnet2:
		return "vmxnet2"
	case *types.VirtualVmxnet:
		return "vmxnet"
	case *types.VirtualE1000e:
		return "e1000e"
	case *types.VirtualE1000:
		return "e1000"
	case *types.VirtualPCNet32:
		return "pcnet32"
	case *types.VirtualSriovEthernetCard:
		return "sriov"
	}
	return "unknown"
}
