package vsphere_test

import (
	"testing"

	"landfall/engine/fault"
	"landfall/engine/machine"
	"landfall/sources"
	"landfall/sources/esxsim"
	"landfall/sources/vsphere"
)

func mender(t *testing.T, s sources.Source) sources.Mender {
	t.Helper()
	m, ok := s.(sources.Mender)
	if !ok {
		t.Fatal("it does not mend")
	}
	return m
}

func inspected(t *testing.T, s sources.Source, r machine.Ref) machine.VM {
	t.Helper()
	vm, err := s.Inspect(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	return vm
}

func TestConsolidate(t *testing.T) {
	sim, doc := start(t, esxsim.Config{VMs: []esxsim.VM{{Name: "web", Power: esxsim.On, Disks: []esxsim.Disk{{Size: 4 << 20}}}}})
	src := dial(t, doc, vsphere.Options{})
	web := ref(t, src, "web")
	if err := sim.TakeSnapshot("web", "a"); err != nil {
		t.Fatal(err)
	}
	if err := sim.KeepDeltas("web", 1); err != nil {
		t.Fatal(err)
	}
	if err := sim.RemoveSnapshots("web", "a"); err != nil {
		t.Fatal(err)
	}
	if vm := inspected(t, src, web); !vm.Consolidate || !vm.DiskList[0].Parent {
		t.Fatalf("nothing is left behind: %+v", vm.DiskList)
	}
	if err := sim.FailSOAP(esxsim.SOAPFault{Method: "ConsolidateVMDisks_Task", Fault: "NoPermission", Count: 1}); err != nil {
		t.Fatal(err)
	}
	expect(t, mender(t, src).Consolidate(t.Context(), web), fault.Blocked, fault.NoPermission)
	for range 2 { // the second has nothing to do
		if err := mender(t, src).Consolidate(t.Context(), web); err != nil {
			t.Fatal(err)
		}
	}
	if vm := inspected(t, src, web); vm.Consolidate || vm.DiskList[0].Parent {
		t.Errorf("not consolidated: %+v", vm.DiskList)
	}
	if n := sim.Counters().Calls["ConsolidateVMDisks_Task"]; n != 2 {
		t.Errorf("asked %d times, want the one that failed and one more", n)
	}
}

func TestRemoveMedia(t *testing.T) {
	sim, doc := start(t, esxsim.Config{VMs: []esxsim.VM{{Name: "web", Power: esxsim.On, ISO: "[datastore1] iso/tools.iso", Disks: []esxsim.Disk{{Size: 1 << 20}}}}})
	src := dial(t, doc, vsphere.Options{})
	web := ref(t, src, "web")
	media := func() (in string, drives int) {
		for _, d := range inspected(t, src, web).Devices {
			if d.Kind == "cdrom" {
				in, drives = d.Detail, drives+1
			}
		}
		return in, drives
	}
	if in, n := media(); in == "" || n != 1 {
		t.Fatalf("%d drives with %q", n, in)
	}
	for range 2 {
		if err := mender(t, src).RemoveMedia(t.Context(), web); err != nil {
			t.Fatal(err)
		}
	}
	if in, n := media(); in != "" || n != 1 {
		t.Errorf("%d drives with %q", n, in)
	}
	if n := sim.Counters().Calls["ReconfigVM_Task"]; n != 1 {
		t.Errorf("the VM was changed %d times, want once", n)
	}
}
