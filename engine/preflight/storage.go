package preflight

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"landfall/engine/spec"
	"landfall/targets"
)

var storageRules = []Rule{
	{"storage.unmapped", Blocker, "It is not said where the disk goes.", "Add a row to spec.storage.mappings for its datastore.",
		func(f Facts) (hits []hit) {
			for i, d := range f.VM.DiskList {
				if _, ok := f.Spec.StorageFor(d.Datastore); !ok {
					hits = append(hits, hit{subject: fmt.Sprintf("disk %d (%s)", i, d.Where()), found: fmt.Sprintf("no mapping for datastore %q", d.Datastore)})
				}
			}
			return hits
		}},
	{"storage.class.missing", Blocker, "The storage class does not exist.", "Change the mapping to a class of the cluster.",
		eachClass(func(f Facts, name string) string {
			_, ok := f.Target.Classes[name]
			return when(!ok, "no storage class "+name)
		})},
	{"storage.capacity", Blocker, "A volume that does not fit stops the migration after the copy. A warning where the class's driver publishes no capacity.", "Free room, raise the quota, or map to another class.",
		onTarget(targets.FactClasses, capacity)},
	{"storage.wffc", Info, "The class binds when the first pod needs the volume; CDI is asked to bind at once.", "",
		eachClass(func(f Facts, name string) string {
			return when(f.Target.Classes[name].WaitForFirstConsumer, "class "+name+" is WaitForFirstConsumer")
		})},
}

// eachClass runs a rule on each storage class that a disk of the VM goes to.
func eachClass(check func(f Facts, name string) string) func(Facts) []hit {
	return onTarget(targets.FactClasses, func(f Facts) (hits []hit) {
		used := map[string]bool{}
		for _, d := range f.VM.DiskList {
			if m, ok := f.Spec.StorageFor(d.Datastore); ok {
				used[m.StorageClass] = true
			}
		}
		for _, name := range slices.Sorted(maps.Keys(used)) {
			if found := check(f, name); found != "" {
				hits = append(hits, hit{subject: "class " + name, found: found})
			}
		}
		return hits
	})
}

// capacity compares the volumes with what their classes and the quota have left.
func capacity(f Facts) (hits []hit) {
	largest := map[string]int64{}
	var total, peak int64
	for _, d := range f.VM.DiskList {
		m, ok := f.Spec.StorageFor(d.Datastore)
		c, known := f.Target.Classes[m.StorageClass]
		if !ok || !known || d.Capacity <= 0 {
			continue // other rules block it
		}
		n := volumeSize(d.Capacity, m, c)
		largest[m.StorageClass] = max(largest[m.StorageClass], n)
		total = plus(total, n)
		peak = max(peak, total)
		if f.scratch() {
			peak = max(peak, plus(total, n))
		}
	}
	unknown := f.Target.Unknown[targets.FactCapacity]
	for _, class := range slices.Sorted(maps.Keys(largest)) {
		need, left := largest[class], f.Target.Classes[class].Capacity
		switch {
		case left == nil && unknown == "":
			hits = append(hits, hit{subject: "class " + class, level: Warning, found: fmt.Sprintf("its driver does not tell how much room it has; volumes of up to %s are needed", size(need))})
		case left != nil && *left < need:
			hits = append(hits, hit{subject: "class " + class, found: fmt.Sprintf("has room for volumes of %s, %s is needed", size(*left), size(need))})
		}
	}
	if unknown != "" && len(largest) > 0 {
		hits = append(hits, cannot("target", unknown)...)
	}
	switch why := f.Target.Unknown[targets.FactQuota]; {
	case why != "":
		hits = append(hits, cannot("quota", why)...)
	case f.Target.QuotaStorage != nil && *f.Target.QuotaStorage < peak:
		hits = append(hits, hit{subject: "quota", found: fmt.Sprintf("leaves %s, %s is needed (%s)", size(*f.Target.QuotaStorage), size(peak), strings.Join(f.Target.Quota, "; "))})
	}
	return hits
}

// scratch tells whether CDI takes a second volume of the same size for a while: for all that it fetches, and for what it
// has to convert. A raw upload goes straight to its volume.
func (f Facts) scratch() bool {
	return f.Spec.Strategy.Delivery == spec.DeliverHTTP || f.Spec.Strategy.Conversion == spec.ConvertQemuImg
}

// volumeSize is the volume that a disk needs: whole MiB, and room for CDI's overhead in a file system.
func volumeSize(capacity int64, m spec.StorageMapping, c targets.StorageClass) int64 {
	mode := m.VolumeMode
	if mode == "" {
		mode = c.VolumeMode
	}
	n := float64(capacity)
	if o := c.Overhead; mode != "Block" && o > 0 && o < 1 {
		n /= 1 - o
	}
	const mib = 1 << 20
	if n = math.Ceil(n/mib) * mib; n >= math.MaxInt64 {
		return math.MaxInt64
	}
	return int64(n)
}

// plus adds sizes without turning over.
func plus(a, b int64) int64 {
	if a > math.MaxInt64-b {
		return math.MaxInt64
	}
	return a + b
}
