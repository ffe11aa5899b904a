package preflight

import (
	"cmp"
	"fmt"
	"strings"

	"landfall/targets"
)

var targetRules = []Rule{
	{"target.reach", Blocker, "Nothing is known of the cluster.", "Check kubeconfig, context, network and credentials; then check again.",
		func(f Facts) []hit {
			switch {
			case f.Target != nil:
				return nil
			case f.TargetFailure == "":
				return cannot("target", "the cluster was not looked at")
			}
			return one(true, "target", f.TargetFailure)
		}},
	{"target.access", Blocker, "The account may not do what the migration needs.", "Grant the verb in the namespace (see docs/operations.md).",
		onTarget(targets.FactAccess, func(f Facts) []hit {
			return one(len(f.Target.Denied) > 0, "target", "may not "+strings.Join(f.Target.Denied, ", "))
		})},
	{"target.kubevirt", Blocker, "The cluster cannot run virtual machines.", "Install or upgrade KubeVirt, or wait until it is Deployed.",
		onTarget(targets.FactKubeVirt, func(f Facts) []hit {
			return component("KubeVirt", f.Target.KubeVirt, f.Target.KubeVirtReady, f.Target.About.KubeVirt)
		})},
	{"target.cdi", Blocker, "The cluster cannot take disk images.", "Install or upgrade CDI, or wait until it is Deployed.",
		onTarget(targets.FactCDI, func(f Facts) []hit {
			return component("CDI", f.Target.CDI, f.Target.CDIReady, f.Target.About.CDI)
		})},
	{"target.namespace", Blocker, "There is no place for the VM.", "Create the namespace, or name another in spec.destination.namespace.",
		onTarget(targets.FactNamespace, func(f Facts) []hit {
			ns := f.Spec.Destination.Namespace
			switch {
			case f.Target.NamespaceTerminating:
				return one(true, "target", "namespace "+ns+" is being deleted")
			case f.Target.NamespaceExists:
				return nil
			}
			return []hit{{subject: "target", found: "namespace " + ns + " does not exist", remedy: &Remedy{ID: CreateNamespace, Label: "Create the namespace", Outside: true,
				Effect: "makes namespace " + ns + " in the cluster; it stays when the migration is cancelled, for others may use it by then"}}}
		})},
	{"target.name.taken", Blocker, "An object of the VM's name is there and is not ours; it is never touched.", "Choose another spec.destination.vmName.",
		onTarget(targets.FactName, func(f Facts) []hit {
			if f.Target.NameTaken == "" {
				return nil
			}
			return []hit{{subject: "target", found: f.Target.NameTaken + " exists", remedy: anotherName(f)}}
		})},
	{"target.name.changed", Info, "The name is changed to what Kubernetes allows; the original is kept as an annotation.", "",
		func(f Facts) []hit {
			return one(f.Name != "" && f.Name != f.VM.Name, "vm", fmt.Sprintf("%q becomes %q", f.VM.Name, f.Name))
		}},
	{"target.kvm", Decide, "No node offers hardware virtualisation: the VM will not be scheduled unless KubeVirt emulates.", "Enable KVM on a node, or accept.",
		onTarget(targets.FactKVM, func(f Facts) []hit {
			return one(f.Target.KVMNodes <= 0 && !f.Target.Emulation, "target", "no node offers devices.kubevirt.io/kvm")
		})},
	{"target.preference", Info, "KubeVirt's own defaults for the guest, or none. A blocker where the document names one that is not there or that the VM does not satisfy.", "Name another in spec.destination, or none.",
		preferences},
	{"target.psa", Warning, "The namespace admits only pods that give up every privilege: CDI's and KubeVirt's pods of older releases are refused, and the volume then waits without end.", "Try it with a small VM first, or label the namespace pod-security.kubernetes.io/enforce: privileged.",
		onTarget(targets.FactNamespace, func(f Facts) []hit {
			return one(f.Target.PodSecurity == "restricted", "target", "namespace "+f.Spec.Destination.Namespace+" enforces pod security "+f.Target.PodSecurity)
		})},
}

// onTarget runs a rule on the target's facts; where its fact is unknown, it could not be checked. That nothing at all is
// known is said once, by target.reach.
func onTarget(fact string, check func(Facts) []hit) func(Facts) []hit {
	return func(f Facts) []hit {
		if f.Target == nil {
			return nil
		}
		if why := f.Target.Unknown[fact]; why != "" {
			return cannot("target", why)
		}
		return check(f)
	}
}

// component judges KubeVirt or CDI: there, ready, and new enough.
func component(name string, c targets.Component, ready bool, version string) []hit {
	version = cmp.Or(c.Version, version)
	switch {
	case c.Old:
		return one(true, "target", fmt.Sprintf("%s %s is older than %s: %s", name, version, c.Minimum, c.MinimumWhy))
	case !ready && version == "" && !c.Served:
		return one(true, "target", name+" (not installed) is not ready")
	case !ready:
		return one(true, "target", strings.TrimSuffix(fmt.Sprintf("%s %s is not ready: %s", name, version, strings.Join(c.Wrong, "; ")), ": "))
	}
	return nil
}

// preferences says which preference and instance type the VM gets, and whether it satisfies them.
func preferences(f Facts) []hit {
	if f.Target == nil {
		return nil
	}
	d := f.Spec.Destination
	var said []string
	if d.Instancetype != "" {
		if why := f.Target.Unknown[targets.FactInstancetypes]; why != "" {
			return cannot("target", why)
		}
		t, ok := f.Target.Instancetypes[d.Instancetype]
		if !ok {
			return []hit{{subject: "target", level: Blocker, found: "no instance type " + d.Instancetype}}
		}
		said = append(said, fmt.Sprintf("instance type %s (%d vCPU, %s) instead of the source's %d vCPU and %s", d.Instancetype, t.CPUs, size(t.Memory), f.VM.CPUs, size(f.VM.MemoryMiB<<20)))
	}
	c := targets.PreferenceFor(f.VM, f.Spec, f.Target.Preferences, f.Target.Instancetypes)
	unknown := f.Target.Unknown[targets.FactPreferences]
	switch {
	case c.Asked && unknown != "":
		return cannot("target", unknown)
	case c.Asked && !c.Known:
		return []hit{{subject: "target", level: Blocker, found: "no preference " + c.Name}}
	case c.Refused:
		return []hit{{subject: "target", level: Blocker, found: "preference " + c.Name + ": " + strings.Join(c.Against, "; ")}}
	case c.Asked:
		said = append(append(said, "preference "+c.Name), c.Against...)
	case c.Name != "":
		said = append(said, "preference "+c.Name+" for the guest "+f.VM.GuestID)
	default:
		said = append(said, c.Against...) // that none is chosen where none is known harms nothing
	}
	return one(len(said) > 0, "target", strings.Join(said, ", "))
}
