package esxsim

import (
	"fmt"
	"path"

	"github.com/vmware/govmomi/vim25/types"
)

// Keys as hosts give them out: the first controller of each bus, and the
// first disk on it.
var buses = map[string]struct{ controller, disk, perController int32 }{
	"ide":  {200, 3000, 2},
	"scsi": {1000, 2000, 16},
	"sata": {15000, 16000, 30},
	"nvme": {31000, 32000, 15},
}

// devices builds the hardware of a VM beside the board itself, in the order
// of a host: controllers, then disks, CD drive and adapters.
func (m *machine) devices() ([]types.BaseVirtualDevice, error) {
	var controllers, rest []types.BaseVirtualDevice
	have, taken := map[int32]bool{200: true, 201: true}, map[[2]int32]bool{}
	controller := func(bus, model string, number int32) int32 {
		key := buses[bus].controller + number
		if !have[key] {
			have[key] = true
			controllers = append(controllers, newController(bus, model, key, number))
		}
		return key
	}
	for i := range m.disks {
		d := m.disks[i]
		bus := buses[d.spec.Bus]
		ckey := controller(d.spec.Bus, d.spec.Controller, d.spec.BusNumber)
		unit := int32(0)
		if d.spec.Unit != nil {
			unit = *d.spec.Unit
			if taken[[2]int32{ckey, unit}] {
				return nil, fmt.Errorf("vm %q disk %d: unit %d of %s bus %d is taken", m.spec.Name, i, unit, d.spec.Bus, d.spec.BusNumber)
			}
		}
		for taken[[2]int32{ckey, unit}] || d.spec.Bus == "scsi" && unit == 7 { // 7 is the controller itself
			unit++
		}
		if unit >= bus.perController {
			return nil, fmt.Errorf("vm %q disk %d: %s bus %d has no unit %d", m.spec.Name, i, d.spec.Bus, d.spec.BusNumber, unit)
		}
		taken[[2]int32{ckey, unit}] = true
		d.unit, d.bus = unit, ckey
		d.key = bus.disk + d.spec.BusNumber*bus.perController + unit
		d.label = fmt.Sprintf("Hard disk %d", i+1)
		rest = append(rest, m.diskDevice(d))
	}
	if m.spec.ISO != "" {
		ckey := controller("sata", "", 0)
		unit := int32(0)
		for taken[[2]int32{ckey, unit}] {
			unit++
		}
		rest = append(rest, &types.VirtualCdrom{VirtualDevice: types.VirtualDevice{
			Key: 16000 + unit, ControllerKey: ckey, UnitNumber: &unit,
			DeviceInfo:  &types.Description{Label: "CD/DVD drive 1", Summary: "ISO " + m.spec.ISO},
			Backing:     &types.VirtualCdromIsoBackingInfo{VirtualDeviceFileBackingInfo: types.VirtualDeviceFileBackingInfo{FileName: m.spec.ISO}},
			Connectable: connectable(true),
		}})
	}
	for i, n := range m.spec.NICs {
		card, err := m.networkCard(n, i)
		if err != nil {
			return nil, err
		}
		rest = append(rest, card)
	}
	for _, c := range controllers {
		vc := c.(types.BaseVirtualController).GetVirtualController()
		for _, d := range rest {
			if v := d.GetVirtualDevice(); v.ControllerKey == vc.Key {
				vc.Device = append(vc.Device, v.Key)
			}
		}
	}
	return append(controllers, rest...), nil
}

func newController(bus, model string, key, number int32) types.BaseVirtualDevice {
	unit := 3 + number
	c := types.VirtualController{BusNumber: number, VirtualDevice: types.VirtualDevice{Key: key, ControllerKey: 100, UnitNumber: &unit}}
	label := func(kind string) {
		c.DeviceInfo = &types.Description{Label: fmt.Sprintf("%s %d", kind, number), Summary: kind}
	}
	seven := int32(7)
	switch bus {
	case "sata":
		label("SATA controller")
		return &types.VirtualAHCIController{VirtualSATAController: types.VirtualSATAController{VirtualController: c}}
	case "nvme":
		label("NVME controller")
		return &types.VirtualNVMEController{VirtualController: c}
	}
	label("SCSI controller")
	s := types.VirtualSCSIController{VirtualController: c, SharedBus: types.VirtualSCSISharingNoSharing, ScsiCtlrUnitNumber: seven, HotAddRemove: types.NewBool(true)}
	switch model {
	case "lsilogic":
		return &types.VirtualLsiLogicController{VirtualSCSIController: s}
	case "lsilogic-sas":
		return &types.VirtualLsiLogicSASController{VirtualSCSIController: s}
	case "buslogic":
		return &types.VirtualBusLogicController{VirtualSCSIController: s}
	}
	return &types.ParaVirtualSCSIController{VirtualSCSIController: s}
}

// diskDevice describes the disk as it is now: its size and its chain.
func (m *machine) diskDevice(d *disk) *types.VirtualDisk {
	return &types.VirtualDisk{
		VirtualDevice: types.VirtualDevice{
			Key: d.key, ControllerKey: d.bus, UnitNumber: types.NewInt32(d.unit),
			DeviceInfo: &types.Description{Label: d.label, Summary: fmt.Sprintf("%d KB", d.size/1024)},
			Backing:    m.backing(d, d.top),
		},
		CapacityInKB: d.size / 1024, CapacityInBytes: d.size,
		DiskObjectId: fmt.Sprintf("%s-%d", m.ref.Value, d.key),
		StorageIOAllocation: &types.StorageIOAllocationInfo{Limit: types.NewInt64(-1),
			Shares: &types.SharesInfo{Shares: 1000, Level: types.SharesLevelNormal}},
	}
}

func (m *machine) backing(d *disk, at int) *types.VirtualDiskFlatVer2BackingInfo {
	l := d.layers[at]
	b := &types.VirtualDiskFlatVer2BackingInfo{
		VirtualDeviceFileBackingInfo: types.VirtualDeviceFileBackingInfo{FileName: d.path(l.Descriptor).String(), Datastore: d.store.refp()},
		DiskMode:                     d.spec.Mode, Sharing: d.spec.Sharing,
		ThinProvisioned: types.NewBool(!d.spec.Thick), Split: types.NewBool(false), WriteThrough: types.NewBool(false),
		DigestEnabled: types.NewBool(false), Uuid: d.spec.UUID, ContentId: contentID(d.spec.UUID, l.Descriptor),
	}
	if d.spec.Thick {
		b.EagerlyScrub = types.NewBool(false)
	}
	if m.tracking {
		b.ChangeId = d.changeID()
	}
	if l.delta() {
		b.DeltaDiskFormat = "redoLogFormat"
		b.Parent = m.backing(d, l.Parent)
	}
	return b
}

func (m *machine) networkCard(n NIC, index int) (types.BaseVirtualDevice, error) {
	key, unit := int32(4000+index), int32(7+index)
	mac, kind := n.MAC, "assigned"
	if mac == "" {
		u := stableUUID(m.spec.InstanceUUID, "nic", fmt.Sprint(index))
		mac, kind = fmt.Sprintf("00:0c:29:%s:%s:%s", u[0:2], u[2:4], u[4:6]), "generated"
	}
	c := types.VirtualEthernetCard{
		VirtualDevice: types.VirtualDevice{
			Key: key, ControllerKey: 100, UnitNumber: &unit, Connectable: connectable(!n.Disconnected),
			DeviceInfo: &types.Description{Label: fmt.Sprintf("Network adapter %d", index+1)},
		},
		AddressType: kind, MacAddress: mac, WakeOnLanEnabled: types.NewBool(true), UptCompatibilityEnabled: types.NewBool(n.Direct),
	}
	if n.Direct {
		m.obj.Runtime.Device = append(m.obj.Runtime.Device, types.VirtualMachineDeviceRuntimeInfo{Key: key,
			RuntimeState: &types.VirtualMachineDeviceRuntimeInfoVirtualEthernetCardRuntimeState{VmDirectPathGen2Active: types.NewBool(true)}})
	}
	name := n.Network
	def(&name, "VM Network")
	if name == "-" {
		c.Backing = &types.VirtualEthernetCardNetworkBackingInfo{}
	} else {
		net := m.server.networks[name]
		c.Backing, c.DeviceInfo.GetDescription().Summary = net.backing, name
	}
	switch n.Model {
	case "", "vmxnet3":
		return &types.VirtualVmxnet3{VirtualVmxnet: types.VirtualVmxnet{VirtualEthernetCard: c}}, nil
	case "e1000":
		return &types.VirtualE1000{VirtualEthernetCard: c}, nil
	case "e1000e":
		return &types.VirtualE1000e{VirtualEthernetCard: c}, nil
	case "pcnet32":
		return &types.VirtualPCNet32{VirtualEthernetCard: c}, nil
	case "sriov":
		return &types.VirtualSriovEthernetCard{VirtualEthernetCard: c}, nil
	}
	return nil, fmt.Errorf("vm %q adapter %d: model %q is unknown", m.spec.Name, index, n.Model)
}

func connectable(start bool) *types.VirtualDeviceConnectInfo {
	return &types.VirtualDeviceConnectInfo{StartConnected: start, AllowGuestControl: true, Status: "untried"}
}

func (d *disk) path(file string) dsPath {
	return dsPath{d.store.spec.Name, path.Join(d.spec.Directory, file)}
}
