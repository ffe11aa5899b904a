package vsphere

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"

	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/vim25/types"

	"landfall/engine/fault"
	"landfall/engine/machine"
	"landfall/sources"
	"landfall/sources/nbd"
)

// OpenFrozen opens the disk as the snapshot has it, by the first reader that can: nbd, which gives ranges, where one is
// configured, else export.
func (s *Source) OpenFrozen(ctx context.Context, vm machine.VM, snapshot sources.Snapshot, disk machine.Disk) (sources.Disk, error) {
	d, err := s.openFrozen(ctx, vm.Ref, snapshot, disk)
	if err != nil {
		return nil, s.fail(err, "open disk %s (%s) of VM %s as of snapshot %q", disk.Where(), disk.Path, vm.Ref, snapshot.Name)
	}
	return d, nil
}

func (s *Source) openFrozen(ctx context.Context, ref machine.Ref, snapshot sources.Snapshot, disk machine.Disk) (sources.Disk, error) {
	there, err := s.has(ctx, ref, snapshot)
	if err == nil && !there {
		err = fault.Hint(fault.Newf(fault.Blocked, fault.NotFound, "the VM has no snapshot %s any more", snapshot.ID), "somebody removed it, or the VM was reverted: the disk is read again from a new one")
	}
	if err != nil {
		return nil, err
	}
	vm, frozen, err := s.frozenDisk(ctx, ref, snapshot, disk)
	if err != nil {
		return nil, err
	}
	var said []error
	if !s.nbd.IsZero() {
		d, err := s.openNBD(ctx, vm, snapshot, frozen)
		if err == nil {
			return d, nil
		}
		said = append(said, s.fail(err, "nbd"))
	}
	d, err := s.openExport(ctx, vm, snapshot, frozen)
	if err == nil {
		return d, nil
	}
	return nil, tried(append(said, s.fail(err, "export")))
}

// frozenDisk is the disk as the snapshot's configuration has it.
func (s *Source) frozenDisk(ctx context.Context, ref machine.Ref, snapshot sources.Snapshot, want machine.Disk) (types.ManagedObjectReference, machine.Disk, error) {
	vm, _, err := s.look(ctx, ref)
	if err != nil {
		return vm, want, err
	}
	content, err := s.retrieve(ctx, []types.ManagedObjectReference{snapshotRef(snapshot.ID)}, []string{"config.hardware.device"})
	if err == nil && len(content) == 0 {
		err = fault.Newf(fault.Blocked, fault.NotFound, "the snapshot is gone")
	}
	if err != nil {
		return vm, want, err
	}
	b := bagOf(content[0])
	if err := b.missing("config.hardware.device"); err != nil {
		return vm, want, err
	}
	for _, d := range disks(object.VirtualDeviceList(get[types.ArrayOfVirtualDevice](b, "config.hardware.device").VirtualDevice)) {
		switch {
		case d.Key != want.Key:
			continue
		case d.Capacity != want.Capacity:
			return vm, d, changed("it was recorded with %d bytes and has %d in the snapshot", want.Capacity, d.Capacity)
		case d.Independent:
			return vm, d, fault.Hint(fault.Newf(fault.Blocked, fault.Unsupported, "the disk is independent: a snapshot does not freeze it"), "migrate the VM cold")
		}
		return vm, d, nil
	}
	return vm, want, fault.Newf(fault.Blocked, fault.NotFound, "the snapshot has no disk with device key %d", want.Key)
}

func (s *Source) openNBD(ctx context.Context, vm types.ManagedObjectReference, snapshot sources.Snapshot, disk machine.Disk) (sources.Disk, error) {
	base := s.base()
	values := map[string]string{"vm": vm.Value, "snapshot": snapshot.ID, "key": fmt.Sprint(disk.Key), "path": disk.Path, "host": base.Hostname(), "user": s.session.user}
	if s.nbd.URI != "" {
		var pairs []string
		for k, v := range values {
			pairs = append(pairs, "{"+k+"}", url.QueryEscape(v))
		}
		return nbd.Open(ctx, strings.NewReplacer(pairs...).Replace(s.nbd.URI), disk.Capacity)
	}
	password, err := s.session.password.Resolve(ctx)
	if err != nil {
		return nil, fault.New(fault.Blocked, fault.WrongCredentials, err)
	}
	return nbd.Start(ctx, nbd.Command{Words: s.nbd.Command, Values: values, Password: password.Reveal()}, disk.Capacity)
}

// tried joins what the readers said. It may pass by itself if one of them may.
func tried(said []error) error {
	if len(said) == 1 {
		return said[0]
	}
	first := said[len(said)-1]
	for _, e := range said {
		if fault.ClassOf(e) == fault.Transient {
			first = e
			break
		}
	}
	return fault.Hint(fault.New(fault.ClassOf(first), fault.ReasonOf(first), fmt.Errorf("no reader can: %w", errors.Join(said...))),
		"%s", cmp.Or(fault.HintOf(first), "look at what each reader says"))
}
