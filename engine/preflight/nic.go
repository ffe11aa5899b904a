package preflight

import (
	"cmp"
	"fmt"
	"strings"

	"landfall/engine/machine"
	"landfall/targets"
)

var nicRules = []Rule{
	{"nic.none", Info, "A VM without network cards is fine.", "",
		func(f Facts) []hit { return one(len(f.VM.NICs) == 0, "vm", "no network cards") }},
	{"nic.unmapped", Blocker, "It is not said which network of the cluster the card goes to.", "Add a row to spec.network.mappings for its port group.",
		eachNIC(func(f Facts, n machine.NIC) string {
			_, ok := f.Spec.NetworkFor(n)
			return when(!ok && onNetwork(n), fmt.Sprintf("no mapping for network %q", cmp.Or(n.Network, n.NetworkID)))
		})},
	{"nic.nonetwork", Decide, "The card is on no network; it is left out.", "Connect it on the source, or accept.",
		eachNIC(func(f Facts, n machine.NIC) string { return when(!onNetwork(n), "on no network") })},
	{"nic.pod.multiple", Blocker, "KubeVirt starts no VM with two cards on the pod network or on one attachment.", "Map the cards to different networks.",
		func(f Facts) (hits []hit) {
			first := map[string]int{}
			for i, n := range f.VM.NICs {
				m, ok := f.Spec.NetworkFor(n)
				if !ok {
					continue
				}
				key := m.Type
				if m.Type == "Multus" {
					key += " " + AttachmentName(m.Name, f.Spec.Destination.Namespace)
				}
				if j, twice := first[key]; twice {
					hits = append(hits, hit{subject: nicName(i), found: fmt.Sprintf("on the same network as nic %d (%s)", j, key)})
				} else {
					first[key] = i
				}
			}
			return hits
		}},
	{"nic.nad.missing", Blocker, "The attachment that the card is mapped to is not where the VM may use it: in its own namespace or in default.", "Create it there, or change the mapping.",
		missingAttachments},
	{"nic.sriov", Decide, "The card is a function of the host's own adapter: it becomes an ordinary virtio card.", "Map its network to an SR-IOV attachment of the cluster, or accept.",
		special("sriov", "an SR-IOV function")},
	{"nic.passthrough", Decide, "The card is passed through from the host: it becomes an ordinary virtio card.", "Map its network to an attachment of its own in the cluster, or accept.",
		special("passthrough", "passed through from the host")},
	{"nic.mac.conflict", Blocker, "Two cards with one hardware address on one network break both.", "Set preserveMacAddress: false, or remove the other VM. Not checked: allow listing virtual machines in all namespaces, or accept.",
		usedMACs},
	{"nic.disconnected", Info, "The card does not connect at start; its link is kept down.", "",
		eachNIC(func(f Facts, n machine.NIC) string {
			return when(onNetwork(n) && !n.StartConnected, "not connected at start")
		})},
	{"net.overlap", Warning, "An address that the cluster takes for its own is not reached from it: packets go to a pod or a service instead.", "Map the card to a network of its own, or use other addresses. For the source: reach it by another address.",
		overlaps},
	{"nic.rename", Warning, "The guest's interface gets another name (ens192 becomes enp1s0): a guest pinned to the old name boots without network.", "Prepare the guest to match by hardware address before the migration.",
		func(f Facts) []hit {
			return one(len(f.VM.NICs) > 0 && !windows(f.VM.GuestID), "vm", "conversion "+string(f.Spec.Strategy.Conversion)+" does not remedy it: the guest may boot without network")
		}},
	{"ip.static.lost", Warning, "Addresses set in the guest are not kept on the pod network.", "Map the card to a network where the address is valid, or set it anew.",
		eachNIC(func(f Facts, n machine.NIC) string {
			m, ok := f.Spec.NetworkFor(n)
			return when(ok && m.Type == "Pod" && len(n.Addresses) > 0, strings.Join(n.Addresses, ", "))
		})},
}

func missingAttachments(f Facts) (hits []hit) {
	unknown := ""
	for i, n := range f.VM.NICs {
		m, ok := f.Spec.NetworkFor(n)
		if !ok || m.Type != "Multus" {
			continue
		}
		name := AttachmentName(m.Name, f.Spec.Destination.Namespace)
		if ns, _, _ := strings.Cut(name, "/"); ns != f.Spec.Destination.Namespace && ns != "default" {
			hits = append(hits, hit{subject: nicName(i), found: "network attachment definition " + name + " is in another namespace"})
			continue
		}
		if f.Target == nil {
			continue
		}
		switch there, known := f.Target.Networks[name]; {
		case !known:
			unknown = cmp.Or(f.Target.Unknown[targets.FactNetworks], "network attachment definition "+name+" was not looked for")
		case !there:
			hits = append(hits, hit{subject: nicName(i), found: "no network attachment definition " + name})
		}
	}
	if unknown != "" {
		hits = append(hits, cannot("target", unknown)...)
	}
	return hits
}

func usedMACs(f Facts) (hits []hit) {
	if !f.Spec.KeepMAC() {
		return nil
	}
	own := planMACs(f)
	unknown, open := "", false
	if f.Target != nil {
		unknown = f.Target.Unknown[targets.FactMACs]
	}
	for i, n := range f.VM.NICs {
		if n.MAC == "" || !onNetwork(n) {
			continue
		}
		mac := targets.NormalMAC(n.MAC)
		who := own[mac]
		if f.Target != nil && f.Target.MACs[mac] != "" {
			who = f.Target.MACs[mac]
		}
		if who != "" {
			hits = append(hits, hit{subject: nicName(i), found: n.MAC + " is used by " + who})
		} else {
			open = true
		}
		own[mac] = nicName(i) + " of this VM"
	}
	if open && unknown != "" {
		hits = append(hits, cannot("target", unknown)...)
	}
	return hits
}

// AttachmentName gives the full name of a network attachment definition.
func AttachmentName(name, namespace string) string {
	if strings.Contains(name, "/") {
		return name
	}
	return namespace + "/" + name
}

// planMACs are the hardware addresses that the other VMs of the plan take in the same cluster.
func planMACs(f Facts) map[string]string {
	taken := map[string]string{}
	for _, o := range f.Beside {
		a, b := f.Spec.Destination, o.Spec.Destination
		if !o.Spec.KeepMAC() || a.Kubeconfig != b.Kubeconfig || a.Context != b.Context || sameVM(o.VM, f.VM) {
			continue
		}
		for _, n := range o.VM.NICs {
			if n.MAC != "" && onNetwork(n) {
				taken[targets.NormalMAC(n.MAC)] = fmt.Sprintf("%q (%s), which is moved too", o.VM.Name, o.VM.Ref)
			}
		}
	}
	return taken
}

func special(model, what string) func(Facts) []hit {
	return eachNIC(func(_ Facts, n machine.NIC) string {
		return when(n.Model == model, what+" on network "+orNo(n.Network))
	})
}

func orNo(network string) string {
	if network == "" {
		return "(none)"
	}
	return network
}

func onNetwork(n machine.NIC) bool { return n.Network != "" || n.NetworkID != "" }

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
