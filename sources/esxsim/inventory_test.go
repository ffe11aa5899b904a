package esxsim_test

import (
	"fmt"
	"path"
	"testing"

	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/view"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"

	"landfall/sources/esxsim"
)

func TestListLeaves(t *testing.T) {
	s := start(t, esxsim.Config{VMs: []esxsim.VM{web(esxsim.On), {Name: "db", Tools: esxsim.ToolsNone}}})
	vms, err := list(t.Context(), login(t, s), "runtime.powerState", "config.instanceUuid", "guest.toolsRunningStatus", "guest.hostName",
		"summary.config.memorySizeMB", "summary.storage.committed", "guest.ipAddress")
	if err != nil {
		t.Fatal(err)
	}
	w, d := vms["web"], vms["db"]
	if w.Runtime.PowerState != "poweredOn" || w.Guest.ToolsRunningStatus != "guestToolsRunning" || w.Guest.IpAddress != "192.0.2.7" ||
		w.Guest.HostName != "web.example.org" || w.Summary.Config.MemorySizeMB != 2048 || len(w.Config.InstanceUuid) != 36 {
		t.Errorf("web: %+v %+v", w.Runtime, w.Guest)
	}
	if got := w.Summary.Storage.Committed; got < 13*mib || got > 16*mib {
		t.Errorf("web uses %d bytes, its data are 13 MiB", got)
	}
	if d.Runtime.PowerState != "poweredOff" || d.Guest.ToolsRunningStatus != "guestToolsNotRunning" {
		t.Errorf("db: %+v %+v", d.Runtime, d.Guest)
	}
}

func TestHardware(t *testing.T) {
	seven := int32(9)
	s := start(t, esxsim.Config{
		Datastores: []esxsim.Datastore{{Name: "datastore1"}, {Name: "fast [1]"}},
		VMs: []esxsim.VM{{
			Name: "big", CPUs: 8, CoresPerSocket: 4, MemoryMiB: 4096, Firmware: "efi", SecureBoot: true, GuestID: "windows2019srv_64Guest",
			GuestFullName: "Windows", Annotation: "line one\nline two", HardwareVersion: "vmx-13", ISO: "[datastore1] iso/setup.iso",
			ExtraConfig: map[string]string{"disk.EnableUUID": "TRUE"},
			Disks: []esxsim.Disk{{Size: mib}, {Size: 2 * mib, Unit: &seven, Thick: true}, {Size: 3 * mib, Bus: "sata"},
				{Size: 4 * mib, Bus: "nvme", Datastore: "fast [1]"}, {Size: 5 * mib, Bus: "ide"}, {Size: 6 * mib, BusNumber: 1, Controller: "lsilogic-sas", Mode: "independent_persistent"}},
			NICs: []esxsim.NIC{{}, {Network: "DMZ", Model: "e1000", MAC: "00:50:56:aa:bb:cc", Disconnected: true}, {Network: "-"}},
		}}})
	vm := properties(t, login(t, s), "big", "config", "summary", "layoutEx", "datastore", "network")
	c := vm.Config
	if c.Hardware.NumCPU != 8 || *c.Hardware.NumCoresPerSocket != 4 || c.Firmware != "efi" || !*c.BootOptions.EfiSecureBootEnabled ||
		c.Annotation != "line one\nline two" || c.Version != "vmx-13" || c.GuestId != "windows2019srv_64Guest" {
		t.Errorf("config: %+v", c)
	}
	devices := object.VirtualDeviceList(c.Hardware.Device)
	type at struct {
		key, unit int32
		kb        int64
		ctl, file string
	}
	exp := []at{{2000, 0, 1024, "*types.ParaVirtualSCSIController", "[datastore1] big/big.vmdk"}, {2009, 9, 2048, "*types.ParaVirtualSCSIController", "[datastore1] big/big_1.vmdk"},
		{16000, 0, 3072, "*types.VirtualAHCIController", "[datastore1] big/big_2.vmdk"}, {32000, 0, 4096, "*types.VirtualNVMEController", "[fast [1]] big/big_3.vmdk"},
		{3000, 0, 5120, "*types.VirtualIDEController", "[datastore1] big/big_4.vmdk"}, {2016, 0, 6144, "*types.VirtualLsiLogicSASController", "[datastore1] big/big_5.vmdk"}}
	var got []at
	for _, d := range devices.SelectByType((*types.VirtualDisk)(nil)) {
		disk := d.(*types.VirtualDisk)
		ctl := devices.FindByKey(disk.ControllerKey)
		if ctl == nil {
			t.Fatalf("disk %d has no controller %d", disk.Key, disk.ControllerKey)
		}
		got = append(got, at{disk.Key, *disk.UnitNumber, disk.CapacityInKB, fmt.Sprintf("%T", ctl), disk.Backing.(*types.VirtualDiskFlatVer2BackingInfo).FileName})
	}
	if fmt.Sprint(got) != fmt.Sprint(exp) {
		t.Errorf("disks\n got %v\nwant %v", got, exp)
	}
	seen := map[int32]bool{}
	for _, d := range devices {
		if k := d.GetVirtualDevice().Key; seen[k] {
			t.Errorf("two devices have key %d", k)
		} else {
			seen[k] = true
		}
	}
	nics := devices.SelectByType((*types.VirtualEthernetCard)(nil))
	if len(nics) != 3 || len(vm.Network) != 2 || len(vm.Datastore) != 2 {
		t.Errorf("%d adapters, %d networks, %d datastores", len(nics), len(vm.Network), len(vm.Datastore))
	}
	e := nics[1].(types.BaseVirtualEthernetCard).GetVirtualEthernetCard()
	if e.MacAddress != "00:50:56:aa:bb:cc" || e.Connectable.StartConnected || e.Backing.(*types.VirtualEthernetCardNetworkBackingInfo).DeviceName != "DMZ" {
		t.Errorf("second adapter: %+v", e)
	}
	kinds := map[string]int{}
	for _, f := range vm.LayoutEx.File {
		kinds[f.Type]++
	}
	if kinds["diskDescriptor"] != 6 || kinds["diskExtent"] != 6 || kinds["config"] != 1 {
		t.Errorf("files: %v", kinds)
	}
}

func TestAwkwardNames(t *testing.T) {
	names := []string{"web 01", "a+b", "a[b]c", "100%", "x/y", "Käse-Ω-🦀", "tab\tname", "csi\u009b31m", "..", "a|b\"c", "same"}
	var vms []esxsim.VM
	for _, n := range names {
		vms = append(vms, esxsim.VM{Name: n, Power: esxsim.On, Disks: []esxsim.Disk{{Size: mib}}})
	}
	vms = append(vms, esxsim.VM{Name: "same", Disks: []esxsim.Disk{{Size: mib}}})
	s := start(t, esxsim.Config{VMs: vms})
	c := login(t, s)
	got, err := list(t.Context(), c, "config.files.vmPathName", "config.instanceUuid")
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range []string{"web 01", "a+b", "a[b]c", "100%25", "x%2fy", "Käse-Ω-🦀", "tab\tname", "csi\u009b31m", "..", "a|b\"c", "same"} {
		if _, ok := got[n]; !ok {
			t.Errorf("no vm %q in the list", n)
		}
	}
	v, err := view.NewManager(c.Client).CreateContainerView(t.Context(), c.ServiceContent.RootFolder, []string{"VirtualMachine"}, true)
	if err != nil {
		t.Fatal(err)
	}
	var all []mo.VirtualMachine
	if err := v.Retrieve(t.Context(), []string{"VirtualMachine"}, []string{"name", "config.instanceUuid", "config.files"}, &all); err != nil {
		t.Fatal(err)
	}
	paths, uuids := map[string]bool{}, map[string]bool{}
	for _, vm := range all {
		paths[vm.Config.Files.VmPathName], uuids[vm.Config.InstanceUuid] = true, true
	}
	if len(all) != len(vms) || len(paths) != len(vms) || len(uuids) != len(vms) {
		t.Errorf("%d vms, %d paths, %d instance UUIDs, want %d of each", len(all), len(paths), len(uuids), len(vms))
	}
}

func TestVCenter(t *testing.T) {
	s := start(t, esxsim.Config{VCenter: true, VMs: []esxsim.VM{
		{Name: "web", Folder: "prod/web", Disks: []esxsim.Disk{{Size: mib}}, NICs: []esxsim.NIC{{Network: "DC0_DVPG0"}}}, {Name: "web", Folder: "test"}}})
	c := login(t, s)
	if !c.IsVC() {
		t.Fatal("no vCenter")
	}
	v, err := view.NewManager(c.Client).CreateContainerView(t.Context(), c.ServiceContent.RootFolder, []string{"VirtualMachine"}, true)
	if err != nil {
		t.Fatal(err)
	}
	var vms []mo.VirtualMachine
	if err := v.Retrieve(t.Context(), nil, []string{"name"}, &vms); err != nil {
		t.Fatal(err)
	}
	var paths []string
	for _, vm := range vms {
		a, err := mo.Ancestors(t.Context(), c.Client, c.ServiceContent.PropertyCollector, vm.Self)
		if err != nil {
			t.Fatal(err)
		}
		p := ""
		for _, e := range a[1:] {
			p = path.Join(p, e.Name)
		}
		paths = append(paths, p)
	}
	if len(paths) != 2 || paths[0] == paths[1] {
		t.Errorf("paths: %v", paths)
	}
	u := folderURL(s, "datastore1", "web/web.vmdk")
	q := u.Query()
	q.Set("dcPath", "DC0")
	u.RawQuery = q.Encode()
	if a := fetch(t, s, plain(t), "GET", u, ""); a.StatusCode != 200 {
		t.Errorf("descriptor: %s", a.Status)
	}
}

func TestMany(t *testing.T) {
	s := start(t, esxsim.Config{VMs: esxsim.Many(100, manyLike)})
	c := login(t, s)
	vms, err := list(t.Context(), c, "runtime.powerState")
	if err != nil || len(vms) != 100 || vms["vm-0100"].Runtime.PowerState != "poweredOn" {
		t.Fatalf("%d vms, %v", len(vms), err)
	}
	h := plain(t)
	if a := fetch(t, s, h, "GET", folderURL(s, "datastore1", "vm-0007/vm-0007.vmdk"), ""); a.StatusCode != 200 {
		t.Errorf("descriptor: %s", a.Status)
	}
}

var manyLike = esxsim.VM{Name: "vm", Power: esxsim.On, Disks: []esxsim.Disk{{Size: 1 << 30}}, NICs: []esxsim.NIC{{}}}
