package esxsim_test

import (
	"crypto/sha256"
	"encoding/hex"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/vmware/govmomi"
	"github.com/vmware/govmomi/fault"
	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/property"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"

	"landfall/sources/esxsim"
)

// snap takes a snapshot and gives its reference and its disk's change id.
func snap(t *testing.T, c *govmomi.Client, name string) (types.ManagedObjectReference, string) {
	t.Helper()
	task, err := vmNamed(t, c, "web").CreateSnapshot(t.Context(), name, "", false, false)
	if err != nil {
		t.Fatal(err)
	}
	info, err := task.WaitForResult(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	ref := info.Result.(types.ManagedObjectReference)
	return ref, snapshotID(t, c, ref)
}

func snapshotID(t *testing.T, c *govmomi.Client, ref types.ManagedObjectReference) string {
	t.Helper()
	var s mo.VirtualMachineSnapshot
	if err := property.DefaultCollector(c.Client).RetrieveOne(t.Context(), ref, []string{"config.hardware.device"}, &s); err != nil {
		t.Fatal(err)
	}
	disk := object.VirtualDeviceList(s.Config.Hardware.Device).SelectByType((*types.VirtualDisk)(nil))[0].(*types.VirtualDisk)
	return disk.Backing.(*types.VirtualDiskFlatVer2BackingInfo).ChangeId
}

func digest(t *testing.T, s *esxsim.Server) string {
	t.Helper()
	sum, err := s.Digest("web", 0)
	if err != nil {
		t.Fatal(err)
	}
	return sum
}

func write(t *testing.T, s *esxsim.Server, off int64, text string) {
	t.Helper()
	if err := s.WriteDisk("web", 0, off, []byte(text)); err != nil {
		t.Fatal(err)
	}
}

func TestSnapshotFreezesWhatTheGuestWritesOn(t *testing.T) {
	s := start(t, esxsim.Config{VMs: []esxsim.VM{web(esxsim.On)}})
	before := digest(t, s)
	for _, name := range []string{"a", "b"} {
		if err := s.TakeSnapshot("web", name); err != nil {
			t.Fatal(err)
		}
		write(t, s, 20*mib+100, "after "+name)
		write(t, s, 63*mib+500, "after "+name)
	}
	now := digest(t, s)
	at := func(name string) string {
		t.Helper()
		sum, err := s.DigestAt("web", 0, name)
		if err != nil {
			t.Fatal(err)
		}
		return sum
	}
	b := at("b")
	if at("a") != before || b == before || b == now || now == before {
		t.Errorf("before %s, a %s, b %s, now %s", before, at("a"), b, now)
	}
	if err := s.RemoveSnapshots("web", "a"); err != nil {
		t.Fatal(err)
	}
	if at("b") != b || digest(t, s) != now {
		t.Error("removing a snapshot changed what others hold")
	}
	if err := s.RemoveSnapshots("web", "b"); err != nil {
		t.Fatal(err)
	}
	if err := s.SetPower("web", esxsim.Off); err != nil {
		t.Fatal(err)
	}
	a := fetch(t, s, plain(t), http.MethodGet, folderURL(s, "datastore1", "web/web-flat.vmdk"), "")
	sum := sha256.Sum256(a.data)
	if hex.EncodeToString(sum[:]) != now {
		t.Error("the base does not hold what was written")
	}
}

func TestChangedAreasAsOfASnapshot(t *testing.T) {
	vm := web(esxsim.On)
	vm.ChangeTracking = true
	dir := t.TempDir()
	s := start(t, esxsim.Config{Dir: dir, AreasPerCall: 1, VMs: []esxsim.VM{vm}})
	c := login(t, s)
	_, idA := snap(t, c, "a")
	write(t, s, 5*mib-1, "xy") // two grains
	write(t, s, 30*mib, "later overwritten")
	refB, idB := snap(t, c, "b")
	write(t, s, 30*mib, "after b")
	write(t, s, 50*mib, "after b")
	all := func(c *govmomi.Client, id string, ref *types.ManagedObjectReference) []esxsim.Range {
		t.Helper()
		var got []esxsim.Range
		for off := int64(0); off < 64*mib; {
			info, err := query(t, c, "web", types.QueryChangedDiskAreas{ChangeId: id, Snapshot: ref, StartOffset: off})
			if err != nil {
				t.Fatal(err)
			}
			if info.Length <= 0 {
				t.Fatalf("no progress at %d", off)
			}
			for _, a := range info.ChangedArea {
				got = append(got, esxsim.Range{Offset: a.Start, Length: a.Length})
			}
			off = info.StartOffset + info.Length
		}
		return got
	}
	const grain = 64 << 10
	first := []esxsim.Range{{Offset: 5*mib - grain, Length: 2 * grain}, {Offset: 30 * mib, Length: grain}}
	if got := all(c, idA, &refB); !reflect.DeepEqual(got, first) {
		t.Errorf("a to b: %v, want %v", got, first)
	}
	s.Close() // cleanly: the ids live on
	s = start(t, esxsim.Config{Dir: dir, AreasPerCall: 1, VMs: []esxsim.VM{vm}})
	c = login(t, s)
	if err := s.RemoveSnapshots("web", ""); err != nil {
		t.Fatal(err)
	}
	if err := s.SetPower("web", esxsim.Off); err != nil {
		t.Fatal(err)
	}
	then := []esxsim.Range{{Offset: 30 * mib, Length: grain}, {Offset: 50 * mib, Length: grain}}
	if got := all(c, idB, nil); !reflect.DeepEqual(got, then) {
		t.Errorf("b to now: %v, want %v", got, then)
	}

	if err := s.SetTracking("web", 0, esxsim.TrackingFaults{Omit: []esxsim.Range{{Offset: 30 * mib, Length: mib}}}); err != nil {
		t.Fatal(err)
	}
	if got := all(c, idB, nil); !reflect.DeepEqual(got, then[1:]) {
		t.Errorf("a lie: %v", got)
	}
	if err := s.SetTracking("web", 0, esxsim.TrackingFaults{Stuck: true}); err != nil {
		t.Fatal(err)
	}
	if info, err := query(t, c, "web", types.QueryChangedDiskAreas{ChangeId: idB}); err != nil || info.Length != 0 {
		t.Errorf("stuck: %+v, %v", info, err)
	}
	if err := s.SetTracking("web", 0, esxsim.TrackingFaults{}); err != nil {
		t.Fatal(err)
	}
	if err := s.GrowDisk("web", 0, 65*mib); err != nil {
		t.Fatal(err)
	}
	if _, err := query(t, c, "web", types.QueryChangedDiskAreas{ChangeId: idB}); !fault.Is(err, &types.FileFault{}) {
		t.Errorf("id from before the disk grew: %v", err)
	}
}

func TestTrackingDies(t *testing.T) {
	for name, kill := range map[string]func(*testing.T, *esxsim.Server){
		"another tracking file": func(t *testing.T, s *esxsim.Server) {
			if err := s.LoseTracking("web"); err != nil {
				t.Fatal(err)
			}
		},
		"switched off and on": func(t *testing.T, s *esxsim.Server) {
			c := login(t, s)
			for _, on := range []bool{false, true} {
				task, err := vmNamed(t, c, "web").Reconfigure(t.Context(), types.VirtualMachineConfigSpec{ChangeTrackingEnabled: &on})
				if err == nil {
					err = task.Wait(t.Context())
				}
				if err != nil {
					t.Fatal(err)
				}
				eventually(t, "switched", func() bool {
					_, err := query(t, c, "web", types.QueryChangedDiskAreas{})
					return (err == nil) == on
				})
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			vm := web(esxsim.Off)
			vm.ChangeTracking = true
			s := start(t, esxsim.Config{VMs: []esxsim.VM{vm}})
			c := login(t, s)
			_, id := snap(t, c, "a")
			if err := s.RemoveSnapshots("web", ""); err != nil {
				t.Fatal(err)
			}
			if _, err := query(t, c, "web", types.QueryChangedDiskAreas{ChangeId: id}); err != nil {
				t.Fatal(err)
			}
			kill(t, s)
			if _, err := query(t, c, "web", types.QueryChangedDiskAreas{ChangeId: id}); !fault.Is(err, &types.FileFault{}) {
				t.Errorf("the old id: %v", err)
			}
		})
	}
}

func TestTrackingOfARunningVMBeginsAtTheStun(t *testing.T) {
	s := start(t, esxsim.Config{VMs: []esxsim.VM{web(esxsim.On)}})
	c := login(t, s)
	on := true
	task, err := vmNamed(t, c, "web").Reconfigure(t.Context(), types.VirtualMachineConfigSpec{ChangeTrackingEnabled: &on})
	if err == nil {
		err = task.Wait(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
	_, id := snap(t, c, "stun")
	if id == "" || id == "*" {
		t.Errorf("the snapshot that stunned has change id %q", id)
	}
	off := false
	if _, err := vmNamed(t, c, "web").Reconfigure(t.Context(), types.VirtualMachineConfigSpec{ChangeTrackingEnabled: &off}); !fault.Is(err, &types.InvalidState{}) {
		t.Errorf("switched with a snapshot: %v", err)
	}
}

// export opens a lease and gives the stream of the first disk.
func export(t *testing.T, s *esxsim.Server, c *govmomi.Client, ref types.ManagedObjectReference) (types.ManagedObjectReference, *http.Response) {
	t.Helper()
	res, err := methods.ExportSnapshot(t.Context(), c.Client, &types.ExportSnapshot{This: ref})
	if err != nil {
		t.Fatal(err)
	}
	var l mo.HttpNfcLease
	eventually(t, "the lease is ready", func() bool {
		err := property.DefaultCollector(c.Client).RetrieveOne(t.Context(), res.Returnval, []string{"state", "info"}, &l)
		return err == nil && l.State == types.HttpNfcLeaseStateReady
	})
	url := strings.Replace(l.Info.DeviceUrl[0].Url, "*", s.URL().Host, 1)
	got, err := plain(t).Get(url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { got.Body.Close() })
	return res.Returnval, got
}

func TestExportForQemu(t *testing.T) {
	if _, err := exec.LookPath("qemu-img"); err != nil {
		t.Skip("qemu-img is not here")
	}
	s := start(t, esxsim.Config{VMs: []esxsim.VM{web(esxsim.On)}})
	c := login(t, s)
	write(t, s, 63*mib+mib-3, "end")
	ref, _ := snap(t, c, "a")
	write(t, s, 40*mib, "not in the snapshot")
	_, res := export(t, s, c, ref)
	data, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode != http.StatusOK || res.ContentLength >= 0 {
		t.Fatalf("%s, length %d, %v", res.Status, res.ContentLength, err)
	}
	dir := t.TempDir()
	vmdk, raw := filepath.Join(dir, "a.vmdk"), filepath.Join(dir, "a.raw")
	if err := os.WriteFile(vmdk, data, 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("qemu-img", "convert", "-f", "vmdk", "-O", "raw", vmdk, raw).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	image, err := os.ReadFile(raw)
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(image)
	if want, err := s.DigestAt("web", 0, "a"); err != nil || hex.EncodeToString(sum[:]) != want {
		t.Errorf("qemu-img reads %x, the snapshot is %s, %v", sum, want, err)
	}
	if len(data) > 20*mib {
		t.Errorf("%d bytes for 14 MiB of data", len(data))
	}
}

func TestLeaseDiesOfSilence(t *testing.T) {
	s := start(t, esxsim.Config{LeaseTimeout: 300 * time.Millisecond, Rate: 4 * mib, VMs: []esxsim.VM{web(esxsim.On)}})
	c := login(t, s)
	ref, _ := snap(t, c, "a")
	lease, res := export(t, s, c, ref)
	if _, err := io.Copy(io.Discard, res.Body); err == nil {
		t.Error("the stream came to its end")
	}
	if _, err := methods.HttpNfcLeaseProgress(t.Context(), c.Client, &types.HttpNfcLeaseProgress{This: lease, Percent: 1}); !fault.Is(err, &types.ManagedObjectNotFound{}) {
		t.Errorf("progress: %v", err)
	}
	if n := s.Counters().LeasesExpired; n != 1 {
		t.Errorf("%d leases expired", n)
	}
}

func TestExportCutByScript(t *testing.T) {
	s := start(t, esxsim.Config{VMs: []esxsim.VM{web(esxsim.On)}})
	c := login(t, s)
	ref, _ := snap(t, c, "a")
	if err := s.FailHTTP(esxsim.HTTPFault{Path: "/nfc/", End: true, After: mib, Count: 1}); err != nil {
		t.Fatal(err)
	}
	_, res := export(t, s, c, ref)
	if n, err := io.Copy(io.Discard, res.Body); err != nil || n != mib {
		t.Errorf("%d bytes, %v: want an end that looks right", n, err)
	}
}

func TestTaskForgotten(t *testing.T) {
	s := start(t, esxsim.Config{VMs: []esxsim.VM{web(esxsim.On)}})
	c := login(t, s)
	ref, _ := snap(t, c, "a")
	if err := s.FailSOAP(esxsim.SOAPFault{Method: "RemoveSnapshot_Task", Forget: true, Count: 1}); err != nil {
		t.Fatal(err)
	}
	task, err := vmNamed(t, c, "web").RemoveSnapshot(t.Context(), ref.Value, false, nil)
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, "the task is forgotten", func() bool {
		var m mo.Task
		return fault.Is(property.DefaultCollector(c.Client).RetrieveOne(t.Context(), task.Reference(), []string{"info"}, &m), &types.ManagedObjectNotFound{})
	})
	if got := snapshots(t, c); got != "" {
		t.Errorf("snapshots %q", got)
	}
}

func TestDeltaLeftBehindNeedsConsolidation(t *testing.T) {
	s := start(t, esxsim.Config{VMs: []esxsim.VM{web(esxsim.On)}})
	c := login(t, s)
	ref, _ := snap(t, c, "a")
	write(t, s, 9*mib, "written after")
	now := digest(t, s)
	if err := s.KeepDeltas("web", 1); err != nil {
		t.Fatal(err)
	}
	task, err := vmNamed(t, c, "web").RemoveSnapshot(t.Context(), ref.Value, false, nil)
	if err == nil {
		err = task.Wait(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
	vm := properties(t, c, "web", "runtime.consolidationNeeded")
	if snapshots(t, c) != "" || len(chain(t, c)) != 2 || !vm.Runtime.ConsolidationNeeded {
		t.Errorf("snapshots %q, chain %v, needed %v", snapshots(t, c), chain(t, c), vm.Runtime.ConsolidationNeeded)
	}
	res, err := methods.ConsolidateVMDisks_Task(t.Context(), c.Client, &types.ConsolidateVMDisks_Task{This: vmNamed(t, c, "web").Reference()})
	if err == nil {
		err = object.NewTask(c.Client, res.Returnval).Wait(t.Context())
	}
	if err != nil || len(chain(t, c)) != 1 || digest(t, s) != now {
		t.Errorf("consolidated: %v, chain %v", err, chain(t, c))
	}
}

func TestSnapshotsThatFail(t *testing.T) {
	tracked := web(esxsim.On)
	tracked.ChangeTracking = true
	s := start(t, esxsim.Config{VMs: []esxsim.VM{tracked}})
	c := login(t, s)
	if err := s.SetQuiesce("web", false); err != nil {
		t.Fatal(err)
	}
	task, err := vmNamed(t, c, "web").CreateSnapshot(t.Context(), "quiet", "", false, true)
	if err == nil {
		err = task.Wait(t.Context())
	}
	if !fault.Is(err, &types.ApplicationQuiesceFault{}) || snapshots(t, c) != "" {
		t.Errorf("quiesced: %v, snapshots %q", err, snapshots(t, c))
	}
	for range 28 {
		if err := s.TakeSnapshot("web", "deep"); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.TakeSnapshot("web", "deeper"); err == nil || !strings.Contains(err.Error(), "TooManySnapshotLevels") {
		t.Errorf("the 29th: %v", err)
	}
}

func TestGuestKeepsWritingWhileOn(t *testing.T) {
	s := start(t, esxsim.Config{VMs: []esxsim.VM{web(esxsim.On)}})
	before := digest(t, s)
	if err := s.SetWriter("web", esxsim.Writer{Rate: 4 * mib, Seed: 3}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "something is written", func() bool { return digest(t, s) != before })
	if err := s.SetPower("web", esxsim.Off); err != nil {
		t.Fatal(err)
	}
	still := digest(t, s)
	time.Sleep(100 * time.Millisecond)
	if digest(t, s) != still {
		t.Error("a guest that is off writes")
	}
}

func TestSameSeedSameWrites(t *testing.T) {
	var sums []string
	for range 2 {
		s := start(t, esxsim.Config{VMs: []esxsim.VM{web(esxsim.Off)}})
		if err := s.Write("web", esxsim.Writer{Seed: 11, Block: 4096, Area: esxsim.Range{Offset: mib, Length: 9 * mib}}, 50); err != nil {
			t.Fatal(err)
		}
		sums = append(sums, digest(t, s))
	}
	if sums[0] != sums[1] {
		t.Errorf("%v", sums)
	}
}
