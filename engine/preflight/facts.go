package preflight

import (
	"time"

	"landfall/engine/machine"
	"landfall/engine/spec"
	"landfall/sources"
	"landfall/targets"
)

// Facts is everything that the rules judge. A nil part was not looked at, or could not be: that is said once for each part,
// by source.license, target.reach and host.space, and the other rules that need it are silent.
type Facts struct {
	VM     machine.VM
	Spec   spec.Spec // resolved
	Name   string    // the rendered name
	Source *sources.About
	Target *targets.Facts
	// Beside are the other VMs that are moved with this one, or are being moved.
	Beside []Planned
	// Neighbours are the other VMs of the source as they were last listed; those without DiskList were not looked into.
	Neighbours []machine.VM
	// Now is when it is judged.
	Now time.Time
	// Host is what the machine of the engine offers.
	Host *Host
	// Probe is what was found out about the source for this VM; nil: it was not probed.
	Probe *sources.Capabilities
	// Offers are the remedies outside the document that the drivers of source and target can do.
	Offers map[string]bool
	// TargetFailure says why Target is nil although it was looked for; then nothing can start.
	TargetFailure string
}

// Host is the machine that the copy runs on.
type Host struct {
	Staging                           string // directory
	Free                              int64  // bytes; negative: not known
	Needed                            int64  // bytes that staging may need at most
	Largest                           int64  // bytes of the largest single image
	FileLimit                         int64  // bytes of the largest file that the staging file system takes; 0: not known to be bounded
	QemuImg                           string // version, "" where it was not found
	QemuError                         string // why it cannot be used
	QemuOld                           string // the version that it is too old for, ""
	VirtV2V, VirtV2VError, VirtV2VOld string // likewise
}
