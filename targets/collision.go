package targets

import (
	"cmp"
	"net"
	"slices"
	"strings"

	"landfall/engine/machine"
	"landfall/engine/spec"
)

// Names is what a VM takes in a cluster that no other may have.
type Names struct {
	Namespace string
	VM        string   // rendered
	Volumes   []string // of its DataVolumes and claims
	MACs      []string // none where the cluster makes new ones
}

// NamesOf gives what a VM takes by a spec, without rendering it.
func NamesOf(vm machine.VM, s spec.Spec) Names {
	n := Names{Namespace: s.Destination.Namespace, VM: VMName(vm, s)}
	for i := range vm.DiskList {
		n.Volumes = append(n.Volumes, VolumeName(n.VM, i))
	}
	for _, nic := range vm.NICs {
		mac, ok := CardMAC(nic.MAC)
		if _, mapped := s.NetworkFor(nic); mapped && ok && s.KeepMAC() && !slices.Contains(n.MACs, mac) {
			n.MACs = append(n.MACs, mac)
		}
	}
	return n
}

// Names gives what a plan takes.
func (p Plan) Names() Names {
	n := Names{Namespace: p.Namespace, VM: p.Name, MACs: p.MACs}
	for _, v := range p.Volumes {
		n.Volumes = append(n.Volumes, v.Name)
	}
	return n
}

// Collision is one thing that several VMs of one plan would take.
type Collision struct {
	Kind  string // "name", "volume" or "mac"
	Value string // "vms/web-01"; a hardware address is the whole cluster's
	VMs   []int  // indices of those that take it, in order
}

// Collisions finds what two VMs of one plan would both take, in a stable order. A hardware address collides across
// namespaces, for a bridge may join them; names do not.
func Collisions(list []Names) []Collision {
	type key struct{ kind, value string }
	takers := map[key][]int{}
	for i, n := range list {
		take := func(kind, value string) { takers[key{kind, value}] = append(takers[key{kind, value}], i) }
		take("name", n.Namespace+"/"+n.VM)
		for _, v := range n.Volumes {
			take("volume", n.Namespace+"/"+v)
		}
		for _, m := range n.MACs {
			take("mac", NormalMAC(m))
		}
	}
	var found []Collision
	for k, vms := range takers {
		if len(vms) > 1 {
			found = append(found, Collision{Kind: k.kind, Value: k.value, VMs: vms})
		}
	}
	rank := func(kind string) int { return slices.Index([]string{"name", "volume", "mac"}, kind) }
	slices.SortFunc(found, func(a, b Collision) int {
		return cmp.Or(cmp.Compare(rank(a.Kind), rank(b.Kind)), cmp.Compare(a.Value, b.Value))
	})
	return found
}

// CardMAC gives a hardware address in lower case with colons; false where it cannot be one card's.
func CardMAC(s string) (string, bool) {
	hw, err := net.ParseMAC(strings.TrimSpace(s))
	if err != nil || len(hw) != 6 || hw[0]&1 != 0 || slices.Max(hw) == 0 {
		return "", false
	}
	return hw.String(), true
}

// NormalMAC gives a hardware address as clusters compare it: lower case with colons. What is none is only lowered.
func NormalMAC(s string) string {
	s = strings.TrimSpace(s)
	if hw, err := net.ParseMAC(s); err == nil {
		return hw.String()
	}
	return strings.ToLower(s)
}
