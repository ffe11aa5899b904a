package preflight

import (
	"fmt"
	"strings"

	"landfall/engine/machine"
	"landfall/targets"
)

var sourceRules = []Rule{
	{"source.license", Warning, "The source's licence refuses changes by its API, so the VM cannot be powered off from here: a blocker until it is off.", "Shut the VM down in the host's own client, then check again; reading its disks goes on working.",
		func(f Facts) []hit {
			switch {
			case f.Source == nil:
				return cannot("source", "the source was not looked at")
			case f.Source.ReadOnly == "":
				return nil
			case f.VM.Power == machine.Off:
				return one(true, "source", f.Source.ReadOnly)
			}
			return []hit{{subject: "source", found: f.Source.ReadOnly, level: Blocker}}
		}},
}

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
	{"target.kubevirt", Blocker, "The cluster cannot run virtual machines.", "Install KubeVirt, or wait until it is Deployed.",
		onTarget(targets.FactKubeVirt, func(f Facts) []hit {
			return one(!f.Target.KubeVirtReady, "target", "KubeVirt "+orNone(f.Target.About.KubeVirt)+" is not ready")
		})},
	{"target.cdi", Blocker, "The cluster cannot take disk images.", "Install CDI, or wait until it is Deployed.",
		onTarget(targets.FactCDI, func(f Facts) []hit {
			return one(!f.Target.CDIReady, "target", "CDI "+orNone(f.Target.About.CDI)+" is not ready")
		})},
	{"target.namespace", Blocker, "There is no place for the VM.", "Create the namespace, or name another in spec.destination.namespace.",
		onTarget(targets.FactNamespace, func(f Facts) []hit {
			return one(!f.Target.NamespaceExists, "target", "namespace "+f.Spec.Destination.Namespace+" does not exist")
		})},
	{"target.name.taken", Blocker, "An object of the VM's name is there and is not ours; it is never touched.", "Choose another spec.destination.vmName.",
		onTarget(targets.FactName, func(f Facts) []hit { return one(f.Target.NameTaken != "", "target", f.Target.NameTaken+" exists") })},
	{"target.name.changed", Info, "The name is changed to what Kubernetes allows; the original is kept as an annotation.", "",
		func(f Facts) []hit {
			return one(f.Name != "" && f.Name != f.VM.Name, "vm", fmt.Sprintf("%q becomes %q", f.VM.Name, f.Name))
		}},
	{"target.kvm", Decide, "No node offers hardware virtualisation: the VM will not be scheduled unless KubeVirt emulates.", "Enable KVM on a node, or accept.",
		onTarget(targets.FactKVM, func(f Facts) []hit {
			return one(f.Target.KVMNodes <= 0, "target", "no node offers devices.kubevirt.io/kvm")
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

func orNone(v string) string {
	if v == "" {
		return "(not installed)"
	}
	return v
}
