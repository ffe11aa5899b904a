package vsphere_test

import (
	"bytes"
	"context"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"landfall/engine/fault"
	"landfall/engine/spec"
	"landfall/sources"
	"landfall/sources/esxsim"
	"landfall/sources/sourcetest"
	"landfall/sources/vsphere"
)

// reading opens the first disk as a snapshot of now froze it.
func reading(t *testing.T, f sourcetest.LiveFixture) (sources.Disk, error) {
	t.Helper()
	vm, err := f.Source.Inspect(t.Context(), f.VM)
	if err != nil {
		t.Fatal(err)
	}
	d, err := f.Source.OpenFrozen(t.Context(), vm, leased(t, f), vm.DiskList[0])
	if err == nil {
		t.Cleanup(func() { _ = d.Close() })
	}
	return d, err
}

func all(t *testing.T, d sources.Disk) ([]byte, error) {
	t.Helper()
	out := make([]byte, d.Size())
	if w, ok := d.(sources.Whole); ok {
		return out, w.ReadAll(t.Context(), func(off int64, p []byte) error { copy(out[off:], p); return nil })
	}
	r, err := d.Open(t.Context(), 0, d.Size())
	if err != nil {
		return nil, err
	}
	defer r.Close()
	_, err = io.ReadFull(r, out)
	return out, err
}

func TestLeaseOutlivesItsTimeout(t *testing.T) {
	sim, f := running(t, esxsim.Config{LeaseTimeout: 500 * time.Millisecond, Rate: 2 << 20}, vsphere.Options{LeaseProgress: 50 * time.Millisecond}, spec.NBD{})
	d, err := reading(t, f)
	if err != nil {
		t.Fatal(err)
	}
	time.Sleep(700 * time.Millisecond) // it is opened, and read later
	got, err := all(t, d)
	if err != nil || !bytes.Equal(got, f.Content) {
		t.Errorf("%v", err)
	}
	if c := sim.Counters(); c.LeasesExpired != 0 || c.Leases != 1 {
		t.Errorf("%d leases, %d expired", c.Leases, c.LeasesExpired)
	}
}

func TestLeaseThatDiedIsMadeAnew(t *testing.T) {
	sim, f := running(t, esxsim.Config{LeaseTimeout: 100 * time.Millisecond, Rate: 2 << 20}, vsphere.Options{LeaseProgress: time.Minute}, spec.NBD{})
	d, err := reading(t, f)
	if err != nil {
		t.Fatal(err)
	}
	_, err = all(t, d)
	if fault.ClassOf(err) != fault.Transient {
		t.Errorf("%s %s: %v", fault.ClassOf(err), fault.ReasonOf(err), err)
	}
	sim.SetRate(0)
	var got []byte
	for range 50 { // a busy machine may not read it in time at once
		if got, err = all(t, d); err == nil {
			break
		}
		if fault.ClassOf(err) != fault.Transient {
			t.Fatal(err)
		}
	}
	if err != nil || !bytes.Equal(got, f.Content) {
		t.Errorf("read again: %v", err)
	}
}

func TestExportLeavesNoLease(t *testing.T) {
	sim, f := running(t, esxsim.Config{LeaseTimeout: 300 * time.Millisecond}, vsphere.Options{}, spec.NBD{})
	d, err := reading(t, f)
	if err == nil {
		err = d.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	time.Sleep(500 * time.Millisecond)
	if c := sim.Counters(); c.Leases != 1 || c.LeasesExpired != 0 || c.Calls["HttpNfcLeaseAbort"] != 1 {
		t.Errorf("%d leases, %d expired, %d aborted", c.Leases, c.LeasesExpired, c.Calls["HttpNfcLeaseAbort"])
	}
}

func TestExportFaults(t *testing.T) {
	for name, c := range map[string]struct {
		http   esxsim.HTTPFault
		class  fault.Class
		reason string
	}{
		"ends early":           {esxsim.HTTPFault{End: true, After: 200 << 10}, fault.Transient, fault.EarlyEnd},
		"connection is broken": {esxsim.HTTPFault{Cut: true, After: 200 << 10}, fault.Transient, fault.EarlyEnd},
		"goes silent":          {esxsim.HTTPFault{Stall: true, After: 200 << 10}, fault.Transient, vsphere.Stalled},
		"no more sessions":     {esxsim.HTTPFault{Status: 503}, fault.Transient, vsphere.Busy},
	} {
		t.Run(name, func(t *testing.T) {
			sim, f := running(t, esxsim.Config{}, vsphere.Options{StallTimeout: 500 * time.Millisecond}, spec.NBD{})
			d, err := reading(t, f)
			if err != nil {
				t.Fatal(err)
			}
			c.http.Path, c.http.Count = "/nfc/", 1
			if err := sim.FailHTTP(c.http); err != nil {
				t.Fatal(err)
			}
			_, err = all(t, d)
			expect(t, err, c.class, c.reason)
			if got, err := all(t, d); err != nil || !bytes.Equal(got, f.Content) {
				t.Errorf("read again: %v", err)
			}
		})
	}
}

func TestSnapshotRemovedUnderAnExport(t *testing.T) {
	sim, f := running(t, esxsim.Config{}, vsphere.Options{}, spec.NBD{})
	d, err := reading(t, f)
	if err != nil {
		t.Fatal(err)
	}
	if err := sim.RemoveSnapshots("web", ""); err != nil {
		t.Fatal(err)
	}
	if _, err := all(t, d); fault.ClassOf(err) == "" {
		t.Errorf("%v", err)
	}
	if _, err := all(t, d); !fault.Is(err, fault.NotFound) {
		t.Errorf("read again: %s %v", fault.ReasonOf(err), err)
	}
}

func nbdkit(t *testing.T, image []byte) []string {
	t.Helper()
	if _, err := exec.LookPath("nbdkit"); err != nil {
		t.Skip("nbdkit is not here")
	}
	file := filepath.Join(t.TempDir(), "image")
	if err := os.WriteFile(file, image, 0o600); err != nil {
		t.Fatal(err)
	}
	return []string{"nbdkit", "-f", "-r", "-U", "{socket}", "file", file}
}

func TestReadersInTheirOrder(t *testing.T) {
	content := make([]byte, live.Size)
	if _, err := io.ReadFull(io.NewSectionReader(pattern(live.Contents), 0, live.Size), content); err != nil {
		t.Fatal(err)
	}
	t.Run("nbd first", func(t *testing.T) {
		sim, f := running(t, esxsim.Config{}, vsphere.Options{}, spec.NBD{Command: nbdkit(t, content)})
		d, err := reading(t, f)
		if err != nil {
			t.Fatal(err)
		}
		if _, whole := d.(sources.Whole); whole || d.Reader() != "nbd" {
			t.Errorf("reader %s", d.Reader())
		}
		if got, err := all(t, d); err != nil || !bytes.Equal(got, content) {
			t.Errorf("%v", err)
		}
		areas, err := d.Allocated(t.Context())
		if err != nil || len(areas) == 0 {
			t.Errorf("%v, %v", areas, err)
		}
		if n := sim.Counters().Leases; n != 0 {
			t.Errorf("%d leases", n)
		}
	})
	t.Run("export where nbd fails", func(t *testing.T) {
		_, f := running(t, esxsim.Config{}, vsphere.Options{}, spec.NBD{Command: []string{"sh", "-c", "exit 1", "{socket}"}})
		d, err := reading(t, f)
		if err != nil || d.Reader() != "export" {
			t.Fatalf("%v", err)
		}
	})
	t.Run("neither", func(t *testing.T) {
		sim, f := running(t, esxsim.Config{}, vsphere.Options{}, spec.NBD{Command: []string{"sh", "-c", "echo no libvixDiskLib here >&2; exit 1", "{socket}"}})
		if err := sim.FailSOAP(esxsim.SOAPFault{Method: "ExportSnapshot", Fault: "NoPermission"}); err != nil {
			t.Fatal(err)
		}
		_, err := reading(t, f)
		if err == nil || !strings.Contains(err.Error(), "no libvixDiskLib here") || !strings.Contains(err.Error(), "export: no permission") || fault.HintOf(err) == "" {
			t.Errorf("%v [%s]", err, fault.HintOf(err))
		}
		if fault.ClassOf(err) != fault.Blocked {
			t.Errorf("%s %s", fault.ClassOf(err), fault.ReasonOf(err))
		}
	})
}

func TestSnapshotFaults(t *testing.T) {
	spec28 := func(sim *esxsim.Server) error {
		for range 28 {
			if err := sim.TakeSnapshot("web", "deep"); err != nil {
				return err
			}
		}
		return nil
	}
	soap := func(f esxsim.SOAPFault) func(*esxsim.Server) error {
		return func(sim *esxsim.Server) error { return sim.FailSOAP(f) }
	}
	for name, c := range map[string]struct {
		spoil  func(*esxsim.Server) error
		class  fault.Class
		reason string
	}{
		"as many as the host allows": {spec28, fault.Blocked, fault.Refused},
		"another task is at work":    {soap(esxsim.SOAPFault{Method: "CreateSnapshot_Task", Fault: "TaskInProgress", Count: 1}), fault.Transient, vsphere.InProgress},
		"the task fails":             {soap(esxsim.SOAPFault{Method: "CreateSnapshot_Task", Fault: "NoDiskSpace", InTask: true, Count: 1}), fault.Blocked, "NoDiskSpace"},
		"the answer is lost":         {soap(esxsim.SOAPFault{Method: "CreateSnapshot_Task", Lost: true, Count: 1}), fault.Transient, fault.Unreachable},
	} {
		t.Run(name, func(t *testing.T) {
			sim, f := running(t, esxsim.Config{}, vsphere.Options{}, spec.NBD{})
			if err := c.spoil(sim); err != nil {
				t.Fatal(err)
			}
			_, err := f.Source.TakeSnapshot(t.Context(), f.VM, sources.SnapshotSpec{Name: "lease", Description: "ours"})
			expect(t, err, c.class, c.reason)
			if name == "as many as the host allows" {
				return
			}
			// Again: the same one, not a second.
			var list []sources.Snapshot
			for range 2 {
				leased(t, f)
			}
			if list, err = f.Source.Snapshots(t.Context(), f.VM); err != nil || len(list) != 1 {
				t.Errorf("%+v, %v", list, err)
			}
		})
	}
}

func TestSnapshotWhoseTaskIsForgotten(t *testing.T) {
	sim, f := running(t, esxsim.Config{}, vsphere.Options{}, spec.NBD{})
	if err := sim.FailSOAP(esxsim.SOAPFault{Method: "CreateSnapshot_Task", Forget: true, Count: 1}); err != nil {
		t.Fatal(err)
	}
	if s := leased(t, f); s.ID == "" || len(s.ChangeIDs) != 1 {
		t.Errorf("%+v", s)
	}
}

func TestDeltasLeftBehindAreMerged(t *testing.T) {
	sim, f := running(t, esxsim.Config{}, vsphere.Options{}, spec.NBD{})
	s := leased(t, f)
	f.Write(1<<20, []byte("in the delta"))
	if err := sim.KeepDeltas("web", 1); err != nil {
		t.Fatal(err)
	}
	if err := sim.FailSOAP(esxsim.SOAPFault{Method: "ConsolidateVMDisks_Task", Fault: "FileLocked", InTask: true, Count: 1}); err != nil {
		t.Fatal(err)
	}
	err := f.Source.RemoveSnapshot(t.Context(), f.VM, s)
	if fault.ClassOf(err) != fault.Transient || !strings.Contains(fault.HintOf(err), "consolidate") {
		t.Errorf("%s %s: %v [%s]", fault.ClassOf(err), fault.ReasonOf(err), err, fault.HintOf(err))
	}
	if err := f.Source.RemoveSnapshot(t.Context(), f.VM, s); err != nil {
		t.Errorf("again: %v", err)
	}
	vm, err := f.Source.Inspect(t.Context(), f.VM)
	if err != nil || vm.Consolidate || vm.DiskList[0].Parent {
		t.Errorf("%v, consolidation needed %v, %+v", err, vm.Consolidate, vm.DiskList[0])
	}
}

func TestTrackingFaults(t *testing.T) {
	for name, c := range map[string]struct {
		spoil  func(*esxsim.Server) error
		reason string
	}{
		"answers make no progress": {func(s *esxsim.Server) error { return s.SetTracking("web", 0, esxsim.TrackingFaults{Stuck: true}) }, fault.TrackingLost},
		"file fault": {func(s *esxsim.Server) error {
			return s.FailSOAP(esxsim.SOAPFault{Method: "QueryChangedDiskAreas", Fault: "FileFault"})
		}, fault.TrackingLost},
		"another tracking file": {func(s *esxsim.Server) error { return s.LoseTracking("web") }, fault.TrackingLost},
		"no permission": {func(s *esxsim.Server) error {
			return s.FailSOAP(esxsim.SOAPFault{Method: "QueryChangedDiskAreas", Fault: "NoPermission"})
		}, fault.NoPermission},
	} {
		t.Run(name, func(t *testing.T) {
			sim, f := running(t, esxsim.Config{}, vsphere.Options{}, spec.NBD{})
			vm, err := f.Source.Inspect(t.Context(), f.VM)
			if err != nil {
				t.Fatal(err)
			}
			s := leased(t, f)
			if err := c.spoil(sim); err != nil {
				t.Fatal(err)
			}
			_, err = f.Source.Changed(t.Context(), vm, &s, vm.DiskList[0], s.ChangeIDs[vm.DiskList[0].Key], 0)
			expect(t, err, fault.Blocked, c.reason)
		})
	}
}

func TestDiskThatGrewIsNotAskedAbout(t *testing.T) {
	sim, f := running(t, esxsim.Config{}, vsphere.Options{}, spec.NBD{})
	vm, err := f.Source.Inspect(t.Context(), f.VM)
	if err != nil {
		t.Fatal(err)
	}
	if err := sim.GrowDisk("web", 0, live.Size+512); err != nil {
		t.Fatal(err)
	}
	_, err = f.Source.Changed(t.Context(), vm, nil, vm.DiskList[0], "*", 0)
	expect(t, err, fault.Blocked, fault.SizeChanged)
	_, err = f.Source.OpenFrozen(t.Context(), vm, leased(t, f), vm.DiskList[0])
	expect(t, err, fault.Blocked, fault.SizeChanged)
}

func TestVMThatMoved(t *testing.T) {
	for _, storage := range []bool{false, true} {
		sim, f := running(t, esxsim.Config{VCenter: true}, vsphere.Options{}, spec.NBD{})
		vm, err := f.Source.Inspect(t.Context(), f.VM)
		if err != nil {
			t.Fatal(err)
		}
		d, err := reading(t, f)
		if err != nil {
			t.Fatal(err)
		}
		id := leased(t, f).ChangeIDs[vm.DiskList[0].Key]
		if err := sim.Move("web", "esx02", storage); err != nil {
			t.Fatal(err)
		}
		now, err := f.Source.Inspect(t.Context(), f.VM)
		if err != nil || now.Host != "esx02" || vm.Host == now.Host {
			t.Errorf("on host %q, then on %q, %v", vm.Host, now.Host, err)
		}
		if _, err := all(t, d); fault.ClassOf(err) != fault.Transient {
			t.Errorf("the export that was open: %v", err)
		}
		if got, err := all(t, d); err != nil || !bytes.Equal(got, f.Content) {
			t.Errorf("read again: %v", err)
		}
		s := leased(t, f)
		_, err = f.Source.Changed(t.Context(), vm, &s, vm.DiskList[0], id, 0)
		if storage {
			expect(t, err, fault.Blocked, fault.TrackingLost)
		} else if err != nil {
			t.Error(err)
		}
	}
}

func TestLiveRefusals(t *testing.T) {
	old := []esxsim.VM{{Name: "web", Power: esxsim.On, HardwareVersion: "vmx-04", Disks: []esxsim.Disk{live}}}
	_, f := running(t, esxsim.Config{VMs: old}, vsphere.Options{}, spec.NBD{})
	expect(t, f.Source.SetChangeTracking(t.Context(), f.VM, true), fault.Blocked, fault.Unsupported)

	_, f = running(t, esxsim.Config{FreeLicence: true}, vsphere.Options{}, spec.NBD{})
	_, err := f.Source.TakeSnapshot(t.Context(), f.VM, sources.SnapshotSpec{Name: "lease"})
	expect(t, err, fault.Blocked, fault.Restricted)
	expect(t, f.Source.SetChangeTracking(t.Context(), f.VM, false), fault.Blocked, fault.Restricted)

	apart := live
	apart.Mode = "independent_persistent"
	_, f = running(t, esxsim.Config{VMs: []esxsim.VM{{Name: "web", Power: esxsim.On, Disks: []esxsim.Disk{apart}}}}, vsphere.Options{}, spec.NBD{})
	_, err = reading(t, f)
	expect(t, err, fault.Blocked, fault.Unsupported)
}

// A guest that writes all the while: what is read in the end, by the first stream and the changes after it, is the disk.
func TestRoundsAgainstAWritingGuest(t *testing.T) {
	sim, f := running(t, esxsim.Config{AreasPerCall: 2}, vsphere.Options{}, spec.NBD{})
	if err := sim.SetWriter("web", esxsim.Writer{Rate: 2 << 20, Block: 16 << 10, Seed: 5}); err != nil {
		t.Fatal(err)
	}
	ctx := context.Background()
	vm, err := f.Source.Inspect(ctx, f.VM)
	if err != nil {
		t.Fatal(err)
	}
	d, err := reading(t, f)
	if err != nil {
		t.Fatal(err)
	}
	image, err := all(t, d)
	if err != nil {
		t.Fatal(err)
	}
	list, err := f.Source.Snapshots(ctx, f.VM)
	if err != nil {
		t.Fatal(err)
	}
	id := list[0].ChangeIDs[vm.DiskList[0].Key]
	if want, err := sim.DigestAt("web", 0, "lease"); err != nil || sha(image) != want {
		t.Fatalf("the frozen disk: %v", err)
	}
	time.Sleep(300 * time.Millisecond)
	f.Stop()
	if err := f.Source.RemoveSnapshot(ctx, f.VM, list[0]); err != nil {
		t.Fatal(err)
	}
	off, err := f.Source.OpenDisk(ctx, vm, vm.DiskList[0])
	if err != nil {
		t.Fatal(err)
	}
	defer off.Close()
	changed := int64(0)
	for at := int64(0); at < live.Size; {
		c, err := f.Source.Changed(ctx, vm, nil, vm.DiskList[0], id, at)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range c.Extents {
			r, err := off.Open(ctx, e.Offset, e.Length)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := io.ReadFull(r, image[e.Offset:e.End()]); err != nil {
				t.Fatal(err)
			}
			r.Close()
			changed += e.Length
		}
		at = c.Reach
	}
	if want, err := sim.Digest("web", 0); err != nil || sha(image) != want || changed == 0 {
		t.Errorf("after %d changed bytes the image is not the disk, %v", changed, err)
	}
}
