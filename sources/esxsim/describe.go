package esxsim

import (
	"os"
	"path"
	"strings"
	"syscall"
	"time"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"
)

// describe fills the VM's object before anybody can see it.
func (m *machine) describe(devices []types.BaseVirtualDevice) {
	s, v, o := m.server, m.spec, m.obj
	api := escapeName(m.name)
	o.Name, o.Config.Name, o.Summary.Config.Name = api, api, api
	o.Config.Uuid, o.Summary.Config.Uuid = v.UUID, v.UUID
	o.Config.InstanceUuid, o.Summary.Config.InstanceUuid = v.InstanceUUID, v.InstanceUUID
	o.Config.GuestId, o.Summary.Config.GuestId = v.GuestID, v.GuestID
	o.Config.GuestFullName, o.Summary.Config.GuestFullName = v.GuestFullName, v.GuestFullName
	o.Config.Annotation, o.Summary.Config.Annotation = v.Annotation, v.Annotation
	o.Config.Version, o.Summary.Config.HwVersion = v.HardwareVersion, v.HardwareVersion
	o.Config.Template, o.Summary.Config.Template = v.Template, v.Template
	home := dsPath{m.home.spec.Name, v.Directory}.String()
	o.Config.Files = types.VirtualMachineFileInfo{VmPathName: m.vmx().String(), SnapshotDirectory: home, SuspendDirectory: home, LogDirectory: home}
	o.Summary.Config.VmPathName = o.Config.Files.VmPathName
	o.Config.Firmware = v.Firmware
	o.Config.BootOptions = &types.VirtualMachineBootOptions{EfiSecureBootEnabled: types.NewBool(v.SecureBoot)}
	for _, i := range v.BootOrder {
		if i >= 0 && i < len(m.disks) {
			o.Config.BootOptions.BootOrder = append(o.Config.BootOptions.BootOrder, &types.VirtualMachineBootOptionsBootableDiskDevice{DeviceKey: m.disks[i].key})
		}
	}
	o.Config.ChangeTrackingEnabled = types.NewBool(m.tracking)
	o.Capability.ChangeTrackingSupported = m.canTrack()
	o.Config.ChangeVersion = time.Now().UTC().Format(time.RFC3339Nano)
	o.Config.Hardware.NumCPU, o.Config.Hardware.MemoryMB = v.CPUs, v.MemoryMiB
	o.Config.Hardware.NumCoresPerSocket = types.NewInt32(v.CoresPerSocket)
	o.Summary.Config.NumCpu, o.Summary.Config.MemorySizeMB = v.CPUs, v.MemoryMiB
	o.Config.ExtraConfig = nil
	for k, val := range v.ExtraConfig {
		o.Config.ExtraConfig = append(o.Config.ExtraConfig, &types.OptionValue{Key: k, Value: val})
	}
	o.Config.Hardware.Device = append(o.Config.Hardware.Device, devices...)
	o.Summary.Config.NumVirtualDisks = int32(len(m.disks))
	o.Summary.Config.NumEthernetCards = int32(len(v.NICs))

	host := s.host.Self
	o.Runtime.Host, o.Summary.Runtime.Host = &host, &host
	parent := s.vim.Get(*s.host.Parent)
	switch p := parent.(type) {
	case *mo.ComputeResource:
		o.ResourcePool, o.EnvironmentBrowser = p.ResourcePool, *p.EnvironmentBrowser
	case *simulator.ClusterComputeResource:
		o.ResourcePool, o.EnvironmentBrowser = p.ResourcePool, *p.EnvironmentBrowser
	}
	o.Datastore = nil
	m.useStore(m.home)
	for _, d := range m.disks {
		m.useStore(d.store)
	}
	o.Network = nil
	for _, n := range v.NICs {
		name := n.Network
		def(&name, "VM Network")
		if net := s.networks[name]; net != nil && simulator.FindReference(o.Network, net.ref) == nil {
			o.Network = append(o.Network, net.ref)
		}
	}
	o.Guest, o.Summary.Guest = m.guest(m.power), m.guestSummary(m.power)
	m.setPowerFields()
}

func (m *machine) useStore(st *store) {
	if simulator.FindReference(m.obj.Datastore, st.obj.Self) == nil {
		m.obj.Datastore = append(m.obj.Datastore, st.obj.Self)
	}
}

// layout lists the VM's files as they are on disk, with what thin ones really use.
func (m *machine) layout() (*types.VirtualMachineFileLayoutEx, []types.VirtualMachineUsageOnDatastore) {
	ex := &types.VirtualMachineFileLayoutEx{Timestamp: time.Now()}
	use := map[*store]*types.VirtualMachineUsageOnDatastore{}
	add := func(st *store, file, kind string) int32 {
		info, err := os.Stat(st.abs(file))
		if err != nil {
			return -1
		}
		size := info.Size()
		if raw, ok := info.Sys().(*syscall.Stat_t); ok && raw.Blocks*512 < size {
			size = raw.Blocks * 512
		}
		key := int32(len(ex.File))
		ex.File = append(ex.File, types.VirtualMachineFileLayoutExFileInfo{Key: key, Name: dsPath{st.spec.Name, file}.String(),
			Type: kind, Size: size, UniqueSize: size, Accessible: types.NewBool(true)})
		if use[st] == nil {
			use[st] = &types.VirtualMachineUsageOnDatastore{Datastore: st.obj.Self}
		}
		use[st].Committed += size
		use[st].Unshared += size
		return key
	}
	base := path.Join(m.spec.Directory, m.fileBase())
	add(m.home, base+".vmx", "config")
	add(m.home, base+".vmsd", "snapshotList")
	add(m.home, base+".nvram", "nvram")
	for _, f := range m.lockFiles() {
		if strings.HasSuffix(f, ".vswp") {
			add(m.home, path.Join(m.spec.Directory, path.Base(f)), "swap")
		}
	}
	for _, d := range m.disks {
		unit := types.VirtualMachineFileLayoutExDiskLayout{Key: d.key}
		chain := d.chain(d.top)
		for i := len(chain) - 1; i >= 0; i-- {
			l := d.layers[chain[i]]
			var keys []int32
			for _, f := range [][2]string{{l.Descriptor, "diskDescriptor"}, {l.Extent, "diskExtent"}} {
				if k := add(d.store, path.Join(d.spec.Directory, f[0]), f[1]); k >= 0 {
					keys = append(keys, k)
				}
			}
			unit.Chain = append(unit.Chain, types.VirtualMachineFileLayoutExDiskUnit{FileKey: keys})
		}
		ex.Disk = append(ex.Disk, unit)
		if u := use[d.store]; u != nil {
			u.Uncommitted += d.size
		}
	}
	var usage []types.VirtualMachineUsageOnDatastore
	for _, st := range m.server.stores {
		if u := use[st]; u != nil {
			u.Uncommitted = max(u.Uncommitted-u.Committed, 0)
			usage = append(usage, *u)
		}
	}
	return ex, usage
}

// storage publishes layout and sizes; the caller holds the object's lock.
func (m *machine) storage() {
	ex, usage := m.layout()
	sum := &types.VirtualMachineStorageSummary{Timestamp: ex.Timestamp}
	for _, u := range usage {
		sum.Committed += u.Committed
		sum.Uncommitted += u.Uncommitted
		sum.Unshared += u.Unshared
	}
	m.obj.LayoutEx, m.obj.Summary.Storage = ex, sum
	m.obj.Storage = &types.VirtualMachineStorageInfo{PerDatastoreUsage: usage, Timestamp: ex.Timestamp}
}
