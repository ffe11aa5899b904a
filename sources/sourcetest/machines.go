package sourcetest

import (
	"testing"

	"landfall/engine/fault"
	"landfall/engine/machine"
)

func about(t *testing.T, f Fixture) {
	a := f.Source.About()
	if a.Product == "" || a.Version == "" || a.API == "" {
		t.Errorf("about tells too little: %+v", a)
	}
}

func list(t *testing.T, f Fixture) {
	rows, err := f.Source.List(within(t))
	ok(t, err)
	seen := map[machine.Ref]machine.Summary{}
	for _, r := range rows {
		if r.Ref.Zero() {
			t.Errorf("%q has no identity", r.Name)
		}
		if _, twice := seen[r.Ref]; twice {
			t.Errorf("%s is listed twice", r.Ref)
		}
		seen[r.Ref] = r
	}
	for ref, want := range map[machine.Ref]machine.Power{f.Off: machine.Off, f.Obedient: machine.On, f.Toolless: machine.On} {
		if got := find(rows, ref); got.Power != want {
			t.Errorf("VM %s is listed as %q, want %q", ref, got.Power, want)
		}
	}
	if got := find(rows, f.Obedient).Tools; got != machine.ToolsRunning {
		t.Errorf("tools of the obedient guest: %q", got)
	}
	if got := find(rows, f.Toolless).Tools; got == machine.ToolsRunning {
		t.Errorf("tools of the guest without tools: %q", got)
	}
}

// find takes the row of a VM by whichever part of its identity is known.
func find(rows []machine.Summary, ref machine.Ref) machine.Summary {
	for _, r := range rows {
		if ref.MoRef != "" && r.Ref.MoRef == ref.MoRef || ref.MoRef == "" && r.Ref.InstanceUUID == ref.InstanceUUID {
			return r
		}
	}
	return machine.Summary{}
}

func inspect(t *testing.T, f Fixture) {
	rows, err := f.Source.List(within(t))
	ok(t, err)
	row := find(rows, f.Off)
	vm, err := f.Source.Inspect(within(t), f.Off)
	ok(t, err)
	if vm.Ref != row.Ref || vm.Name != row.Name || vm.Folder != row.Folder || vm.CPUs != row.CPUs || vm.MemoryMiB != row.MemoryMiB || vm.Host != row.Host {
		t.Errorf("inspected %+v\nlisted %+v", vm.Summary, row)
	}
	if len(vm.DiskList) != len(f.Contents) {
		t.Errorf("%d disks are shown, there are %d", len(vm.DiskList), len(f.Contents))
	}
	byUUID, err := f.Source.Inspect(within(t), machine.Ref{InstanceUUID: vm.Ref.InstanceUUID})
	ok(t, err)
	if byUUID.Ref != vm.Ref {
		t.Errorf("by instance UUID alone %s was found, want %s", byUUID.Ref, vm.Ref)
	}
	// Whoever has the id now, it is not the VM that was meant.
	_, err = f.Source.Inspect(within(t), machine.Ref{MoRef: vm.Ref.MoRef, InstanceUUID: "00000000-dead-4000-8000-000000000000"})
	must(t, err, fault.Blocked, fault.NotFound)
}

func notFound(t *testing.T, f Fixture) {
	vm, err := f.Source.Inspect(within(t), f.Off)
	ok(t, err)
	for _, ref := range []machine.Ref{
		{MoRef: "no-such-vm"},
		{InstanceUUID: "00000000-dead-4000-8000-000000000000"},
		{},
	} {
		gone := vm
		gone.Ref = ref
		_, err := f.Source.Inspect(within(t), ref)
		must(t, err, fault.Blocked, fault.NotFound)
		_, err = f.Source.Power(within(t), ref)
		must(t, err, fault.Blocked, fault.NotFound)
		must(t, f.Source.ProveOff(within(t), gone), fault.Blocked, fault.NotFound)
		must(t, f.Source.Shutdown(within(t), ref), fault.Blocked, fault.NotFound)
		must(t, f.Source.PowerOff(within(t), ref), fault.Blocked, fault.NotFound)
		must(t, f.Source.PowerOn(within(t), ref), fault.Blocked, fault.NotFound)
		_, err = f.Source.OpenDisk(within(t), gone, vm.DiskList[0])
		must(t, err, fault.Blocked, fault.NotFound)
	}
	disk := vm.DiskList[0]
	disk.Key = 99999
	_, err = f.Source.OpenDisk(within(t), vm, disk)
	must(t, err, fault.Blocked, fault.NotFound)
}
