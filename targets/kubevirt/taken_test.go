package kubevirt

import (
	"strings"
	"testing"

	"landfall/targets"
)

func TestVolumesOf(t *testing.T) {
	long := strings.Repeat("x", 60)
	wanted := map[string]bool{"web": true, "web-disk-1": true, long: true, strings.Repeat("y", 55): true}
	v := volumesOf(wanted)
	for vm := range wanted {
		for _, n := range []int{0, 9, 10, 99, 100, 255} {
			if got, ok := v.vm(targets.VolumeName(vm, n)); !ok || got != vm {
				t.Errorf("disk %d of %s is found as %q, %v", n, vm, got, ok)
			}
		}
	}
	for _, other := range []string{"web", "web-disk-", "web-disk-01", "web-disk-256", "web-disk--1", "web-disk-1x", "db-disk-0", "", "-disk-0", long + "-disk-0", targets.VolumeName(long+"z", 0)} {
		if vm, ok := v.vm(other); ok {
			t.Errorf("%s is taken for a volume of %s", other, vm)
		}
	}
}

func BenchmarkVolumesOf5000VMs(b *testing.B) {
	wanted := map[string]bool{}
	for i := range 5000 {
		wanted[targets.Suffixed("web-server", "-"+strings.Repeat("x", i%50)+string(rune('a'+i%26)))] = true
	}
	b.ReportAllocs()
	for b.Loop() {
		volumesOf(wanted)
	}
}

func BenchmarkRender(b *testing.B) {
	in := plain()
	in.VM.DiskList = mixed(12)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Render(in); err != nil {
			b.Fatal(err)
		}
	}
}
