package vsphere

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/vim25/types"

	"landfall/engine/machine"
)

func file(name string) types.VirtualDeviceFileBackingInfo {
	return types.VirtualDeviceFileBackingInfo{FileName: name}
}

func TestBackings(t *testing.T) {
	yes := true
	for _, c := range []struct {
		name    string
		backing types.BaseVirtualDeviceBackingInfo
		want    machine.Disk
	}{
		{"flat", &types.VirtualDiskFlatVer2BackingInfo{VirtualDeviceFileBackingInfo: file("[ds] a/a.vmdk"), DiskMode: "persistent", ThinProvisioned: &yes, Uuid: "u", ChangeId: "c/1"},
			machine.Disk{Backing: machine.Flat, BackingRaw: "FlatVer2", Datastore: "ds", Path: "[ds] a/a.vmdk", Thin: true, UUID: "u", ChangeID: "c/1"}},
		{"flat on a snapshot", &types.VirtualDiskFlatVer2BackingInfo{VirtualDeviceFileBackingInfo: file("[ds] a/a-000001.vmdk"), Parent: &types.VirtualDiskFlatVer2BackingInfo{}},
			machine.Disk{Backing: machine.Flat, BackingRaw: "FlatVer2", Datastore: "ds", Path: "[ds] a/a-000001.vmdk", Parent: true}},
		{"independent and shared", &types.VirtualDiskFlatVer2BackingInfo{DiskMode: "independent_nonpersistent", Sharing: "sharingMultiWriter"},
			machine.Disk{Backing: machine.Flat, BackingRaw: "FlatVer2", Independent: true, Shared: true}},
		{"space-efficient sparse", &types.VirtualDiskSeSparseBackingInfo{VirtualDeviceFileBackingInfo: file("[ds] a.vmdk"), Parent: &types.VirtualDiskSeSparseBackingInfo{}},
			machine.Disk{Backing: machine.SparseDelta, BackingRaw: "SeSparse", Datastore: "ds", Path: "[ds] a.vmdk", Parent: true}},
		{"raw device, physical", &types.VirtualDiskRawDiskMappingVer1BackingInfo{CompatibilityMode: "physicalMode"},
			machine.Disk{Backing: machine.RDMPhysical, BackingRaw: "RawDiskMappingVer1"}},
		{"raw device, virtual", &types.VirtualDiskRawDiskMappingVer1BackingInfo{CompatibilityMode: "virtualMode"},
			machine.Disk{Backing: machine.RDMVirtual, BackingRaw: "RawDiskMappingVer1"}},
		{"raw device that does not say", &types.VirtualDiskRawDiskMappingVer1BackingInfo{},
			machine.Disk{Backing: machine.RDMPhysical, BackingRaw: "RawDiskMappingVer1"}},
		{"persistent memory", &types.VirtualDiskLocalPMemBackingInfo{VirtualDeviceFileBackingInfo: file("[pmem] a.vmdk")},
			machine.Disk{Backing: machine.BackingUnknown, BackingRaw: "LocalPMem", Datastore: "pmem", Path: "[pmem] a.vmdk"}},
		{"old sparse", &types.VirtualDiskSparseVer2BackingInfo{}, machine.Disk{Backing: machine.BackingUnknown, BackingRaw: "SparseVer2"}},
		{"old flat", &types.VirtualDiskFlatVer1BackingInfo{}, machine.Disk{Backing: machine.BackingUnknown, BackingRaw: "FlatVer1"}},
		{"whole raw disk", &types.VirtualDiskRawDiskVer2BackingInfo{DescriptorFileName: "[ds] raw.vmdk"},
			machine.Disk{Backing: machine.BackingUnknown, BackingRaw: "RawDiskVer2", Datastore: "ds", Path: "[ds] raw.vmdk"}},
		{"partition of a raw disk", &types.VirtualDiskPartitionedRawDiskVer2BackingInfo{}, machine.Disk{Backing: machine.BackingUnknown, BackingRaw: "PartitionedRawDiskVer2"}},
		{"none", nil, machine.Disk{Backing: machine.BackingUnknown}},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := disks(object.VirtualDeviceList{&types.VirtualDisk{VirtualDevice: types.VirtualDevice{Key: 2000, ControllerKey: 1000, Backing: c.backing}, CapacityInKB: 4}})
			c.want.Key, c.want.Bus, c.want.Capacity = 2000, machine.BusUnknown, 4096
			if diff := cmp.Diff([]machine.Disk{c.want}, got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func TestDisksAreToldByPlace(t *testing.T) {
	controller := func(key, bus int32) types.VirtualController {
		return types.VirtualController{VirtualDevice: types.VirtualDevice{Key: key}, BusNumber: bus}
	}
	scsi := func(key, bus int32, shared types.VirtualSCSISharing) *types.ParaVirtualSCSIController {
		return &types.ParaVirtualSCSIController{VirtualSCSIController: types.VirtualSCSIController{VirtualController: controller(key, bus), SharedBus: shared}}
	}
	disk := func(key, at, unit int32) *types.VirtualDisk {
		return &types.VirtualDisk{VirtualDevice: types.VirtualDevice{Key: key, ControllerKey: at, UnitNumber: &unit}}
	}
	list := object.VirtualDeviceList{
		disk(7, 31000, 0), disk(6, 200, 1), disk(5, 15000, 0), disk(4, 1001, 0), disk(3, 1000, 2), disk(2, 1000, 0), disk(1, 4711, 0),
		&types.VirtualDisk{VirtualDevice: types.VirtualDevice{Key: 8}}, // neither controller nor unit
		&types.VirtualNVMEController{VirtualController: controller(31000, 0)}, &types.VirtualIDEController{VirtualController: controller(200, 0)},
		&types.VirtualAHCIController{VirtualSATAController: types.VirtualSATAController{VirtualController: controller(15000, 0)}},
		scsi(1001, 1, types.VirtualSCSISharingPhysicalSharing), scsi(1000, 0, types.VirtualSCSISharingNoSharing),
		(*types.VirtualDisk)(nil), nil,
	}
	var got []string
	for _, d := range disks(list) {
		got = append(got, fmt.Sprintf("%d %s shared=%v", d.Key, d.Where(), d.Shared))
	}
	want := []string{"2 scsi0:0 shared=false", "3 scsi0:2 shared=false", "4 scsi1:0 shared=true", "5 sata0:0 shared=false", "6 ide0:1 shared=false",
		"7 nvme0:0 shared=false", "1 unknown0:0 shared=false", "8 unknown0:0 shared=false"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestNICs(t *testing.T) {
	card := func(key int32, mac string, b types.BaseVirtualDeviceBackingInfo) types.VirtualEthernetCard {
		return types.VirtualEthernetCard{VirtualDevice: types.VirtualDevice{Key: key, Backing: b}, MacAddress: mac}
	}
	port := func(name string) types.VirtualDeviceDeviceBackingInfo {
		return types.VirtualDeviceDeviceBackingInfo{DeviceName: name}
	}
	list := object.VirtualDeviceList{
		&types.VirtualE1000e{VirtualEthernetCard: card(4003, "", nil)},
		&types.VirtualVmxnet3{VirtualVmxnet: types.VirtualVmxnet{VirtualEthernetCard: card(4001, "00:50:56:AA:00:01",
			&types.VirtualEthernetCardDistributedVirtualPortBackingInfo{Port: types.DistributedVirtualSwitchPortConnection{PortgroupKey: "dvportgroup-7"}})}},
		&types.VirtualVmxnet3{VirtualVmxnet: types.VirtualVmxnet{VirtualEthernetCard: card(4000, "00:50:56:aa:00:00",
			&types.VirtualEthernetCardNetworkBackingInfo{VirtualDeviceDeviceBackingInfo: port("VLAN %2f 10")})}},
		&types.VirtualVmxnet3{VirtualVmxnet: types.VirtualVmxnet{VirtualEthernetCard: card(4002, "00:50:56:aa:00:02",
			&types.VirtualEthernetCardOpaqueNetworkBackingInfo{OpaqueNetworkId: "seg-1"})}},
		&types.VirtualVmxnet3{VirtualVmxnet: types.VirtualVmxnet{VirtualEthernetCard: card(4004, "00:50:56:aa:00:04",
			&types.VirtualEthernetCardDistributedVirtualPortBackingInfo{Port: types.DistributedVirtualSwitchPortConnection{PortgroupKey: "dvportgroup-gone"}})}},
		&types.VirtualSriovEthernetCard{VirtualEthernetCard: card(4005, "00:50:56:aa:00:05", &types.VirtualEthernetCardNetworkBackingInfo{VirtualDeviceDeviceBackingInfo: port("fast")})},
	}
	var got []string
	for _, n := range nics(list, networkNames{"dvportgroup-7": "prod", "seg-1": "overlay"}) {
		got = append(got, fmt.Sprintf("%d %s %s %q %q", n.Key, n.Model, n.MAC, n.Network, n.NetworkID))
	}
	want := []string{
		`4000 vmxnet3 00:50:56:aa:00:00 "VLAN / 10" ""`,
		`4001 vmxnet3 00:50:56:aa:00:01 "prod" "dvportgroup-7"`,
		`4002 vmxnet3 00:50:56:aa:00:02 "overlay" "seg-1"`,
		`4003 e1000e  "" ""`,
		`4004 vmxnet3 00:50:56:aa:00:04 "dvportgroup-gone" "dvportgroup-gone"`,
		`4005 sriov 00:50:56:aa:00:05 "fast" ""`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestGuestAddresses(t *testing.T) {
	vm := machine.VM{NICs: []machine.NIC{{MAC: "00:50:56:aa:00:00"}, {MAC: ""}}}
	guest(&vm, bag{"guest.ipAddress": "192.0.2.1", "guest.hostName": "web", "guest.net": types.ArrayOfGuestNicInfo{GuestNicInfo: []types.GuestNicInfo{
		{MacAddress: "00:50:56:AA:00:00", IpAddress: []string{"192.0.2.1"}, IpConfig: &types.NetIpConfigInfo{IpAddress: []types.NetIpConfigInfoIpAddress{{IpAddress: "192.0.2.1"}, {IpAddress: "fe80::1"}}}},
		{MacAddress: "", IpAddress: []string{"172.17.0.1"}}, // a bridge inside the guest
	}}})
	if diff := cmp.Diff([]string{"192.0.2.1", "fe80::1"}, vm.NICs[0].Addresses); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"192.0.2.1", "fe80::1", "172.17.0.1"}, vm.Addresses); diff != "" {
		t.Error(diff)
	}
	if len(vm.NICs[1].Addresses) != 0 {
		t.Errorf("a NIC without MAC got %v", vm.NICs[1].Addresses)
	}
}

func TestTreePath(t *testing.T) {
	ref := func(kind, value string) types.ManagedObjectReference {
		return types.ManagedObjectReference{Type: kind, Value: value}
	}
	root, dc, folder, app := ref("Folder", "group-d1"), ref("Datacenter", "dc-1"), ref("Folder", "group-v2"), ref("VirtualApp", "app-3")
	north := ref("Folder", "group-d5")
	tr := tree{}
	tr.add(root, bag{"name": "Datacenters"})
	tr.add(north, bag{"name": "north", "parent": root})
	tr.add(dc, bag{"name": "DC%2f1", "parent": north})
	tr.add(folder, bag{"name": "vm", "parent": dc})
	tr.add(app, bag{"name": "shop", "parent": ref("ResourcePool", "resgroup-9"), "parentFolder": folder})
	a, b := ref("Folder", "a"), ref("Folder", "b")
	tr.add(a, bag{"name": "a", "parent": b})
	tr.add(b, bag{"name": "b", "parent": a})
	unseen := ref("Folder", "hidden")
	for _, c := range []struct {
		name   string
		parent *types.ManagedObjectReference
		want   string
		dc     string
	}{
		{"in a folder", &folder, "/north/DC/1/vm", "north/DC%2f1"},
		{"in the root", &root, "/", ""},
		{"may not be seen", &unseen, "/", ""},
		{"none", nil, "/", ""},
		{"in a vApp", &app, "/north/DC/1/vm/shop", "north/DC%2f1"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := tr.path(c.parent); got != c.want {
				t.Errorf("path %q, want %q", got, c.want)
			}
			if got := tr.datacenter(c.parent); got != c.dc {
				t.Errorf("datacenter %q, want %q", got, c.dc)
			}
		})
	}
	if got := tr.path(&a); len(got) > 4*deepest {
		t.Errorf("a ring of parents gives %q", got)
	}
}
