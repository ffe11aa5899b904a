package preflight

import (
	"fmt"
	"landfall/engine/machine"
	"landfall/engine/spec"
	"strings"
)

var diskRules = []Rule{
	{"disk.none", Blocker, "There is nothing to move.", "Choose another VM.",
		func(f Facts) []hit { return one(len(f.VM.DiskList) == 0, "vm", "has no disks") }},
	{"disk.capacity.invalid", Blocker, "A disk without a size cannot be copied or checked.", "Repair or remove the disk.",
		eachDisk(func(d machine.Disk) string { return when(d.Capacity <= 0, fmt.Sprintf("capacity %d", d.Capacity)) })},
	{"disk.datastore.missing", Blocker, "Where the disk lies is not known.", "Re-register the VM.",
		eachDisk(func(d machine.Disk) string { return when(d.Datastore == "" || d.Path == "", "no datastore or path") })},
	{"disk.backing.unknown", Blocker, "No reader understands this backing.", "Clone the disk to an ordinary one (vmkfstools -i, or Storage vMotion).",
		eachDisk(func(d machine.Disk) string {
			switch d.Backing {
			case machine.Flat, machine.SparseDelta, machine.RDMPhysical, machine.RDMVirtual:
				return ""
			}
			return fmt.Sprintf("backing %q", d.BackingRaw)
		})},
	{"disk.rdm.physical", Blocker, "A physical raw device is not a file and its writes bypass the host.", "Move the data to a virtual disk.",
		eachDisk(func(d machine.Disk) string {
			return when(d.Backing == machine.RDMPhysical, "raw device mapping, physical mode")
		})},
	{"disk.rdm.virtual", Decide, "The contents of the raw device are copied as an ordinary disk; the device itself stays behind.", "Accept, or convert the mapping to a virtual disk (vmkfstools -i).",
		eachDisk(func(d machine.Disk) string {
			return when(d.Backing == machine.RDMVirtual, "raw device mapping, virtual mode")
		})},
	{"disk.independent", Decide, "The disk is not part of snapshots; a cold copy takes it as it is. A warm one cannot: a blocker then.", "Accept, or make the disk dependent; or migrate it cold.",
		inWarm(Blocker, eachDisk(func(d machine.Disk) string { return when(d.Independent, "independent") }))},
	{"disk.shared", Blocker, "Another VM may write to the disk while it is copied, and would go on with the old one.", "End the sharing, or move the data by the cluster software's own means.",
		sharedDisks},
	{"disk.controller.unknown", Blocker, "The disk's place in the guest is not known.", "Attach the disk to a SCSI, SATA, IDE or NVMe controller.",
		eachDisk(func(d machine.Disk) string {
			switch d.Bus {
			case machine.SCSI, machine.SATA, machine.IDE, machine.NVMe:
				return ""
			}
			return "its controller is not in the device list"
		})},
	{"disk.count", Warning, "KubeVirt and the guest may not address that many disks.", "Merge disks.",
		func(f Facts) []hit {
			return one(len(f.VM.DiskList) > 165, "vm", fmt.Sprintf("%d disks", len(f.VM.DiskList)))
		}},
	{"disk.cbt.off", Decide, "Without change tracking, a warm migration would have to read the whole disk again for what was written meanwhile.", "Switch change tracking on; it begins at the next snapshot or power cycle.",
		warmOnly(trackingOff)},
	{"disk.cbt.hardware", Blocker, "Change tracking came with hardware version 7: a warm migration needs it.", "Upgrade the VM's hardware version, or migrate it cold.",
		warmOnly(func(f Facts) []hit {
			if f.VM.HardwareVersion <= 0 {
				return cannot("vm", "the hardware version is not known")
			}
			return one(f.VM.HardwareVersion < 7, "vm", fmt.Sprintf("hardware version %d", f.VM.HardwareVersion))
		})},
	{"disk.cbt.128g", Warning, "This release is known to forget changes of a disk that was extended past a multiple of 128 GB while it was tracked: the copy could lack them.", "Ask for strategy.verify: proved, switch tracking off and on again, or update the host.",
		warmOnly(forgetful)},
	{"disk.size.align", Info, "The volume is rounded up to a whole MiB; it is never smaller than the disk.", "",
		eachDisk(func(d machine.Disk) string {
			return when(d.Capacity > 0 && d.Capacity%(1<<20) != 0, fmt.Sprintf("%d bytes", d.Capacity))
		})},
	{"disk.serial", Info, "The guest sees serial numbers (disk.EnableUUID): KubeVirt's are at most 20 characters long.", "",
		func(f Facts) (hits []hit) {
			for i, d := range f.VM.DiskList {
				if f.VM.DiskUUIDs && len(d.UUID) > maxSerial {
					hits = append(hits, hit{subject: diskName(i, d), found: fmt.Sprintf("serial %s is cut to %s", d.UUID, d.UUID[:maxSerial])})
				}
			}
			return hits
		}},
	{"disk.boot", Decide, "Which of several disks the guest boots from is not known; the wrong one leaves it without an operating system.", "Say it in spec.destination.bootDisk.",
		bootDisk},
	{"disk.guest.freespace", Decide, "A conversion writes drivers and a boot image into the guest's file systems. A warning where nothing is converted.", "Free room in the guest.",
		guestRoom},
}

// maxSerial is how long a disk's serial number is at most in KubeVirt.
const maxSerial = 20

// bootDisk finds out whether it is known which disk is booted.
func bootDisk(f Facts) []hit {
	chosen := f.Spec.Destination.BootDisk
	i, candidates := f.VM.Boot(chosen)
	switch {
	case i < 0:
		return []hit{{subject: "vm", level: Blocker, found: "spec.destination.bootDisk: there is no disk at " + chosen}}
	case len(candidates) < 2:
		return nil
	}
	return []hit{{subject: "vm", found: "may boot from " + strings.Join(candidates, ", ") + ": the source does not say which", remedy: &Remedy{
		ID: ChooseBoot, Label: "Choose the boot disk", Choices: candidates, Effect: "the chosen disk is the first that the VM tries in the cluster"}}}
}

// least is the free room that a conversion needs, by where the file system is mounted.
func least(path string) int64 {
	switch strings.ToUpper(strings.TrimRight(path, `\/`)) {
	case "", "C:":
		return 100 << 20
	case "/BOOT":
		return 50 << 20
	}
	return 10 << 20
}

func guestRoom(f Facts) (hits []hit) {
	converts := f.Spec.Strategy.Conversion == spec.ConvertVirtV2V
	if converts && len(f.VM.GuestDisks) == 0 {
		return cannot("vm", "the guest's file systems are not known")
	}
	for _, g := range f.VM.GuestDisks {
		if g.Free >= least(g.Path) {
			continue
		}
		h := hit{subject: "guest " + g.Path, found: fmt.Sprintf("%s free of %s, %s needed", size(g.Free), size(g.Capacity), size(least(g.Path)))}
		if !converts {
			h.level = Warning
		}
		hits = append(hits, h)
	}
	return hits
}

func when(cond bool, found string) string {
	if !cond {
		return ""
	}
	return found
}

func eachDisk(check func(machine.Disk) string) func(Facts) []hit {
	return func(f Facts) (hits []hit) {
		for i, d := range f.VM.DiskList {
			if found := check(d); found != "" {
				hits = append(hits, hit{subject: diskName(i, d), found: found})
			}
		}
		return hits
	}
}
