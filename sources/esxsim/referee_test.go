package esxsim_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"landfall/sources/esxsim"
)

// qemu-img must read a disk and a snapshot's delta as it reads a host's.
func TestDisksForQemu(t *testing.T) {
	tool, err := exec.LookPath("qemu-img")
	if err != nil {
		t.Skip("qemu-img is not installed")
	}
	vm := web(esxsim.Off)
	data := []esxsim.Range{{Offset: 512, Length: 100_000}, {Offset: 2 * mib, Length: 4096}}
	vm.Disks = []esxsim.Disk{{Size: 3 * mib, Contents: esxsim.Contents{Seed: 7, Ranges: data}}} // qemu-img reads a delta sector by sector
	vm.Snapshots = []esxsim.Snapshot{{Name: "one"}, {Name: "two"}}
	s := start(t, esxsim.Config{VMs: []esxsim.VM{vm}})
	raw := filepath.Join(t.TempDir(), "expected.raw")
	whole := make([]byte, 3*mib)
	if _, err := (esxsim.Pattern{Seed: 7, Ranges: data}).ReadAt(whole, 0); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(raw, whole, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, file := range []string{"web.vmdk", "web-000001.vmdk", "web-000002.vmdk"} {
		vmdk := filepath.Join(s.Dir(), "datastores", "datastore1", "web", file)
		if out, err := exec.CommandContext(t.Context(), tool, "compare", "-f", "vmdk", "-F", "raw", vmdk, raw).CombinedOutput(); err != nil {
			t.Errorf("%s: %v\n%s", file, err, out)
		}
	}
}
