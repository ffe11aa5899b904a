package esxsim_test

import (
	"reflect"
	"testing"

	"github.com/vmware/govmomi"
	"github.com/vmware/govmomi/fault"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/types"

	"landfall/sources/esxsim"
)

func query(t *testing.T, c *govmomi.Client, vm string, req types.QueryChangedDiskAreas) (types.DiskChangeInfo, error) {
	t.Helper()
	req.This = vmNamed(t, c, vm).Reference()
	if req.DeviceKey == 0 {
		req.DeviceKey = 2000
	}
	if req.ChangeId == "" {
		req.ChangeId = "*"
	}
	res, err := methods.QueryChangedDiskAreas(t.Context(), c.Client, &req)
	if err != nil {
		return types.DiskChangeInfo{}, err
	}
	return res.Returnval, nil
}

func TestAllocatedMap(t *testing.T) {
	tracked, plainVM, thick := web(esxsim.Off), web(esxsim.Off), web(esxsim.Off)
	tracked.ChangeTracking, thick.ChangeTracking = true, true
	plainVM.Name, thick.Name = "plain", "thick"
	thick.Disks = []esxsim.Disk{{Size: 8 * mib, Thick: true}}
	s := start(t, esxsim.Config{AreasPerCall: 1, VMs: []esxsim.VM{tracked, plainVM, thick}})
	c := login(t, s)
	var got []esxsim.Range
	calls := 0
	for off := int64(0); off < 64*mib; calls++ {
		info, err := query(t, c, "web", types.QueryChangedDiskAreas{StartOffset: off})
		if err != nil {
			t.Fatal(err)
		}
		if info.StartOffset != off || info.Length <= 0 || len(info.ChangedArea) > 1 {
			t.Fatalf("at %d: %+v", off, info)
		}
		for _, a := range info.ChangedArea {
			if a.Start < off || a.Start+a.Length > off+info.Length {
				t.Fatalf("at %d: area %+v is outside of what was described", off, a)
			}
			got = append(got, esxsim.Range{Offset: a.Start, Length: a.Length})
		}
		off += info.Length
	}
	exp := []esxsim.Range{{Offset: 0, Length: 4 * mib}, {Offset: 20 * mib, Length: mib}, {Offset: 40 * mib, Length: 10 * mib}}
	if !reflect.DeepEqual(got, exp) || calls != 3 {
		t.Errorf("%d calls gave %v, want %v", calls, got, exp)
	}
	if info, err := query(t, c, "thick", types.QueryChangedDiskAreas{}); err != nil || len(info.ChangedArea) != 1 || info.ChangedArea[0].Length != 8*mib {
		t.Errorf("thick: %+v %v", info, err)
	}
	for name, k := range map[string]struct {
		vm    string
		req   types.QueryChangedDiskAreas
		fault types.BaseMethodFault
	}{
		"tracking is off":   {"plain", types.QueryChangedDiskAreas{}, &types.FileFault{}},
		"no such disk":      {"web", types.QueryChangedDiskAreas{DeviceKey: 2001}, &types.InvalidArgument{}},
		"behind the end":    {"web", types.QueryChangedDiskAreas{StartOffset: 64 * mib}, &types.InvalidArgument{}},
		"not an id":         {"web", types.QueryChangedDiskAreas{ChangeId: "yesterday"}, &types.InvalidArgument{}},
		"id of another set": {"web", types.QueryChangedDiskAreas{ChangeId: "52 4c 5a 61 11 22 33 44-55 66 77 88 99 aa bb cc/4"}, &types.FileFault{}},
	} {
		if _, err := query(t, c, k.vm, k.req); !fault.Is(err, k.fault) {
			t.Errorf("%s: %v", name, err)
		}
	}
	wait(t, vmNamed(t, c, "web").PowerOn)
	if _, err := query(t, c, "web", types.QueryChangedDiskAreas{}); !fault.Is(err, &types.FileFault{}) {
		t.Errorf("running, without a snapshot: %v", err)
	}
}

func TestTrackingSwitchedOn(t *testing.T) {
	s := start(t, esxsim.Config{VMs: []esxsim.VM{web(esxsim.Off)}})
	c := login(t, s)
	on := true
	task, err := vmNamed(t, c, "web").Reconfigure(t.Context(), types.VirtualMachineConfigSpec{ChangeTrackingEnabled: &on})
	if err != nil {
		t.Fatal(err)
	}
	if err := task.Wait(t.Context()); err != nil {
		t.Fatal(err)
	}
	eventually(t, "tracking is active", func() bool {
		_, err := query(t, c, "web", types.QueryChangedDiskAreas{})
		return err == nil
	})
}
