package esxsim_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/vmware/govmomi"
	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/vim25/types"

	"landfall/sources/esxsim"
)

func chain(t *testing.T, c *govmomi.Client) []string {
	t.Helper()
	vm := properties(t, c, "web", "config.hardware.device")
	disk := object.VirtualDeviceList(vm.Config.Hardware.Device).SelectByType((*types.VirtualDisk)(nil))[0].(*types.VirtualDisk)
	var files []string
	for b := disk.Backing.(*types.VirtualDiskFlatVer2BackingInfo); b != nil; b = b.Parent {
		files = append(files, strings.TrimPrefix(b.FileName, "[datastore1] web/"))
	}
	return files
}

func snapshots(t *testing.T, c *govmomi.Client) string {
	t.Helper()
	vm := properties(t, c, "web", "snapshot")
	if vm.Snapshot == nil {
		return ""
	}
	var names []string
	for l := vm.Snapshot.RootSnapshotList; len(l) > 0; l = l[0].ChildSnapshotList {
		names = append(names, l[0].Name)
	}
	return strings.Join(names, " ")
}

func TestSnapshotChain(t *testing.T) {
	vm := web(esxsim.On)
	vm.Snapshots = []esxsim.Snapshot{{Name: "old", Description: "before the update"}}
	dir := t.TempDir()
	s := start(t, esxsim.Config{Dir: dir, VMs: []esxsim.VM{vm}})
	c := login(t, s)
	same := func(when, names string, files ...string) {
		t.Helper()
		if got := snapshots(t, c); got != names {
			t.Errorf("%s: snapshots %q, want %q", when, got, names)
		}
		if got := strings.Join(chain(t, c), " "); got != strings.Join(files, " ") {
			t.Errorf("%s: chain %v, want %v", when, got, files)
		}
	}
	same("configured", "old", "web-000001.vmdk", "web.vmdk")
	task, err := vmNamed(t, c, "web").CreateSnapshot(t.Context(), "new", "", false, false)
	if err != nil {
		t.Fatal(err)
	}
	info, err := task.WaitForResult(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	same("taken", "old new", "web-000002.vmdk", "web-000001.vmdk", "web.vmdk")
	a := fetch(t, s, plain(t), http.MethodGet, folderURL(s, "datastore1", "web/web-000002.vmdk"), "")
	if !strings.Contains(string(a.data), `parentFileNameHint="web-000001.vmdk"`) || !strings.Contains(string(a.data), `VMFSSPARSE "web-000002-delta.vmdk"`) {
		t.Errorf("descriptor of the delta:\n%s", a.data)
	}
	for _, f := range []string{"web-flat.vmdk", "web-000001-delta.vmdk", "web-000002-delta.vmdk"} {
		if a := fetch(t, s, plain(t), http.MethodGet, folderURL(s, "datastore1", "web/"+f), "0-0"); a.StatusCode != http.StatusInternalServerError {
			t.Errorf("%s of a running chain: %s", f, a.Status)
		}
	}

	s.Close()
	s = start(t, esxsim.Config{Dir: dir, VMs: []esxsim.VM{vm}})
	c = login(t, s)
	same("started again", "old new", "web-000002.vmdk", "web-000001.vmdk", "web.vmdk")
	if err := s.RemoveSnapshots("web", "old"); err != nil {
		t.Fatal(err)
	}
	same("first one removed", "new", "web-000002.vmdk", "web.vmdk")
	var ref types.ManagedObjectReference
	if vm := properties(t, c, "web", "snapshot"); vm.Snapshot != nil && vm.Snapshot.CurrentSnapshot != nil {
		ref = *vm.Snapshot.CurrentSnapshot
	}
	if ref == (types.ManagedObjectReference{}) || info.Result == nil {
		t.Fatalf("no current snapshot; the task gave %v", info.Result)
	}
	task, err = vmNamed(t, c, "web").RemoveSnapshot(t.Context(), ref.Value, false, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := task.Wait(t.Context()); err != nil {
		t.Fatal(err)
	}
	same("all removed", "", "web.vmdk")
	for _, f := range files(t, c, "[datastore1] web") {
		if strings.Contains(f, "-0000") {
			t.Errorf("%s is left", f)
		}
	}
}
