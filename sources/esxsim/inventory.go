package esxsim

import (
	"errors"
	"fmt"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"
)

// building: the simulator's templates are package variables, so that only one
// inventory at a time can be made from them.
var building sync.Mutex

// inventory makes the host: service, datastores, port groups.
func (s *Server) inventory() error {
	building.Lock()
	defer building.Unlock()
	model := simulator.ESX()
	if s.cfg.VCenter {
		model = simulator.VPX()
		model.Host, model.Cluster, model.ClusterHost = 0, 1, 1
	}
	model.Machine, model.Datastore, model.Autostart = 0, 0, false
	about := &model.ServiceContent.About
	about.Version, about.ApiVersion = s.cfg.Version, s.cfg.Version
	about.FullName = fmt.Sprintf("%s %s build-22380479", about.Name, s.cfg.Version)
	ctx := simulator.NewContext()
	model.Service = simulator.New(simulator.NewServiceInstance(ctx, model.ServiceContent, model.RootFolder))
	if err := model.CreateInfrastructure(ctx); err != nil {
		return fmt.Errorf("make inventory: %w", err)
	}
	s.svc = model.Service
	s.vim = s.svc.Context.Map
	s.svc.RegisterSDK(s.vim, s.vim.Path+"/vimService")
	s.host = s.vim.Any("HostSystem").(*simulator.HostSystem)
	s.dc = s.vim.Any("Datacenter").(*simulator.Datacenter)
	s.license()
	s.authorize()
	s.describeHost()
	if err := s.makeStores(ctx); err != nil {
		return err
	}
	return s.makeNetworks(ctx)
}

// license says which edition the host has.
func (s *Server) license() {
	ref := s.svc.Context.Map.Get(vim25.ServiceInstance).(*simulator.ServiceInstance).Content.LicenseManager
	m, ok := s.vim.Get(*ref).(*simulator.LicenseManager)
	if !ok || !s.cfg.FreeLicence {
		return
	}
	m.Licenses = []types.LicenseManagerLicenseInfo{{LicenseKey: "00000-00000-00000-00000-00000", EditionKey: "esxBasic", Name: "VMware vSphere Hypervisor", CostUnit: "cpuPackage"}}
}

// freeSpace takes what the VMs use off each datastore's capacity.
func (s *Server) freeSpace() {
	for _, st := range s.stores {
		free := st.spec.Capacity - st.spec.Taken
		for _, m := range s.machines {
			for _, u := range m.obj.Storage.PerDatastoreUsage {
				if u.Datastore == st.obj.Self {
					free -= u.Committed
				}
			}
		}
		st.obj.Summary.FreeSpace = max(free, 0)
		st.obj.Info.GetDatastoreInfo().FreeSpace = st.obj.Summary.FreeSpace
	}
}

func (s *Server) makeStores(ctx *simulator.Context) error {
	ref := *s.host.ConfigManager.DatastoreSystem
	system := s.vim.Get(ref).(*simulator.HostDatastoreSystem)
	for _, d := range s.cfg.Datastores {
		dir := filepath.Join(s.dir, "datastores", url.PathEscape(d.Name))
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return fmt.Errorf("datastore %q: %w", d.Name, err)
		}
		res := system.CreateLocalDatastore(ctx, &types.CreateLocalDatastore{This: ref, Name: d.Name, Path: dir})
		if f := res.Fault(); f != nil {
			return fmt.Errorf("datastore %q: %s", d.Name, f.String)
		}
		obj := s.vim.Get(res.(*methods.CreateLocalDatastoreBody).Res.Returnval).(*simulator.Datastore)
		obj.Summary.Type = "VMFS"
		obj.Summary.Capacity, obj.Summary.FreeSpace = d.Capacity, d.Capacity
		root, err := os.OpenRoot(dir)
		if err != nil {
			return fmt.Errorf("datastore %q: %w", d.Name, err)
		}
		s.stores = append(s.stores, &store{spec: d, dir: dir, root: root, obj: obj})
	}
	return nil
}

func (s *Server) makeNetworks(ctx *simulator.Context) error {
	ref := *s.host.ConfigManager.NetworkSystem
	system := s.vim.Get(ref).(*simulator.HostNetworkSystem)
	want := slices.Clone(s.cfg.Networks)
	for _, v := range s.cfg.VMs {
		for _, n := range v.NICs {
			if n.Network != "" && n.Network != "-" {
				want = append(want, n.Network)
			}
		}
	}
	s.scanNetworks()
	for _, name := range want {
		if s.networks[name] != nil {
			continue
		}
		var vswitch string
		if len(system.NetworkInfo.Vswitch) > 0 {
			vswitch = system.NetworkInfo.Vswitch[0].Name
		}
		res := system.AddPortGroup(ctx, &types.AddPortGroup{This: ref, Portgrp: types.HostPortGroupSpec{Name: name, VswitchName: vswitch}})
		if f := res.Fault(); f != nil {
			return fmt.Errorf("port group %q: %v", name, f.Detail.Fault)
		}
		s.scanNetworks()
		if s.networks[name] == nil {
			return fmt.Errorf("port group %q was not made", name)
		}
	}
	return nil
}

func (s *Server) scanNetworks() {
	s.networks = map[string]*network{}
	for _, ref := range s.dc.Network {
		switch n := s.vim.Get(ref).(type) {
		case *mo.Network:
			s.networks[n.Name] = &network{ref, &types.VirtualEthernetCardNetworkBackingInfo{
				VirtualDeviceDeviceBackingInfo: types.VirtualDeviceDeviceBackingInfo{DeviceName: n.Name}, Network: &ref}}
		case *simulator.DistributedVirtualPortgroup:
			s.networks[n.Name] = &network{ref, &types.VirtualEthernetCardDistributedVirtualPortBackingInfo{
				Port: types.DistributedVirtualSwitchPortConnection{PortgroupKey: n.Key, SwitchUuid: stableUUID("dvs")}}}
		}
	}
}

// place makes the VM's record, its files and its object.
func (s *Server) place(v VM) error {
	if v.Name == "" {
		return errors.New("a vm has no name")
	}
	if v.Directory == "" {
		v.Directory = s.freeDirectory(v)
	}
	v = v.withDefaults(s.cfg)
	m := &machine{server: s, spec: v, name: v.Name, power: v.Power, shutdown: v.Shutdown, tracking: v.ChangeTracking}
	if m.home = s.store(v.Datastore); m.home == nil {
		return fmt.Errorf("vm %q: datastore %q does not exist", v.Name, v.Datastore)
	}
	for _, key := range []string{m.vmx().String(), v.InstanceUUID} {
		if s.taken[key] {
			return fmt.Errorf("vm %q: another vm has %s, set directory or instanceUuid", v.Name, key)
		}
		s.taken[key] = true
	}
	for i := range v.Disks {
		spec, err := v.Disks[i].withDefaults(v, i)
		if err != nil {
			return err
		}
		d := &disk{spec: spec, store: s.store(spec.Datastore), size: spec.Size, epoch: 1,
			layers: []layer{{Descriptor: spec.File, Extent: spec.Extent, Parent: -1}}}
		if d.store == nil {
			return fmt.Errorf("vm %q disk %d: datastore %q does not exist", v.Name, i, spec.Datastore)
		}
		m.disks = append(m.disks, d)
	}
	kept := s.state.VMs[v.InstanceUUID]
	if kept != nil {
		m.recall(kept)
	}
	folder, err := s.folder(v.Folder)
	if err != nil {
		return fmt.Errorf("vm %q: %w", v.Name, err)
	}
	ctx := s.context()
	m.obj, err = s.newObject(ctx, m, folder)
	if err != nil {
		return err
	}
	m.ref = m.obj.Self
	devices, err := m.devices()
	if err != nil {
		return err
	}
	m.describe(devices)
	if err := m.prepare(); err != nil {
		return err
	}
	s.attach(ctx, m)
	s.machines = append(s.machines, m)
	s.directories[dsPath{v.Datastore, v.Directory}] = true
	s.byRef[m.ref] = m
	s.bind(m)
	ctx.WithLock(m.obj, func() {
		if kept == nil {
			for _, sn := range v.Snapshots {
				if _, fault := m.addSnapshot(ctx, sn.Name, sn.Description); fault != nil {
					err = fmt.Errorf("vm %q snapshot %q: %T", v.Name, sn.Name, fault)
				}
			}
		} else {
			m.restoreSnapshots(ctx)
		}
		m.setLocks(m.power == On)
		m.storage()
		if v.Adjust != nil {
			v.Adjust(&m.obj.VirtualMachine)
		}
	})
	return err
}

// freeDirectory avoids the folder of another VM, as a host does: NAME_1.
func (s *Server) freeDirectory(v VM) string {
	def(&v.Datastore, s.cfg.Datastores[0].Name)
	name := fileName(v.Name)
	for i := 1; s.directories[dsPath{v.Datastore, name}]; i++ {
		name = fmt.Sprintf("%s_%d", fileName(v.Name), i)
	}
	return name
}

func (s *Server) newObject(ctx *simulator.Context, m *machine, folder types.ManagedObjectReference) (*simulator.VirtualMachine, error) {
	// The simulator's own creation refuses files that are there. It also ends
	// a datastore's name at the first "]", which a real name may contain.
	const alias = "store"
	name := m.home.obj.Name
	m.home.obj.Name = alias
	obj, fault := simulator.NewVirtualMachine(ctx, folder, &types.VirtualMachineConfigSpec{
		Name: escapeName(m.name), Files: &types.VirtualMachineFileInfo{VmPathName: dsPath{alias, m.vmx().file}.String()}})
	m.home.obj.Name = name
	if fault != nil {
		return nil, fmt.Errorf("vm %q: %T", m.spec.Name, fault)
	}
	return obj, nil
}

// attach links the VM with host, pool and datastores.
func (s *Server) attach(ctx *simulator.Context, m *machine) {
	s.vim.AppendReference(ctx, s.host, &s.host.Vm, m.ref)
	pool := s.vim.Get(*m.obj.ResourcePool).(*simulator.ResourcePool)
	s.vim.AppendReference(ctx, pool, &pool.Vm, m.ref)
	for _, ref := range m.obj.Datastore {
		ds := s.vim.Get(ref).(*simulator.Datastore)
		s.vim.AppendReference(ctx, ds, &ds.Vm, m.ref)
	}
}

// folder finds or makes a VM folder below the data center's.
func (s *Server) folder(p string) (types.ManagedObjectReference, error) {
	ref := s.dc.VmFolder
	if p == "" {
		return ref, nil
	}
	if !s.cfg.VCenter {
		return ref, errors.New("a lone ESXi has no folders")
	}
	for _, name := range strings.Split(path.Clean(p), "/") {
		f := s.vim.Get(ref).(*simulator.Folder)
		if child := s.vim.FindByName(escapeName(name), f.ChildEntity); child != nil {
			ref = child.Reference()
			continue
		}
		res := f.CreateFolder(s.context(), &types.CreateFolder{This: ref, Name: name})
		if fault := res.Fault(); fault != nil {
			return ref, fmt.Errorf("folder %q: %s", p, fault.String)
		}
		ref = res.(*methods.CreateFolderBody).Res.Returnval
	}
	return ref, nil
}

func (s *Server) store(name string) *store {
	for _, st := range s.stores {
		if st.spec.Name == name {
			return st
		}
	}
	return nil
}

// context is a locking identity of its own.
func (s *Server) context() *simulator.Context { return s.svc.Context.For(vim25.Path) }

// escapeName is how vSphere spells names in the API.
func escapeName(s string) string {
	return strings.NewReplacer("%", "%25", "/", "%2f", `\`, "%5c").Replace(s)
}
