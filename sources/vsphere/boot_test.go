package vsphere_test

import (
	"slices"
	"testing"

	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"

	"landfall/engine/machine"
	"landfall/sources/esxsim"
	"landfall/sources/vsphere"
)

func TestBootOrderSerialNumbersAndFileSystems(t *testing.T) {
	two := []esxsim.Disk{{Size: 1 << 20}, {Size: 1 << 20}}
	_, doc := start(t, esxsim.Config{VMs: []esxsim.VM{
		{Name: "plain", Disks: two},
		{Name: "ordered", Disks: two, Adjust: func(m *mo.VirtualMachine) {
			m.Config.BootOptions = &types.VirtualMachineBootOptions{BootOrder: []types.BaseVirtualMachineBootOptionsBootableDevice{
				&types.VirtualMachineBootOptionsBootableCdromDevice{},
				&types.VirtualMachineBootOptionsBootableDiskDevice{DeviceKey: 2001}, &types.VirtualMachineBootOptionsBootableDiskDevice{DeviceKey: 2000},
			}}
			m.Guest.Disk = []types.GuestDiskInfo{{DiskPath: "/", Capacity: 20 << 30, FreeSpace: 5 << 20}, {DiskPath: "/proc"}}
			m.Config.ExtraConfig = append(m.Config.ExtraConfig, &types.OptionValue{Key: "DISK.enableuuid", Value: "TRUE"})
		}},
	}})
	src := dial(t, doc, vsphere.Options{})
	plain, ordered := inspected(t, src, ref(t, src, "plain")), inspected(t, src, ref(t, src, "ordered"))
	if len(plain.BootDisks) != 0 || plain.DiskUUIDs {
		t.Errorf("plain: boot order %v, serial numbers %t", plain.BootDisks, plain.DiskUUIDs)
	}
	if g := ordered.GuestDisks; len(g) != 1 || g[0] != (machine.GuestDisk{Path: "/", Capacity: 20 << 30, Free: 5 << 20}) || len(plain.GuestDisks) != 0 {
		t.Errorf("file systems of the guests: %+v, %+v", g, plain.GuestDisks)
	}
	if !slices.Equal(ordered.BootDisks, []int32{2001, 2000}) || !ordered.DiskUUIDs {
		t.Errorf("ordered: boot order %v, serial numbers %t", ordered.BootDisks, ordered.DiskUUIDs)
	}
}
