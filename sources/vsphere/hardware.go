package vsphere

import (
	"cmp"
	"reflect"
	"slices"
	"strings"

	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/vim25/types"

	"landfall/engine/machine"
)

// controllers are the places that a disk can hang on, by device key.
type controllers map[int32]controller

type controller struct {
	bus    machine.Bus
	number int32
	shared bool
}

func controllersOf(devices object.VirtualDeviceList) controllers {
	all := controllers{}
	for _, d := range devices {
		c, ok := d.(types.BaseVirtualController)
		if !ok || c.GetVirtualController() == nil {
			continue
		}
		one := controller{bus: machine.BusUnknown, number: c.GetVirtualController().BusNumber}
		switch t := d.(type) {
		case types.BaseVirtualSCSIController:
			one.bus = machine.SCSI
			shared := t.GetVirtualSCSIController().SharedBus
			one.shared = shared != "" && shared != types.VirtualSCSISharingNoSharing
		case types.BaseVirtualSATAController:
			one.bus = machine.SATA
		case *types.VirtualIDEController:
			one.bus = machine.IDE
		case *types.VirtualNVMEController:
			one.bus = machine.NVMe
			one.shared = t.SharedBus != "" && t.SharedBus != string(types.VirtualNVMEControllerSharingNoSharing)
		}
		all[c.GetVirtualController().Key] = one
	}
	return all
}

// order is how disks are told: the order in which a VM's own firmware looks for one to boot, then by place.
var order = map[machine.Bus]int{machine.SCSI: 0, machine.SATA: 1, machine.IDE: 2, machine.NVMe: 3, machine.BusUnknown: 4}

func disks(devices object.VirtualDeviceList) []machine.Disk {
	at := controllersOf(devices)
	var out []machine.Disk
	for _, d := range devices {
		if disk, ok := d.(*types.VirtualDisk); ok && disk != nil {
			out = append(out, diskOf(disk, at))
		}
	}
	slices.SortStableFunc(out, func(a, b machine.Disk) int {
		return cmp.Or(order[a.Bus]-order[b.Bus], cmp.Compare(a.BusNumber, b.BusNumber), cmp.Compare(a.Unit, b.Unit), cmp.Compare(a.Key, b.Key))
	})
	return out
}

func diskOf(d *types.VirtualDisk, at controllers) machine.Disk {
	place, ok := at[d.ControllerKey]
	if !ok {
		place.bus = machine.BusUnknown
	}
	out := machine.Disk{
		Key: d.Key, Label: label(&d.VirtualDevice), Bus: place.bus, BusNumber: place.number, Shared: place.shared,
		Capacity: d.CapacityInBytes,
	}
	if out.Capacity == 0 {
		out.Capacity = d.CapacityInKB << 10 // hosts before 5.5 know no bytes
	}
	if d.UnitNumber != nil {
		out.Unit = *d.UnitNumber
	}
	backed(&out, d.Backing)
	if p, ok := parsePath(out.Path); ok {
		out.Datastore = p.datastore
	}
	return out
}

// backed tells how the disk is kept. What is not known is named and never dropped.
func backed(d *machine.Disk, b types.BaseVirtualDeviceBackingInfo) {
	d.Backing, d.BackingRaw = machine.BackingUnknown, kindOf(b)
	mode := ""
	if f, ok := b.(types.BaseVirtualDeviceFileBackingInfo); ok && f.GetVirtualDeviceFileBackingInfo() != nil {
		d.Path = f.GetVirtualDeviceFileBackingInfo().FileName
	}
	switch t := b.(type) {
	case *types.VirtualDiskFlatVer2BackingInfo:
		d.Backing, mode = machine.Flat, t.DiskMode
		d.Parent, d.Thin, d.UUID, d.ChangeID = t.Parent != nil, isTrue(t.ThinProvisioned), t.Uuid, t.ChangeId
		d.Shared = d.Shared || multiWriter(t.Sharing)
	case *types.VirtualDiskSeSparseBackingInfo:
		d.Backing, mode = machine.SparseDelta, t.DiskMode
		d.Parent, d.UUID, d.ChangeID = t.Parent != nil, t.Uuid, t.ChangeId
	case *types.VirtualDiskRawDiskMappingVer1BackingInfo:
		d.Backing, mode = machine.RDMVirtual, t.DiskMode
		if t.CompatibilityMode != string(types.VirtualDiskCompatibilityModeVirtualMode) {
			d.Backing = machine.RDMPhysical // also where it does not say: nothing of it may be assumed
		}
		d.Parent, d.UUID, d.ChangeID = t.Parent != nil, t.Uuid, t.ChangeId
		d.Shared = d.Shared || multiWriter(t.Sharing)
	case *types.VirtualDiskFlatVer1BackingInfo:
		d.Parent, mode = t.Parent != nil, t.DiskMode
	case *types.VirtualDiskSparseVer1BackingInfo:
		d.Parent, mode = t.Parent != nil, t.DiskMode
	case *types.VirtualDiskSparseVer2BackingInfo:
		d.Parent, mode, d.UUID, d.ChangeID = t.Parent != nil, t.DiskMode, t.Uuid, t.ChangeId
	case *types.VirtualDiskLocalPMemBackingInfo:
		mode, d.UUID = t.DiskMode, t.Uuid
	case *types.VirtualDiskRawDiskVer2BackingInfo:
		d.Path, d.UUID, d.ChangeID = t.DescriptorFileName, t.Uuid, t.ChangeId
		d.Shared = d.Shared || multiWriter(t.Sharing)
	case *types.VirtualDiskPartitionedRawDiskVer2BackingInfo:
		d.Path, d.UUID, d.ChangeID = t.DescriptorFileName, t.Uuid, t.ChangeId
		d.Shared = d.Shared || multiWriter(t.Sharing)
	}
	d.Independent = strings.HasPrefix(mode, "independent")
}

func multiWriter(s string) bool {
	return s == string(types.VirtualDiskSharingSharingMultiWriter)
}

// anyEncrypted tells whether a disk has a key of its own.
func anyEncrypted(devices object.VirtualDeviceList) bool {
	for _, d := range devices {
		disk, ok := d.(*types.VirtualDisk)
		if !ok || disk == nil {
			continue
		}
		switch t := disk.Backing.(type) {
		case *types.VirtualDiskFlatVer2BackingInfo:
			if t.KeyId != nil {
				return true
			}
		case *types.VirtualDiskSeSparseBackingInfo:
			if t.KeyId != nil {
				return true
			}
		case *types.VirtualDiskSparseVer2BackingInfo:
			if t.KeyId != nil {
				return true
			}
		}
	}
	return false
}

// kindOf is the source's own name of a backing: FlatVer2 for VirtualDiskFlatVer2BackingInfo.
func kindOf(b types.BaseVirtualDeviceBackingInfo) string {
	if b == nil {
		return ""
	}
	t := reflect.TypeOf(b)
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	return strings.TrimSuffix(strings.TrimPrefix(t.Name(), "VirtualDisk"), "BackingInfo")
}

func label(d *types.VirtualDevice) string {
	if d != nil && d.DeviceInfo != nil && d.DeviceInfo.GetDescription() != nil {
		return d.DeviceInfo.GetDescription().Label
	}
	return ""
}
