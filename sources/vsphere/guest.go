package vsphere

import (
	"slices"
	"strings"

	"github.com/vmware/govmomi/vim25/types"

	"landfall/engine/machine"
)

// guest fills what the guest's tools tell, by MAC. The guest writes addresses in its own way: case does not matter.
func guest(vm *machine.VM, b bag) {
	vm.HostName = get[string](b, "guest.hostName")
	add := func(list []string, a string) []string {
		if a == "" || slices.Contains(list, a) {
			return list
		}
		return append(list, a)
	}
	for _, n := range get[types.ArrayOfGuestNicInfo](b, "guest.net").GuestNicInfo {
		addresses := n.IpAddress
		if n.IpConfig != nil {
			addresses = nil
			for _, a := range n.IpConfig.IpAddress {
				addresses = append(addresses, a.IpAddress)
			}
		}
		for _, a := range addresses {
			vm.Addresses = add(vm.Addresses, a)
			for i := range vm.NICs {
				if vm.NICs[i].MAC != "" && strings.EqualFold(vm.NICs[i].MAC, n.MacAddress) {
					vm.NICs[i].Addresses = add(vm.NICs[i].Addresses, a)
				}
			}
		}
	}
	vm.Addresses = add(vm.Addresses, get[string](b, "guest.ipAddress"))
	for _, d := range get[types.ArrayOfGuestDiskInfo](b, "guest.disk").GuestDiskInfo {
		if d.DiskPath != "" && d.Capacity > 0 {
			vm.GuestDisks = append(vm.GuestDisks, machine.GuestDisk{Path: shown(d.DiskPath), Capacity: d.Capacity, Free: d.FreeSpace})
		}
	}
}
