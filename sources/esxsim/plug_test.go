package esxsim_test

import (
	"testing"

	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"

	"landfall/sources/esxsim"
)

// TestDisksComeAndGo while the VM has a snapshot: a disk that came later has a part in the later ones alone, and keeps its bytes.
func TestDisksComeAndGo(t *testing.T) {
	s := start(t, esxsim.Config{VMs: []esxsim.VM{web(esxsim.On)}})
	c := login(t, s)
	ok := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	disks := func() int {
		vm := properties(t, c, "web", "config.hardware.device")
		return len(object.VirtualDeviceList(vm.Config.Hardware.Device).SelectByType((*types.VirtualDisk)(nil)))
	}
	before := disks()
	ok(s.TakeSnapshot("web", "first"))
	ok(s.AddDisk("web", esxsim.Disk{Size: 2 << 20, Contents: esxsim.Contents{Seed: 9, Ranges: []esxsim.Range{{Length: 1 << 20}}}}))
	ok(s.WriteDisk("web", before, 0, []byte("in the base")))
	want, err := s.Digest("web", before)
	ok(err)
	ok(s.TakeSnapshot("web", "second"))
	ok(s.RemoveSnapshots("web", "first"))
	if got, err := s.DigestAt("web", before, "second"); err != nil || got != want {
		t.Errorf("as the second snapshot has it: %s (%v), want %s", got, err, want)
	}
	ok(s.WriteDisk("web", before, 4096, []byte("in the delta")))
	want, err = s.Digest("web", before)
	ok(err)
	ok(s.RemoveSnapshots("web", "second"))
	if got, err := s.Digest("web", before); err != nil || got != want || disks() != before+1 {
		t.Errorf("merged: %s (%v), want %s; %d disks", got, err, want, disks())
	}
	ok(s.RemoveDisk("web", before))
	if disks() != before {
		t.Errorf("%d disks, want %d", disks(), before)
	}
	if s.RemoveDisk("web", before) == nil {
		t.Error("removed twice")
	}
}

// TestAVMNamesItsTasks, so that who comes later finds what is still done to it.
func TestAVMNamesItsTasks(t *testing.T) {
	s := start(t, esxsim.Config{VMs: []esxsim.VM{web(esxsim.On)}})
	c := login(t, s)
	ref, _ := snap(t, c, "one")
	recent := properties(t, c, "web", "recentTask").RecentTask
	if len(recent) != 1 {
		t.Fatalf("%v", recent)
	}
	var task mo.Task
	if err := c.RetrieveOne(t.Context(), recent[0], []string{"info"}, &task); err != nil {
		t.Fatal(err)
	}
	if task.Info.DescriptionId != "VirtualMachine.createSnapshot" || task.Info.State != types.TaskInfoStateSuccess || task.Info.Result != ref {
		t.Errorf("%+v", task.Info)
	}
}
