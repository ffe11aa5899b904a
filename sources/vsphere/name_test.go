package vsphere_test

import (
	"context"
	"io"
	"strings"
	"testing"

	"landfall/sources/esxsim"
	"landfall/sources/vsphere"
)

// TestAwkwardNames reads a disk whose every name is awkward, from hosts that take the escaping off once and twice.
func TestAwkwardNames(t *testing.T) {
	for _, c := range []struct{ name, vm, shown, store, dir, extent string }{
		{"plus", "a+b", "a+b", "my+store", "a+b", ""},
		{"brackets", "web [old]", "web [old]", "store [1]", "web [old]", ""},
		{"percent", "100%", "100%", "50% full", "100% sure", ""},
		{"percent that looks like an escape", "a%20b", "a%20b", "s", "a%20b", "b%2Bc.vmdk"},
		{"spaces", "my  vm", "my  vm", "my store", "my  vm", " leading.vmdk"},
		{"another script", "база-ü-数据", "база-ü-数据", "хранилище", "каталог/数", "ß.vmdk"},
		{"URL characters", "a&b=c;d#e?f", "a&b=c;d#e?f", "s&t", "a&b=c;d#e?f", ""},
		{"quotes", `the "big" one's`, `the "big" one's`, "s", `the "big" one's`, ""},
		{"slash in the name", "a/b", "a/b", "s", "", ""},
		{"percent that is an escape of a slash", "50%2f off", "50%2f off", "50%2f off", "50%2f off", "50%2f off-flat.vmdk"},
		{"two pluses", "c++", "c++", "c++", "c++", "c++-flat.vmdk"},
		{"brackets first", "[x] y", "[x] y", "[x", "[x] y", "[x] y-flat.vmdk"},
		{"pipe", "p|q", "p|q", "p|q", "p|q", "p|q-flat.vmdk"},
		{"scripts and pictures", "ü ñ 漢字 🙂", "ü ñ 漢字 🙂", "ü ñ 漢字 🙂", "ü ñ 漢字 🙂", "ü ñ 漢字 🙂-flat.vmdk"},
		{"dots alone", "..", "..", "...", "vm of dots", "..-flat.vmdk"},
		{"dots and spaces at the end", "end. . ", "end. . ", "store.", "end. .", "end. . "},
		{"80 characters", strings.Repeat("漢", 80), strings.Repeat("漢", 80), strings.Repeat("s", 42), strings.Repeat("x", 80), strings.Repeat("y", 80) + "-flat.vmdk"},
		{"backslash", `a\b`, `a\b`, "s", "", ""},
		{"extent named otherwise", "plain", "plain", "s", "plain", "0123-4567.dat"},
	} {
		for _, host := range []struct {
			name   string
			config esxsim.Config
		}{{"decodes once", esxsim.Config{}}, {"decodes twice", esxsim.Config{DecodeTwice: true}}, {"vCenter", esxsim.Config{VCenter: true}}} {
			t.Run(c.name+", "+host.name, func(t *testing.T) {
				bytes := content(3, esxsim.Range{Length: 1 << 20})
				config := host.config
				config.Datastores = []esxsim.Datastore{{Name: c.store}}
				folder := ""
				if host.config.VCenter {
					folder = "[x] 50% c++/p|q 漢字 🙂"
				}
				config.VMs = []esxsim.VM{{Name: c.vm, Folder: folder, Directory: c.dir, Disks: []esxsim.Disk{{Size: 1 << 20, Extent: c.extent, Contents: bytes}}}}
				sim, doc := start(t, config)
				src := dial(t, doc, vsphere.Options{})
				vm, err := src.Inspect(context.Background(), ref(t, src, c.shown))
				if err != nil {
					t.Fatal(err)
				}
				if !strings.HasSuffix(vm.Folder, folder) {
					t.Errorf("folder %q, want %q", vm.Folder, folder)
				}
				if err := src.ProveOff(context.Background(), vm); err != nil {
					t.Error(err)
				}
				d, err := src.OpenDisk(context.Background(), vm, vm.DiskList[0])
				if err != nil {
					t.Fatal(err)
				}
				defer d.Close()
				for range 2 {
					r, err := d.Open(context.Background(), 0, d.Size())
					if err != nil {
						t.Fatal(err)
					}
					got, err := io.ReadAll(r)
					_ = r.Close()
					if err != nil {
						t.Fatal(err)
					}
					want := make([]byte, len(got))
					if _, err := pattern(bytes).ReadAt(want, 0); err != nil || string(got) != string(want) {
						t.Errorf("the bytes differ (%v)", err)
					}
				}
				if n := sim.Counters().Refused[404]; n > 1 {
					t.Errorf("%d requests missed: the way of escaping was not remembered", n)
				}
			})
		}
	}
}
