package kubevirt_test

import (
	"strings"
	"testing"

	"landfall/engine/machine"
	"landfall/engine/spec"
	"landfall/targets"
	"landfall/targets/kubevirt"
)

func TestBootDiskIsTheFirstToBeTried(t *testing.T) {
	vm := machine.VM{Summary: machine.Summary{Name: "web", GuestID: "debian12_64Guest", CPUs: 1, MemoryMiB: 256}, Firmware: "bios", DiskList: []machine.Disk{
		{Key: 2000, Bus: machine.SCSI, Capacity: 1 << 30, Datastore: "ds"},
		{Key: 2001, Bus: machine.SCSI, Unit: 1, Capacity: 1 << 30, Datastore: "ds"},
		{Key: 15000, Bus: machine.SATA, Capacity: 1 << 30, Datastore: "ds"},
	}}
	for _, c := range []struct {
		what, chosen string
		order        []int32
		want         string // of the disks, "" for an error
	}{
		{"nothing is known", "", nil, "disk-0"},
		{"the VM's own order", "", []int32{15000, 2000}, "disk-2"},
		{"chosen", "scsi0:1", []int32{15000}, "disk-1"},
		{"no such disk", "ide0:0", nil, ""},
	} {
		t.Run(c.what, func(t *testing.T) {
			v := vm
			v.BootDisks = c.order
			p, err := kubevirt.Render(targets.Input{Owner: owner, VM: v, Classes: map[string]targets.StorageClass{"fast": {VolumeMode: "Block"}}, Spec: spec.Spec{
				Destination: spec.Destination{Namespace: "vms", BootDisk: c.chosen},
				Storage:     spec.Storage{Mappings: []spec.StorageMapping{{Datastore: "*", StorageClass: "fast"}}},
			}.Default()})
			if c.want == "" {
				if err == nil || !strings.Contains(err.Error(), c.chosen) {
					t.Errorf("rendered all the same: %v", err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			_, rest, ok := strings.Cut(p.Manifest, "bootOrder: 1\n")
			if !ok || strings.Contains(rest, "bootOrder") {
				t.Fatalf("not one disk is the first:\n%s", p.Manifest)
			}
			_, name, _ := strings.Cut(rest, "name: ")
			if got, _, _ := strings.Cut(name, "\n"); got != c.want {
				t.Errorf("boots from %s, want %s", got, c.want)
			}
		})
	}
}
