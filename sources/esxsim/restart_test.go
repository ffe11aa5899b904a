package esxsim_test

import (
	"net/http"
	"testing"

	"github.com/vmware/govmomi/fault"
	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/vim25/types"

	"landfall/sources/esxsim"
)

func TestStartedAgain(t *testing.T) {
	cfg := esxsim.Config{Dir: t.TempDir(), VMs: []esxsim.VM{web(esxsim.On), {Name: "gone"}, {Name: "db", Power: esxsim.Off}}}
	s := start(t, cfg)
	c := login(t, s)
	print, ref := s.Fingerprint(), vmNamed(t, c, "db").Reference()
	wait(t, vmNamed(t, c, "web").PowerOff)
	wait(t, vmNamed(t, c, "db").PowerOn)
	if err := s.WriteDisk("web", 0, 30*mib, []byte("written by the guest")); err != nil {
		t.Fatal(err)
	}
	if err := s.GrowDisk("web", 0, 65*mib); err != nil {
		t.Fatal(err)
	}
	if err := s.Unregister("gone"); err != nil {
		t.Fatal(err)
	}
	if err := s.Rename("db", "db/2"); err != nil {
		t.Fatal(err)
	}
	before, err := s.Digest("web", 0)
	if err != nil {
		t.Fatal(err)
	}
	s.Close()

	s = start(t, cfg)
	c = login(t, s)
	if s.Fingerprint() != print {
		t.Error("another certificate")
	}
	if got := state(t, c, "web"); got != types.VirtualMachinePowerStatePoweredOff {
		t.Errorf("web is %s", got)
	}
	if got := state(t, c, "db%2f2"); got != types.VirtualMachinePowerStatePoweredOn {
		t.Errorf("db is %s", got)
	}
	if got := vmNamed(t, c, "db%2f2").Reference(); got != ref {
		t.Errorf("db was %s, is %s", ref, got)
	}
	if vms, _ := list(t.Context(), c); len(vms) != 2 {
		t.Errorf("%d vms", len(vms))
	}
	after, err := s.Digest("web", 0)
	if err != nil || after != before {
		t.Errorf("digest %s, was %s, %v", after, before, err)
	}
	a := fetch(t, s, plain(t), http.MethodGet, folderURL(s, "datastore1", "web/web-flat.vmdk"), "31457280-31457299")
	if string(a.data) != "written by the guest" {
		t.Errorf("read %q", a.data)
	}
	vm := properties(t, c, "web", "config.hardware.device")
	d := object.VirtualDeviceList(vm.Config.Hardware.Device).SelectByType((*types.VirtualDisk)(nil))[0].(*types.VirtualDisk)
	if d.CapacityInBytes != 65*mib {
		t.Errorf("the disk has %d bytes", d.CapacityInBytes)
	}
}

// What a session has looked at before must not outlive it.
func TestUnregistered(t *testing.T) {
	s := start(t, esxsim.Config{VMs: []esxsim.VM{web(esxsim.On)}})
	c := login(t, s)
	vm := vmNamed(t, c, "web")
	wait(t, vm.PowerOff)
	if err := s.Unregister("web"); err != nil {
		t.Fatal(err)
	}
	if _, err := vm.PowerOn(t.Context()); !fault.Is(err, &types.ManagedObjectNotFound{}) {
		t.Errorf("power on: %v", err)
	}
	if _, err := vm.PowerState(t.Context()); !fault.Is(err, &types.ManagedObjectNotFound{}) {
		t.Errorf("power state: %v", err)
	}
}
