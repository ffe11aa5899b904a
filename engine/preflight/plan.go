package preflight

import (
	"crypto/sha256"
	"fmt"

	"landfall/engine/machine"
	"landfall/engine/plaintext"
	"landfall/engine/spec"
	"landfall/targets"
)

// planRules judge a VM by the others that are moved with it.
var planRules = []Rule{
	{"target.name.collision", Blocker, "Two VMs of one plan would become one object in the cluster.", "Choose another spec.destination.vmName for one of them.",
		func(f Facts) (hits []hit) {
			for _, o := range f.Beside {
				if f.Name != "" && f.Name == o.Name && sameCluster(f, o) {
					return []hit{{subject: "target", found: fmt.Sprintf("%q (%s) also becomes %s", o.VM.Name, o.VM.Ref, f.Name), remedy: anotherName(f)}}
				}
			}
			return nil
		}},
}

// sameCluster tells whether both go to one namespace of one cluster, as far as the documents tell.
func sameCluster(f Facts, o Planned) bool {
	a, b := f.Spec.Destination, o.Spec.Destination
	return a.Kubeconfig == b.Kubeconfig && a.Context == b.Context && a.Namespace == b.Namespace
}

func anotherName(f Facts) *Remedy {
	name := otherName(f)
	return &Remedy{ID: TakeName, Label: "Take another name", Choices: []string{name},
		Effect: fmt.Sprintf("the VM %s is made as %s in namespace %s; its guest keeps its own host name", plaintext.Label(f.VM.Name), name, f.Spec.Destination.Namespace)}
}

// otherName gives a name that is the VM's alone and always the same: the rendered one and a digest of its identity.
func otherName(f Facts) string {
	id := sha256.Sum256([]byte(f.VM.Ref.MoRef + " " + f.VM.Ref.InstanceUUID))
	return targets.Suffixed(f.Name, fmt.Sprintf("-%x", id[:2]))
}

// TargetName is the name that a VM gets in the cluster, for who sees a plan and knows no target.
func TargetName(vm machine.VM, s spec.Spec) string { return targets.VMName(vm, s) }

// HardwareAddress is a card's address as it is compared: in whatever way a source spells it.
func HardwareAddress(mac string) string { return targets.NormalMAC(mac) }
