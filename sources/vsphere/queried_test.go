package vsphere_test

import (
	"context"
	"strings"
	"testing"

	"landfall/engine/fault"
	"landfall/sources"
	"landfall/sources/esxsim"
	"landfall/sources/vsphere"
)

func TestAllocatedCannotBeTold(t *testing.T) {
	tracked := esxsim.Config{VMs: []esxsim.VM{{Name: "web", ChangeTracking: true, Disks: []esxsim.Disk{{Size: diskSize, Contents: content(7, esxsim.Range{Length: diskSize})}}}}}
	for _, c := range []struct {
		name   string
		fault  esxsim.SOAPFault
		class  fault.Class
		reason string
	}{
		{"host fails", esxsim.SOAPFault{Fault: "FileFault"}, fault.Blocked, fault.Unsupported},
		{"no permission", esxsim.SOAPFault{Fault: "NoPermission"}, fault.Blocked, fault.Unsupported},
		{"answer lost", esxsim.SOAPFault{Lost: true, Count: 1}, fault.Transient, fault.Unreachable}, // not a reason to read it all
	} {
		t.Run(c.name, func(t *testing.T) {
			sim, _, _, d := opened(t, tracked, vsphere.Options{})
			c.fault.Method = "QueryChangedDiskAreas"
			if err := sim.FailSOAP(c.fault); err != nil {
				t.Fatal(err)
			}
			_, err := d.Allocated(context.Background())
			expect(t, err, c.class, c.reason)
			sim.ClearFaults()
			if areas, err := d.Allocated(context.Background()); err != nil || len(areas) != 1 || areas[0] != (sources.Extent{Length: diskSize}) {
				t.Errorf("afterwards: %v, %v", areas, err)
			}
		})
	}
}

// What the host tells is a fraction of the disk, so that a thin disk costs what it holds.
func TestAllocatedFollowsTheData(t *testing.T) {
	data := content(7, esxsim.Range{Offset: 1 << 20, Length: 1 << 20}, esxsim.Range{Offset: 1 << 30, Length: 100})
	sim, _, _, d := opened(t, esxsim.Config{AreasPerCall: 1, VMs: []esxsim.VM{{Name: "web", ChangeTracking: true, Disks: []esxsim.Disk{{Size: 4 << 30, Contents: data}}}}}, vsphere.Options{})
	areas, err := d.Allocated(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	sum := int64(0)
	for _, a := range areas {
		sum += a.Length
	}
	if sum < 1<<20+100 || sum > 4<<20 {
		t.Errorf("%d bytes in %v", sum, areas)
	}
	if n := sim.Counters().Calls["QueryChangedDiskAreas"]; n < 2 {
		t.Errorf("%d calls: the answers were not partial", n)
	}
}

func TestRefusedDisksAreNamed(t *testing.T) {
	_, doc := start(t, esxsim.Config{VMs: []esxsim.VM{
		{Name: "snapshot", Disks: []esxsim.Disk{{Size: 1 << 20}}, Snapshots: []esxsim.Snapshot{{Name: "s"}}},
		{Name: "bare", Disks: []esxsim.Disk{{Size: 1 << 20, Bare: true}}},
	}})
	src := dial(t, doc, vsphere.Options{})
	for vm, want := range map[string]struct{ reason, says string }{
		"snapshot": {fault.Unsupported, "snapshot"},
		"bare":     {fault.NotFound, "scsi0:0"},
	} {
		whole, err := src.Inspect(context.Background(), ref(t, src, vm))
		if err != nil {
			t.Fatal(err)
		}
		_, err = src.OpenDisk(context.Background(), whole, whole.DiskList[0])
		expect(t, err, fault.Blocked, want.reason)
		if !strings.Contains(err.Error(), want.says) || fault.HintOf(err) == "" {
			t.Errorf("%s: %v [%s]", vm, err, fault.HintOf(err))
		}
	}
}
