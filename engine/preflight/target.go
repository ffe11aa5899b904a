package preflight

import (
	"fmt"
	"strings"
)

var sourceRules = []Rule{
	{"source.license", Warning, "The source's licence refuses changes by its API: the VM cannot be powered off from here.", "Shut the VM down by hand; reading its disks goes on working.",
		func(f Facts) []hit { return one(f.Source != nil && f.Source.ReadOnly != "", "source", readOnly(f)) }},
}

func readOnly(f Facts) string {
	if f.Source == nil {
		return ""
	}
	return f.Source.ReadOnly
}

var targetRules = []Rule{
	{"target.reach", Blocker, "Nothing is known of the cluster.", "Check kubeconfig, context, network and credentials; then check again.",
		func(f Facts) []hit {
			return one(f.Target == nil && f.TargetFailure != "", "target", f.TargetFailure)
		}},
	{"target.access", Blocker, "The account may not do what the migration needs.", "Grant the verb in the namespace (see docs/operations.md).",
		onTarget("access", func(f Facts) (hits []hit) {
			for _, d := range f.Target.Denied {
				hits = append(hits, hit{subject: "target", found: "may not " + d})
			}
			return hits
		})},
	{"target.kubevirt", Blocker, "The cluster cannot run virtual machines.", "Install KubeVirt, or wait until it is Deployed.",
		onTarget("kubevirt", func(f Facts) []hit {
			return one(!f.Target.KubeVirtReady, "target", "KubeVirt "+orNone(f.Target.About.KubeVirt)+" is not ready")
		})},
	{"target.cdi", Blocker, "The cluster cannot take disk images.", "Install CDI, or wait until it is Deployed.",
		onTarget("cdi", func(f Facts) []hit {
			return one(!f.Target.CDIReady, "target", "CDI "+orNone(f.Target.About.CDI)+" is not ready")
		})},
	{"target.namespace", Blocker, "There is no place for the VM.", "Create the namespace, or name another in spec.destination.namespace.",
		onTarget("namespace", func(f Facts) []hit {
			return one(!f.Target.NamespaceExists, "target", "namespace "+f.Spec.Destination.Namespace+" does not exist")
		})},
	{"target.name.taken", Blocker, "An object of the VM's name is there and is not ours; it is never touched.", "Choose another spec.destination.vmName.",
		onTarget("name", func(f Facts) []hit { return one(f.Target.NameTaken != "", "target", f.Target.NameTaken+" exists") })},
	{"target.name.changed", Info, "The name is changed to what Kubernetes allows; the original is kept as an annotation.", "",
		func(f Facts) []hit {
			return one(f.Name != "" && f.Name != f.VM.Name, "vm", fmt.Sprintf("%q becomes %q", f.VM.Name, f.Name))
		}},
	{"target.kvm", Decide, "No node offers hardware virtualisation: the VM will not be scheduled unless KubeVirt emulates.", "Enable KVM on a node, or accept.",
		onTarget("kvm", func(f Facts) []hit {
			return one(f.Target.KVMNodes == 0, "target", "no node offers devices.kubevirt.io/kvm")
		})},
}

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
		onTarget("classes", func(f Facts) (hits []hit) {
			for _, m := range f.Spec.Storage.Mappings {
				if _, ok := f.Target.Classes[m.StorageClass]; !ok {
					hits = append(hits, hit{subject: "target", found: "no storage class " + m.StorageClass})
				}
			}
			return hits
		})},
	{"storage.capacity", Blocker, "A volume that does not fit stops the migration after the copy.", "Free room, raise the quota, or map to another class.",
		onTarget("", capacity)},
	{"storage.wffc", Info, "The class binds when the first pod needs the volume; CDI is asked to bind at once.", "",
		onTarget("classes", func(f Facts) (hits []hit) {
			for _, m := range f.Spec.Storage.Mappings {
				if c, ok := f.Target.Classes[m.StorageClass]; ok && c.WaitForFirstConsumer {
					hits = append(hits, hit{subject: "target", found: "class " + m.StorageClass + " is WaitForFirstConsumer"})
				}
			}
			return hits
		})},
}

func capacity(f Facts) (hits []hit) {
	need := map[string]int64{}
	var total int64
	for _, d := range f.VM.DiskList {
		if m, ok := f.Spec.StorageFor(d.Datastore); ok {
			need[m.StorageClass] = max(need[m.StorageClass], d.Capacity)
			total += d.Capacity
		}
	}
	for class, n := range need {
		if c := f.Target.Classes[class].Capacity; c != nil && *c < n {
			hits = append(hits, hit{subject: "target", found: fmt.Sprintf("class %s has room for volumes of %s, %s is needed", class, size(*c), size(n))})
		}
	}
	switch q := f.Target.QuotaStorage; {
	case q != nil && *q < total:
		hits = append(hits, hit{subject: "target", found: fmt.Sprintf("quota leaves %s, %s is needed (%s)", size(*q), size(total), strings.Join(f.Target.Quota, "; "))})
	case f.Target.Unknown["quota"] != "":
		hits = append(hits, cannot("target", f.Target.Unknown["quota"])...)
	}
	return hits
}

// onTarget runs a rule on the target's facts; without them, or where the fact is unknown, it could not be checked. That
// nothing at all is known is said once, by target.reach.
func onTarget(fact string, check func(Facts) []hit) func(Facts) []hit {
	return func(f Facts) []hit {
		if f.Target == nil {
			return nil
		}
		if why := f.Target.Unknown[fact]; fact != "" && why != "" {
			return cannot("target", why)
		}
		return check(f)
	}
}

func orNone(v string) string {
	if v == "" {
		return "(not installed)"
	}
	return v
}
