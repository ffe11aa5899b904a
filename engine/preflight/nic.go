package preflight

import (
	"fmt"
	"strings"

	"landfall/engine/machine"
)

var nicRules = []Rule{
	{"nic.none", Info, "A VM without network cards is fine.", "",
		func(f Facts) []hit { return one(len(f.VM.NICs) == 0, "vm", "no network cards") }},
	{"nic.unmapped", Blocker, "It is not said which network of the cluster the card goes to.", "Add a row to spec.network.mappings for its port group.",
		eachNIC(func(f Facts, n machine.NIC) string {
			_, ok := f.Spec.NetworkFor(n)
			return when(!ok && n.Network != "", fmt.Sprintf("no mapping for network %q", n.Network))
		})},
	{"nic.nonetwork", Decide, "The card is on no network; it is left out.", "Connect it on the source, or accept.",
		eachNIC(func(f Facts, n machine.NIC) string { return when(n.Network == "", "on no network") })},
	{"nic.pod.multiple", Blocker, "KubeVirt starts no VM with two cards on the pod network or on one attachment.", "Map the cards to different networks.",
		func(f Facts) (hits []hit) {
			first := map[string]int{}
			for i, n := range f.VM.NICs {
				m, ok := f.Spec.NetworkFor(n)
				if !ok {
					continue
				}
				key := m.Type + " " + m.Name
				if j, twice := first[key]; twice {
					hits = append(hits, hit{subject: nicName(i), found: fmt.Sprintf("on the same network as nic %d (%s)", j, strings.TrimSpace(key))})
				} else {
					first[key] = i
				}
			}
			return hits
		}},
	{"nic.nad.missing", Blocker, "The attachment that the card is mapped to does not exist.", "Create it, or change the mapping.",
		eachNIC(func(f Facts, n machine.NIC) string {
			m, ok := f.Spec.NetworkFor(n)
			if !ok || m.Type != "Multus" || f.Target == nil {
				return ""
			}
			name := AttachmentName(m.Name, f.Spec.Destination.Namespace)
			there, known := f.Target.Networks[name]
			return when(known && !there, "no network attachment definition "+name)
		})},
	{"nic.mac.conflict", Blocker, "Two cards with one hardware address on one network break both.", "Set preserveMacAddress: false, or stop and remove the other VM.",
		eachNIC(func(f Facts, n machine.NIC) string {
			if !f.Spec.KeepMAC() || f.Target == nil {
				return ""
			}
			who := f.Target.MACs[strings.ToLower(n.MAC)]
			return when(who != "", n.MAC+" is used by "+who)
		})},
	{"nic.mac.unknown", Decide, "Whether the hardware address is free in the cluster is not known.", "Allow listing virtual machines in all namespaces, or accept.",
		func(f Facts) []hit {
			if f.Target == nil || !f.Spec.KeepMAC() || len(f.VM.NICs) == 0 || f.Target.Unknown["macs"] == "" {
				return nil
			}
			return cannot("target", f.Target.Unknown["macs"])
		}},
	{"nic.disconnected", Info, "The card does not connect at start; its link is kept down.", "",
		eachNIC(func(f Facts, n machine.NIC) string {
			return when(n.Network != "" && !n.StartConnected, "not connected at start")
		})},
	{"nic.rename", Warning, "The guest's interface gets another name (ens192 becomes enp1s0): a guest pinned to the old name boots without network.", "Prepare the guest to match by hardware address before the migration.",
		func(f Facts) []hit {
			return one(len(f.VM.NICs) > 0 && !strings.Contains(strings.ToLower(f.VM.GuestID), "win"), "vm", "the guest is not remedied by conversion "+string(f.Spec.Strategy.Conversion))
		}},
	{"ip.static.lost", Warning, "Addresses set in the guest are not kept on the pod network.", "Map the card to a network where the address is valid, or set it anew.",
		eachNIC(func(f Facts, n machine.NIC) string {
			m, ok := f.Spec.NetworkFor(n)
			return when(ok && m.Type == "Pod" && len(n.Addresses) > 0, strings.Join(n.Addresses, ", "))
		})},
}

// AttachmentName gives the full name of a network attachment definition.
func AttachmentName(name, namespace string) string {
	if strings.Contains(name, "/") {
		return name
	}
	return namespace + "/" + name
}

func nicName(i int) string { return fmt.Sprintf("nic %d", i) }

func eachNIC(check func(Facts, machine.NIC) string) func(Facts) []hit {
	return func(f Facts) (hits []hit) {
		for i, n := range f.VM.NICs {
			if found := check(f, n); found != "" {
				hits = append(hits, hit{subject: nicName(i), found: found})
			}
		}
		return hits
	}
}

var deviceRules = []Rule{
	{"device.left", Info, "The device is not moved.", "Detach it, or recreate it in the cluster where it is needed.",
		func(f Facts) (hits []hit) {
			for _, d := range f.VM.Devices {
				h := hit{subject: d.Kind, found: strings.TrimSpace(d.Label + " " + d.Detail)}
				switch d.Kind {
				case "pci":
					h.level = Decide
				case "usb", "serial", "parallel":
					h.level = Warning
				}
				hits = append(hits, h)
			}
			return hits
		}},
}
