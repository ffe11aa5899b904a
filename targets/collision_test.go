package targets

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"landfall/engine/machine"
	"landfall/engine/spec"
)

func named(names ...string) []Names {
	var list []Names
	for i, n := range names {
		vm := machine.VM{Summary: machine.Summary{Name: n, Ref: machine.Ref{InstanceUUID: string(rune('a'+i)) + "2e0f3a1-9c4b"}}, DiskList: make([]machine.Disk, 2)}
		list = append(list, NamesOf(vm, spec.Spec{Destination: spec.Destination{Namespace: "vms"}}))
	}
	return list
}

func TestCollisions(t *testing.T) {
	in := func(namespace string, n Names) Names { n.Namespace = namespace; return n }
	mac := func(vm string, macs ...string) Names { return Names{Namespace: vm, VM: vm, MACs: macs} }
	for _, c := range []struct {
		what string
		vms  []Names
		want []Collision
	}{
		{"three ways to write web 01", named("Web_01", "db", "WEB-01", "web 01"), []Collision{
			{"name", "vms/web-01", []int{0, 2, 3}}, {"volume", "vms/web-01-disk-0", []int{0, 2, 3}}, {"volume", "vms/web-01-disk-1", []int{0, 2, 3}},
		}},
		{"names that differ at their end", named("db-202401", "db-202402"), nil},
		{"nothing left of either", named("服务器", "数据库"), nil},
		{"one that is named as another's disk", named("web", "web-disk-0"), nil},
		{"one name in two namespaces", []Names{in("a", named("web")[0]), in("b", named("web")[0])}, nil},
		{"one address in two namespaces, written differently", []Names{mac("a", "00-50-56-AA-00-01"), mac("b", "00:50:56:aa:00:01"), mac("c", "00:50:56:aa:00:02")}, []Collision{
			{"mac", "00:50:56:aa:00:01", []int{0, 1}},
		}},
		{"nobody", nil, nil},
	} {
		t.Run(c.what, func(t *testing.T) {
			if d := cmp.Diff(c.want, Collisions(c.vms)); d != "" {
				t.Error(d)
			}
		})
	}
}

func TestNamesOf(t *testing.T) {
	no := false
	nics := []machine.NIC{{MAC: "00:50:56:AA:00:01", Network: "lan"}, {MAC: "00-50-56-aa-00-01", Network: "lan"}, {MAC: "00:50:56:AA:00:02", Network: "unmapped"}, {MAC: "ff:ff:ff:ff:ff:ff", Network: "lan"}, {MAC: "", Network: "lan"}}
	vm := machine.VM{Summary: machine.Summary{Name: "Web"}, NICs: nics, DiskList: make([]machine.Disk, 1)}
	s := spec.Spec{Destination: spec.Destination{Namespace: "vms"}, Network: spec.Network{Mappings: []spec.NetworkMapping{{PortGroup: "lan", Type: "Pod"}}}}
	for _, c := range []struct {
		what   string
		change func(*spec.Spec)
		want   Names
	}{
		{"as it is", func(*spec.Spec) {}, Names{"vms", "web", []string{"web-disk-0"}, []string{"00:50:56:aa:00:01"}}},
		{"a name asked for", func(s *spec.Spec) { s.Destination.VMName = "shop" }, Names{"vms", "shop", []string{"shop-disk-0"}, []string{"00:50:56:aa:00:01"}}},
		{"new addresses", func(s *spec.Spec) { s.PreserveMACAddress = &no }, Names{"vms", "web", []string{"web-disk-0"}, nil}},
	} {
		s := s
		c.change(&s)
		if d := cmp.Diff(c.want, NamesOf(vm, s)); d != "" {
			t.Errorf("%s: %s", c.what, d)
		}
	}
}
