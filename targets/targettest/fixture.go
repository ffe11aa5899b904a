// Package targettest is the suite that every target must pass, on a simulated cluster and on a real one. It looks at what
// is in the cluster, never at the calls that were made. It must not know any target or cluster: those are fixtures.
package targettest

import (
	"slices"
	"testing"
	"time"

	"landfall/engine/spec"
	"landfall/targets"
)

// Fixture is one target with what the suite needs from its surroundings. Every call of New gives a namespace of its own, or
// an empty one.
type Fixture struct {
	Target    targets.Target
	Namespace string
	// Class is a storage class that binds at once, and Waits one that waits for a first consumer.
	Class, Waits string
	// GuestID is the source's name of the guest on the disk.
	GuestID string
	// Disk makes the contents of a bootable disk, at least 3 MiB, and Page is what it answers when it runs.
	Disk func(t *testing.T) []byte
	Page spec.Check
	// Agent tells whether the guest on the disk has an agent.
	Agent bool
	World World
	// Parts are what works in the cluster; nil is everything. A case that needs more is skipped and says so.
	Parts []Part
	// Patience is how long the cluster may take for one step.
	Patience time.Duration
}

// Part is something that a cluster needs beyond its API.
type Part string

const (
	API      Part = "api"      // with the kinds of KubeVirt and CDI
	Machines Part = "machines" // KubeVirt admits and schedules
	Volumes  Part = "volumes"  // CDI fills volumes
	Guests   Part = "guests"   // what lies on a disk boots and answers
)

// World is what others do to the cluster, and a look at it that does not go through the target.
type World interface {
	// Contents reads what lies in a volume, from its start.
	Contents(t *testing.T, namespace, volume string, length int64) []byte
	// Foreign makes an object that no migration made: kinds virtualmachine, datavolume, persistentvolumeclaim, service.
	Foreign(t *testing.T, kind, namespace, name string)
	// Exists tells whether there is an object, whoever made it.
	Exists(t *testing.T, kind, namespace, name string) bool
	// Edit changes the machine's memory, and adds a label of its own, as a person would.
	Edit(t *testing.T, namespace, name string)
	// Label gives a label of the machine.
	Label(t *testing.T, namespace, name, key string) string
	// LimitStorage sets a quota.
	LimitStorage(t *testing.T, namespace string, bytes int64)
	// RefuseUpload makes the next upload's token be refused, as an expired one is.
	RefuseUpload(t *testing.T, namespace, volume string)
	// CutUpload cuts the next upload after some bytes.
	CutUpload(t *testing.T, namespace, volume string, bytes int64)
}

// Run holds a target to its contract.
func Run(t *testing.T, fresh func(t *testing.T) Fixture) {
	for _, c := range []struct {
		name  string
		run   func(*testing.T, Fixture)
		needs Part
	}{
		{"whole life", wholeLife, Guests},
		{"absent things", absentThings, API},
		{"drift is seen and mended", drift, API},
		{"not ours", notOurs, API},
		{"facts", facts, Volumes},
		{"waits for first consumer", waitsForFirstConsumer, Volumes},
		{"marked late", markedLate, Volumes},
		{"quota exceeded", quotaExceeded, Volumes},
		{"token refused", tokenRefused, Volumes},
		{"upload cut", uploadCut, Volumes},
		{"image larger than the volume", tooLarge, Volumes},
		{"damaged artifact", damaged, Volumes},
		{"removal leaves others alone", removal, API},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := fresh(t)
			if f.Parts != nil && !slices.Contains(f.Parts, c.needs) {
				t.Skipf("this cluster has no %s", c.needs)
			}
			c.run(t, f)
		})
	}
}
