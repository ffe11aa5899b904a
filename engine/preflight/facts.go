package preflight

import (
	"landfall/engine/machine"
	"landfall/engine/spec"
	"landfall/sources"
	"landfall/targets"
)

// Facts is everything that the rules judge. A nil part was not looked at, or could not be: the rules that need it then say
// so and never pass.
type Facts struct {
	VM     machine.VM
	Spec   spec.Spec // resolved
	Name   string    // the rendered name
	Source *sources.About
	Target *targets.Facts
	// Host is what the console's own machine offers; nil: not looked at.
	Host *Host
	// TargetFailure says why Target is nil although it was looked for.
	TargetFailure string
}

// Host is the machine that the copy runs on.
type Host struct {
	Staging   string // directory
	Free      int64  // bytes
	Needed    int64  // bytes that staging may need at most
	QemuImg   string // version, "" where it was not found
	QemuError string
}
