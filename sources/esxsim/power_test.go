package esxsim_test

import (
	"context"
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/vmware/govmomi"
	"github.com/vmware/govmomi/fault"
	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"

	"landfall/sources/esxsim"
)

func TestShutdown(t *testing.T) {
	running := func(name string, tools esxsim.Tools, b esxsim.Shutdown) esxsim.VM {
		return esxsim.VM{Name: name, Power: esxsim.On, Tools: tools, Shutdown: b}
	}
	s := start(t, esxsim.Config{VMs: []esxsim.VM{
		running("obeys", esxsim.ToolsRunning, esxsim.Shutdown{Delay: 300 * time.Millisecond}),
		running("obeys, unmanaged tools", esxsim.ToolsUnmanaged, esxsim.Shutdown{}),
		running("refuses", esxsim.ToolsRunning, esxsim.Shutdown{Answer: esxsim.Refuses}),
		running("fails", esxsim.ToolsRunning, esxsim.Shutdown{Answer: esxsim.Fails}),
		running("no tools", esxsim.ToolsNone, esxsim.Shutdown{}),
		running("tools stopped", esxsim.ToolsStopped, esxsim.Shutdown{}),
		{Name: "off"},
	}})
	c := login(t, s)
	for name, want := range map[string]struct {
		fault types.BaseMethodFault
		off   bool
	}{
		"obeys": {nil, true}, "obeys, unmanaged tools": {nil, true}, "refuses": {nil, false}, "fails": {&types.ToolsUnavailable{}, false},
		"no tools": {&types.ToolsUnavailable{}, false}, "tools stopped": {&types.ToolsUnavailable{}, false}, "off": {&types.InvalidPowerState{}, true},
	} {
		vm := vmNamed(t, c, name)
		err := vm.ShutdownGuest(t.Context())
		if want.fault == nil && err != nil || want.fault != nil && !fault.Is(err, want.fault) {
			t.Errorf("%s: shutdown answers %v", name, err)
		}
		if want.off {
			eventually(t, name+" is off", func() bool { return state(t, c, name) == types.VirtualMachinePowerStatePoweredOff })
			continue
		}
		time.Sleep(100 * time.Millisecond)
		if got := state(t, c, name); got != types.VirtualMachinePowerStatePoweredOn {
			t.Errorf("%s: is %s", name, got)
		}
	}
	if got := s.Counters().Calls["ShutdownGuest"]; got != 7 {
		t.Errorf("counted %d calls", got)
	}
}

func state(t *testing.T, c *govmomi.Client, name string) types.VirtualMachinePowerState {
	t.Helper()
	return properties(t, c, name, "runtime.powerState").Runtime.PowerState
}

// A late shutdown must not hit a VM that was switched off and on again.
func TestShutdownOvertaken(t *testing.T) {
	s := start(t, esxsim.Config{VMs: []esxsim.VM{{Name: "slow", Power: esxsim.On, Shutdown: esxsim.Shutdown{Delay: 400 * time.Millisecond}}}})
	c := login(t, s)
	vm := vmNamed(t, c, "slow")
	if err := vm.ShutdownGuest(t.Context()); err != nil {
		t.Fatal(err)
	}
	wait(t, vm.PowerOff)
	wait(t, vm.PowerOn)
	time.Sleep(600 * time.Millisecond)
	if got := state(t, c, "slow"); got != types.VirtualMachinePowerStatePoweredOn {
		t.Fatalf("is %s", got)
	}
}

func wait(t *testing.T, f func(context.Context) (*object.Task, error)) {
	t.Helper()
	if err := try(t, f); err != nil {
		t.Fatal(err)
	}
}

func try(t *testing.T, f func(context.Context) (*object.Task, error)) error {
	t.Helper()
	task, err := f(t.Context())
	if err != nil {
		return err
	}
	return task.Wait(t.Context())
}

func TestHardOffIsWatched(t *testing.T) {
	s := start(t, esxsim.Config{VMs: []esxsim.VM{web(esxsim.On)}})
	c := login(t, s)
	vm := vmNamed(t, c, "web")
	seen := make(chan error, 1)
	go func() { seen <- vm.WaitForPowerState(t.Context(), types.VirtualMachinePowerStatePoweredOff) }()
	time.Sleep(100 * time.Millisecond)
	wait(t, vm.PowerOff)
	select {
	case err := <-seen:
		if err != nil {
			t.Fatal(err)
		}
	case <-time.After(5 * time.Second):
		t.Fatal("a watcher of runtime.powerState saw nothing")
	}
	p := properties(t, c, "web", "guest", "summary.runtime.powerState")
	if p.Guest.ToolsRunningStatus != "guestToolsNotRunning" || p.Guest.IpAddress != "" || p.Summary.Runtime.PowerState != "poweredOff" {
		t.Errorf("guest when off: %+v", p.Guest)
	}
	if err := try(t, vm.PowerOff); !fault.Is(err, &types.InvalidPowerState{}) {
		t.Errorf("off again: %v", err)
	}
	wait(t, vm.PowerOn)
	if p := properties(t, c, "web", "guest"); p.Guest.IpAddress != "192.0.2.7" {
		t.Errorf("guest when on again: %+v", p.Guest)
	}
}

// files lists the VM's folder through the datastore browser.
func files(t *testing.T, c *govmomi.Client, path string) []string {
	t.Helper()
	var stores []mo.Datastore
	vm := properties(t, c, "web", "datastore")
	if err := c.Retrieve(t.Context(), vm.Datastore, []string{"browser"}, &stores); err != nil {
		t.Fatal(err)
	}
	b := object.NewHostDatastoreBrowser(c.Client, stores[0].Browser)
	task, err := b.SearchDatastore(t.Context(), path, &types.HostDatastoreBrowserSearchSpec{MatchPattern: []string{"*"}, Details: &types.FileQueryFlags{FileSize: true}})
	if err != nil {
		t.Fatal(err)
	}
	info, err := task.WaitForResult(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, f := range info.Result.(types.HostDatastoreBrowserSearchResults).File {
		names = append(names, f.GetFileInfo().Path)
	}
	return names
}

func TestLocks(t *testing.T) {
	s := start(t, esxsim.Config{VMs: []esxsim.VM{web(esxsim.On)}, LockLinger: 300 * time.Millisecond})
	c, h := login(t, s), plain(t)
	locks := func() int {
		n := 0
		for _, f := range files(t, c, "[datastore1] web") {
			if f == "web.vmx.lck" || len(f) > 5 && f[len(f)-5:] == ".vswp" {
				n++
			}
		}
		return n
	}
	extent, descriptor := folderURL(s, "datastore1", "web/web-flat.vmdk"), folderURL(s, "datastore1", "web/web.vmdk")
	look := func(when string, wantLocks, wantStatus int) {
		t.Helper()
		if n := locks(); n != wantLocks {
			t.Errorf("%s: %d lock files, want %d", when, n, wantLocks)
		}
		for _, method := range []string{http.MethodGet, http.MethodHead} {
			if a := fetch(t, s, h, method, extent, ""); a.StatusCode != wantStatus {
				t.Errorf("%s: %s of the extent answers %s, want %d", when, method, a.Status, wantStatus)
			}
		}
		if a := fetch(t, s, h, http.MethodGet, descriptor, ""); a.StatusCode != http.StatusOK {
			t.Errorf("%s: the descriptor answers %s", when, a.Status)
		}
	}
	look("running", 2, http.StatusInternalServerError)
	wait(t, vmNamed(t, c, "web").PowerOff)
	look("just off", 2, http.StatusInternalServerError)
	eventually(t, "the locks are gone", func() bool { return locks() == 0 })
	look("off", 0, http.StatusOK)
	wait(t, vmNamed(t, c, "web").PowerOn)
	look("on again", 2, http.StatusInternalServerError)
	wait(t, vmNamed(t, c, "web").Suspend)
	eventually(t, "the locks of the suspended vm are gone", func() bool { return locks() == 0 })
	if !slices.Contains(files(t, c, "[datastore1] web"), "web.vmss") {
		t.Error("suspended without a suspend file")
	}
}
