package kubevirt

import (
	"fmt"
	"strings"

	virt "kubevirt.io/api/core/v1"

	"landfall/engine/machine"
	"landfall/engine/spec"
	"landfall/targets"
)

func (r *rendering) disks(s *virt.VirtualMachineInstanceSpec) {
	bus := r.guest.diskBus()
	if len(r.in.VM.DiskList) > 0 {
		r.note("disks are on %s: %s", bus, r.guest.why)
	}
	boot, _ := r.in.VM.Boot(r.in.Spec.Destination.BootDisk)
	if boot < 0 {
		r.fail("spec.destination.bootDisk: there is no disk at %s", r.in.Spec.Destination.BootDisk)
		return
	}
	serials, tight := map[string]bool{}, false
	for i, d := range r.in.VM.DiskList {
		v, ok := r.volume(i, d)
		if !ok {
			return
		}
		r.volumes = append(r.volumes, v)
		tight = tight || v.VolumeMode == "Block" && r.in.Spec.Strategy.Delivery == spec.DeliverHTTP
		name := fmt.Sprintf("disk-%d", i)
		disk := virt.Disk{
			Name: name, Serial: serial(d, i, serials),
			DiskDevice: virt.DiskDevice{Disk: &virt.DiskTarget{Bus: virt.DiskBus(bus)}},
		}
		if i == boot {
			first := uint(1)
			disk.BootOrder = &first
		}
		s.Domain.Devices.Disks = append(s.Domain.Devices.Disks, disk)
		s.Volumes = append(s.Volumes, virt.Volume{
			Name: name, VolumeSource: virt.VolumeSource{DataVolume: &virt.DataVolumeSource{Name: v.Name}},
		})
	}
	if tight {
		r.note("CDI fetches a disk for a Block volume through a scratch volume of the same size, of which a file system takes a part: a disk without any zeros may not fit; delivery Upload needs no scratch volume")
	}
}

func (r *rendering) volume(i int, d machine.Disk) (targets.Volume, bool) {
	what := fmt.Sprintf("disk %d (%s)", i, d.Where())
	if d.Capacity <= 0 {
		r.fail("%s has a capacity of %d bytes", what, d.Capacity)
		return targets.Volume{}, false
	}
	m, ok := r.in.Spec.StorageFor(d.Datastore)
	if !ok {
		r.fail("%s: datastore %q has no storage class: add it to spec.storage.mappings", what, bounded(d.Datastore, 128))
		return targets.Volume{}, false
	}
	class, known := r.in.Classes[m.StorageClass]
	v := targets.Volume{
		Name: targets.VolumeName(r.name, i), Disk: i, StorageClass: m.StorageClass, BindNow: class.WaitForFirstConsumer,
		Digest: at(r.in.Digests, i), Format: at(r.in.Formats, i), Pull: at(r.in.Pull, i),
	}
	if v.Format == "" {
		v.Format = "raw"
	}
	v.VolumeMode, v.AccessModes = targets.ModesFor(m, class)
	if len(m.AccessModes) == 0 && len(class.AccessModes) == 0 && len(class.Modes) == 0 {
		r.note("%s: no access mode is known for storage class %s: ReadWriteOnce, so that the VM cannot be live-migrated", what, m.StorageClass)
	}
	v.Size = targets.Align(d.Capacity)
	if v.VolumeMode == "Block" {
		return v, true
	}
	overhead := class.Overhead
	if !known {
		overhead = defaultOverhead
		r.note("%s: CDI's file-system overhead of storage class %s is not known: %.1f %% is assumed", what, m.StorageClass, overhead*100)
	}
	if overhead < 0 || overhead >= 1 {
		r.fail("%s: CDI's file-system overhead of storage class %s is %g: no disk fits; mend it in CDI's configuration or use volumeMode Block", what, m.StorageClass, overhead)
		return targets.Volume{}, false
	}
	v.Size = targets.Required(d.Capacity, overhead)
	return v, true
}

// serial is what the guest saw of VMware's disk identity, cut to the twenty characters that a virtio disk can show.
func serial(d machine.Disk, i int, taken map[string]bool) string {
	const limit = 20
	id := strings.Map(func(c rune) rune {
		if c >= '0' && c <= '9' || c >= 'a' && c <= 'f' {
			return c
		}
		return -1
	}, strings.ToLower(d.UUID))
	s := fmt.Sprintf("disk-%d", i)
	if len(id) >= limit {
		if s = id[:limit]; taken[s] {
			s = id[len(id)-limit:]
		}
		if taken[s] {
			s = fmt.Sprintf("disk-%d", i)
		}
	}
	taken[s] = true
	return s
}

func at[T any](list []T, i int) (v T) {
	if i < len(list) {
		v = list[i]
	}
	return v
}
