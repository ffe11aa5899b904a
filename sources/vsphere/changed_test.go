package vsphere_test

import (
	"testing"

	"landfall/engine/fault"
	"landfall/engine/spec"
	"landfall/sources"
	"landfall/sources/esxsim"
	"landfall/sources/vsphere"
)

// TestAnIDOfAnotherTrackingFile is not asked about, whatever the host would say: what only that file knew would be left out.
func TestAnIDOfAnotherTrackingFile(t *testing.T) {
	sim, f := running(t, esxsim.Config{}, vsphere.Options{}, spec.NBD{})
	ctx := t.Context()
	before := leased(t, f)
	vm, err := f.Source.Inspect(ctx, f.VM)
	if err != nil {
		t.Fatal(err)
	}
	disk := vm.DiskList[0]
	since := before.ChangeIDs[disk.Key]
	if err := f.Source.RemoveSnapshot(ctx, f.VM, before); err != nil {
		t.Fatal(err)
	}
	f.Write(1<<20, []byte("known to the old file alone"))
	f.Lose()
	if err := sim.SetTracking("web", 0, esxsim.TrackingFaults{Lax: true}); err != nil {
		t.Fatal(err)
	}
	after, err := f.Source.TakeSnapshot(ctx, f.VM, sources.SnapshotSpec{Name: "after", Description: "ours"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.Source.Changed(ctx, vm, &after, disk, since, 0); !fault.Is(err, fault.TrackingLost) {
		t.Errorf("as of a snapshot: %v", err)
	}
	if _, err := f.Source.Changed(ctx, vm, &after, disk, after.ChangeIDs[disk.Key], 0); err != nil {
		t.Errorf("an id of the file that is there: %v", err)
	}
	f.Stop()
	if _, err := f.Source.Changed(ctx, vm, nil, disk, since, 0); !fault.Is(err, fault.TrackingLost) {
		t.Errorf("when it is off: %v", err)
	}
}
