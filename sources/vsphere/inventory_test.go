package vsphere_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"

	"landfall/engine/machine"
	"landfall/sources/esxsim"
	"landfall/sources/vsphere"
)

func TestInspectMapsEverything(t *testing.T) {
	unit := int32(5)
	yes := true
	_, doc := start(t, esxsim.Config{VMs: []esxsim.VM{{
		Name: "big/one", Directory: "big", InstanceUUID: "52AA0000-0000-4000-8000-000000000001", UUID: "42AA0000-0000-4000-8000-000000000001",
		Power: esxsim.On, GuestID: "windows2019srv_64Guest", GuestFullName: "Windows", Annotation: "owner: ops", CPUs: 6, CoresPerSocket: 3, MemoryMiB: 4096,
		Firmware: "efi", SecureBoot: true, HardwareVersion: "vmx-19", ChangeTracking: true,
		ExtraConfig: map[string]string{"numa.nodeAffinity": "0"}, Hostname: "big.lab", IPs: []string{"192.0.2.9", "fe80::9"},
		Disks: []esxsim.Disk{
			{Size: 3 << 20, Bus: "nvme"},
			{Size: 2 << 20, Bus: "ide"},
			{Size: 1 << 20, Unit: &unit, Mode: "independent_persistent", Sharing: "sharingMultiWriter", Thick: true},
			{Size: 1<<20 + 512, BusNumber: 1, Controller: "lsilogic-sas"},
			{Size: 4 << 20, Bus: "sata"},
			{Size: 5 << 20},
		},
		NICs: []esxsim.NIC{
			{Network: "Prod VLAN 10", MAC: "00:50:56:AA:BB:01"},
			{Model: "e1000", MAC: "00:50:56:aa:bb:02", Disconnected: true},
			{Network: "-"},
		},
		Snapshots: []esxsim.Snapshot{{Name: "clean"}, {Name: "50%25 done"}},
		Adjust: func(vm *mo.VirtualMachine) {
			vm.Config.NestedHVEnabled, vm.Config.CpuHotAddEnabled = &yes, &yes
			vm.Config.CpuAffinity = &types.VirtualMachineAffinityInfo{AffinitySet: []int32{0, 2}}
			vm.Config.KeyId = &types.CryptoKeyId{KeyId: "k"}
			vm.Runtime.Question = &types.VirtualMachineQuestionInfo{Id: "1", Text: "moved or copied?"}
			vm.Runtime.ConsolidationNeeded = true
			device := func(label string) types.VirtualDevice {
				return types.VirtualDevice{Key: 13000, DeviceInfo: &types.Description{Label: label}}
			}
			vm.Config.Hardware.Device = append(vm.Config.Hardware.Device,
				&types.VirtualTPM{VirtualDevice: device("Virtual TPM")},
				&types.VirtualPCIPassthrough{VirtualDevice: device("PCI device 0")},
				&types.VirtualUSB{VirtualDevice: device("USB 1")},
				nil,
			)
		},
	}}})
	src := dial(t, doc, vsphere.Options{})
	vm, err := src.Inspect(context.Background(), machine.Ref{InstanceUUID: "52AA0000-0000-4000-8000-000000000001"})
	if err != nil {
		t.Fatal(err)
	}
	if vm.Name != "big/one" || vm.Ref.InstanceUUID != "52AA0000-0000-4000-8000-000000000001" || vm.Ref.MoRef == "" || vm.Folder == "" || vm.Host == "" {
		t.Errorf("identity: %+v", vm.Summary)
	}
	got := fmt.Sprintln(vm.BIOSUUID, vm.HardwareVersion, vm.Annotation, vm.CPUs, vm.CoresPerSocket, vm.MemoryMiB, vm.Firmware, vm.SecureBoot, vm.TPM, vm.Encrypted,
		vm.NestedHV, vm.HotAdd, vm.Pinned, vm.SnapshotNames, vm.Snapshots, vm.Consolidate, vm.ChangeTracking, vm.Question, vm.HostName, vm.Power, vm.Tools)
	if want := "42AA0000-0000-4000-8000-000000000001 19 owner: ops 6 3 4096 efi true true true " +
		"true true [cpu 0,2 numa 0] [clean 50% done] true true true moved or copied? big.lab on running\n"; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	var where []string
	for _, d := range vm.DiskList {
		where = append(where, fmt.Sprintf("%s %d", d.Where(), d.Capacity))
		if d.Datastore != "datastore1" || d.Backing != machine.Flat || d.Parent == d.Independent { // snapshots leave independent disks alone
			t.Errorf("disk: %+v", d)
		}
	}
	if diff := cmp.Diff([]string{"scsi0:0 5242880", "scsi0:5 1048576", "scsi1:0 1049088", "sata0:0 4194304", "ide0:0 2097152", "nvme0:0 3145728"}, where); diff != "" {
		t.Errorf("disks (-want +got):\n%s", diff)
	}
	if d := vm.DiskList[1]; !d.Independent || !d.Shared || d.Thin {
		t.Errorf("independent, shared and thick: %+v", d)
	}
	var nics []string
	for _, n := range vm.NICs {
		nics = append(nics, fmt.Sprintf("%s %s %q %v %v", n.Model, n.MAC, n.Network, n.StartConnected, len(n.Addresses) > 0))
	}
	if len(nics) != 3 || nics[0] != `vmxnet3 00:50:56:aa:bb:01 "Prod VLAN 10" true true` || nics[1] != `e1000 00:50:56:aa:bb:02 "VM Network" false false` || vm.NICs[2].Network != "" {
		t.Errorf("NICs: %q", nics)
	}
	kinds := map[string]bool{}
	for _, d := range vm.Devices {
		kinds[d.Kind] = true
	}
	if !kinds["pci"] || !kinds["usb"] {
		t.Errorf("devices left behind: %+v", vm.Devices)
	}
}

// A VM of which hardly anything is known is a row like the others and can be inspected.
func TestVMWithoutConfiguration(t *testing.T) {
	_, doc := start(t, esxsim.Config{VMs: []esxsim.VM{
		{Name: "web"},
		{Name: "lost", Adjust: func(vm *mo.VirtualMachine) {
			vm.Config, vm.Guest, vm.Snapshot, vm.Summary.Storage = nil, nil, nil, nil
			vm.Summary.Config = types.VirtualMachineConfigSummary{}
			vm.Runtime.ConnectionState = types.VirtualMachineConnectionStateInaccessible
		}},
		{Name: "vCLS-1", Adjust: func(vm *mo.VirtualMachine) {
			vm.Summary.Config.ManagedBy = &types.ManagedByInfo{ExtensionKey: "com.vmware.vim.eam", Type: "cluster-agent"}
		}},
	}})
	src := dial(t, doc, vsphere.Options{})
	rows, err := src.List(context.Background())
	if err != nil || len(rows) != 3 {
		t.Fatalf("%d rows, %v", len(rows), err)
	}
	agents := map[string]bool{}
	for _, r := range rows {
		agents[r.Name] = r.Agent
		if r.Name == "lost" {
			if r.Connection != "inaccessible" {
				t.Errorf("lost: %+v", r)
			}
			vm, err := src.Inspect(context.Background(), r.Ref)
			if err != nil || vm.Name != "lost" || len(vm.DiskList) != 0 {
				t.Errorf("inspected: %+v, %v", vm, err)
			}
		}
	}
	if agents["web"] || !agents["vCLS-1"] {
		t.Errorf("agents: %v", agents)
	}
}

func TestFoldersOnVCenter(t *testing.T) {
	_, doc := start(t, esxsim.Config{VCenter: true, VMs: []esxsim.VM{
		{Name: "web", Folder: "prod/web"}, {Name: "root"}, {Name: "a/b", Folder: "x"}, {Name: "web", Folder: "test"},
	}})
	src := dial(t, doc, vsphere.Options{})
	rows, err := src.List(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]int{}
	for _, r := range rows {
		got[r.Folder+" "+r.Name]++
		vm, err := src.Inspect(context.Background(), r.Ref)
		if err != nil || vm.Folder != r.Folder || vm.Name != r.Name {
			t.Errorf("listed in %q, inspected in %q: %v", r.Folder, vm.Folder, err)
		}
	}
	want := map[string]int{"/DC0/vm/prod/web web": 1, "/DC0/vm root": 1, "/DC0/vm/x a/b": 1, "/DC0/vm/test web": 1}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("folders (-want +got):\n%s", diff)
	}
}

func BenchmarkList5000(b *testing.B) {
	sim, doc := start(b, esxsim.Config{VMs: esxsim.Many(5000, esxsim.VM{Name: "vm", Disks: []esxsim.Disk{{Size: 1 << 30}}, NICs: []esxsim.NIC{{}}})})
	src := dial(b, doc, vsphere.Options{})
	sim.ResetCounters()
	b.ResetTimer()
	for range b.N {
		rows, err := src.List(context.Background())
		if err != nil || len(rows) != 5000 {
			b.Fatalf("%d rows, %v", len(rows), err)
		}
	}
	b.StopTimer()
	calls := int64(0)
	for _, n := range sim.Counters().Calls {
		calls += n
	}
	b.ReportMetric(float64(calls)/float64(b.N), "calls/op")
}
