package preflight

import (
	"fmt"
	"maps"
	"slices"

	"landfall/targets"
)

var storageRules = []Rule{
	{"storage.unmapped", Blocker, "It is not said where the disk goes.", "Add a row to spec.storage.mappings for its datastore.",
		func(f Facts) (hits []hit) {
			for i, d := range f.VM.DiskList {
				if _, ok := f.Spec.StorageFor(d.Datastore); !ok {
					hits = append(hits, hit{subject: diskName(i, d), found: fmt.Sprintf("no mapping for datastore %q", d.Datastore)})
				}
			}
			return hits
		}},
	{"storage.class.missing", Blocker, "The storage class does not exist.", "Change the mapping to a class of the cluster.",
		eachClass(func(f Facts, name string) string {
			_, ok := f.Target.Classes[name]
			return when(!ok, "no storage class "+name)
		})},
	{"storage.capacity", Blocker, "A volume that does not fit stops the migration after the copy. A decision where the class's driver publishes no capacity: nobody can tell.", "Free room, raise the quota or limit, or map to another class. Not told by the driver: look at the storage itself, then accept.",
		onTarget(targets.FactClasses, capacity)},
	{"storage.wffc", Info, "The class binds when the first pod needs the volume; CDI is asked to bind at once.", "",
		eachClass(func(f Facts, name string) string {
			return when(f.Target.Classes[name].WaitForFirstConsumer, "class "+name+" is WaitForFirstConsumer")
		})},
	{"storage.overhead", Info, "A volume with a file system is made larger than the disk, so that the whole disk fits beside what the file system needs.", "",
		onTarget(targets.FactClasses, func(f Facts) (hits []hit) {
			if why := f.Target.Unknown[targets.FactOverhead]; why != "" {
				return cannot("target", why)
			}
			for i, v := range volumes(f) {
				if v.size > targets.Align(v.disk) {
					hits = append(hits, hit{subject: diskName(i, f.VM.DiskList[i]), found: fmt.Sprintf("a volume of %s for a disk of %s (overhead %g%%)", size(v.size), size(v.disk), v.class.Overhead*100)})
				}
			}
			return hits
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

// volume is what a disk needs in the cluster.
type volume struct {
	name  string // of its class
	class targets.StorageClass
	disk  int64
	size  int64
}

// volumes gives what the disks need, by their index, without those that other rules block.
func volumes(f Facts) map[int]volume {
	all := map[int]volume{}
	for i, d := range f.VM.DiskList {
		m, ok := f.Spec.StorageFor(d.Datastore)
		c, known := f.Target.Classes[m.StorageClass]
		if ok && known && d.Capacity > 0 {
			all[i] = volume{name: m.StorageClass, class: c, disk: d.Capacity, size: targets.VolumeSize(d.Capacity, m, c)}
		}
	}
	return all
}
