package engine

import (
	"context"
	"fmt"
	"slices"

	"landfall/engine/fault"
	"landfall/engine/machine"
	"landfall/engine/plaintext"
	"landfall/sources"
)

// discovering finds the VM by its identity and records what it is.
type discovering struct{}

func (discovering) observe(ctx context.Context, t *turn) (Observation, error) {
	src, err := t.source(ctx)
	if err != nil {
		return Observation{}, err
	}
	about := src.About()
	t.m.Status.Source = &about
	ref := t.options().Source.VM.Ref
	if ref.Zero() {
		if ref, err = byName(ctx, src, t.options().Source.VM.Name); err != nil {
			return Observation{}, err
		}
		t.m.Status.Options.Source.VM.Ref = ref
	}
	vm, err := src.Inspect(ctx, ref)
	if err != nil {
		return Observation{}, fmt.Errorf("find %s: %w", t.m.VMName(), err)
	}
	t.inventory(vm)
	t.condition(SourceDiscovered, true, "Found", plaintext.Label(vm.Name)+" is "+vm.Ref.String())
	return Observation{Sight: Complete, Seen: fmt.Sprintf("%s, %d disks, %s", vm.Ref, len(vm.DiskList), vm.Power)}, nil
}

func (discovering) act(context.Context, *turn, Observation) error { return nil }

// inventory records the VM and, beside an older record, what is different now.
func (t *turn) inventory(vm machine.VM) {
	st := &t.m.Status
	st.Power = vm.Power
	if st.Inventory != nil {
		if d := drift(*st.Inventory, vm); len(d) > 0 && !slices.Equal(d, st.Drift) {
			st.Drift = d
			for _, line := range d {
				t.event("warn", "Drift", "%s", line)
			}
		}
	}
	st.Inventory = &vm
	disks := make([]Disk, len(vm.DiskList))
	for i, d := range vm.DiskList {
		disks[i] = Disk{Index: i, Key: d.Key, Label: d.Label, Size: d.Capacity}
		if i < len(st.Disks) && st.Disks[i].Key == d.Key && st.Disks[i].Size == d.Capacity {
			disks[i] = st.Disks[i]
		}
	}
	st.Disks = disks
}

// drift says what is different between two looks at one VM.
func drift(old, now machine.VM) (lines []string) {
	add := func(what string, a, b any) {
		if a != b {
			lines = append(lines, plaintext.Label(fmt.Sprintf("%s was %v, is %v", what, a, b)))
		}
	}
	add("name", old.Name, now.Name)
	add("host", old.Host, now.Host)
	add("vCPU", old.CPUs, now.CPUs)
	add("memory MiB", old.MemoryMiB, now.MemoryMiB)
	add("firmware", old.Firmware, now.Firmware)
	add("number of disks", len(old.DiskList), len(now.DiskList))
	add("number of NICs", len(old.NICs), len(now.NICs))
	add("snapshots", len(old.SnapshotNames), len(now.SnapshotNames))
	for _, d := range old.DiskList {
		i := slices.IndexFunc(now.DiskList, func(n machine.Disk) bool { return n.Key == d.Key })
		if i < 0 {
			lines = append(lines, fmt.Sprintf("disk %s (key %d) is gone", d.Where(), d.Key))
			continue
		}
		add("size of disk "+d.Where(), d.Capacity, now.DiskList[i].Capacity)
		add("file of disk "+d.Where(), d.Path, now.DiskList[i].Path)
	}
	return lines
}

// byName finds the one VM of a name; a name that two have is not an identity.
func byName(ctx context.Context, src sources.Source, name string) (machine.Ref, error) {
	list, err := src.List(ctx)
	if err != nil {
		return machine.Ref{}, err
	}
	var found []machine.Summary
	for _, s := range list {
		if s.Name == name {
			found = append(found, s)
		}
	}
	switch len(found) {
	case 1:
		return found[0].Ref, nil
	case 0:
		return machine.Ref{}, fault.Hint(fault.Newf(fault.Blocked, fault.NotFound, "no VM is named %q", name), "landfall vms lists them")
	}
	var refs []string
	for _, s := range found {
		refs = append(refs, fmt.Sprintf("%s in %s", s.Ref, s.Folder))
	}
	return machine.Ref{}, fault.Hint(fault.Newf(fault.Blocked, "Ambiguous", "%d VMs are named %q: %v", len(found), name, refs), "set spec.source.vm.moref")
}

// VMName is how the VM is called before and after it was found.
func (m Migration) VMName() string {
	if m.Status.Inventory != nil {
		return m.Status.Inventory.Name
	}
	if n := m.Document.Spec.Source.VM.Name; n != "" {
		return n
	}
	return m.Document.Spec.Source.VM.Ref.String()
}

func (t *turn) source(ctx context.Context) (sources.Source, error) {
	return t.e.sources.get(ctx, t.options().Source)
}
