// Manifests prints what KubeVirt's operator would install for virt-api and virt-controller, from KubeVirt's own generators,
// as one YAML list: the kinds, accounts and roles, the service, the webhooks and the aggregated APIs.
package main

import (
	"fmt"
	"os"

	extv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"kubevirt.io/kubevirt/pkg/virt-operator/resource/generate/components"
	"kubevirt.io/kubevirt/pkg/virt-operator/resource/generate/rbac"
	"sigs.k8s.io/yaml"
)

const namespace = "kubevirt"

func main() {
	for _, crd := range []func() (*extv1.CustomResourceDefinition, error){
		components.NewVirtualMachineInstanceCrd, components.NewVirtualMachineCrd, components.NewPresetCrd, components.NewReplicaSetCrd,
		components.NewVirtualMachineInstanceMigrationCrd, components.NewKubeVirtCrd, components.NewVirtualMachinePoolCrd,
		components.NewVirtualMachineSnapshotCrd, components.NewVirtualMachineSnapshotContentCrd, components.NewVirtualMachineRestoreCrd,
		components.NewVirtualMachineExportCrd, components.NewVirtualMachineInstancetypeCrd, components.NewVirtualMachineClusterInstancetypeCrd,
		components.NewVirtualMachinePreferenceCrd, components.NewVirtualMachineClusterPreferenceCrd, components.NewMigrationPolicyCrd,
		components.NewVirtualMachineCloneCrd,
	} {
		c, err := crd()
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		print(c)
	}
	for _, o := range rbac.GetAllCluster() {
		print(o)
	}
	for _, all := range [][]any{anys(rbac.GetAllApiServer(namespace)), anys(rbac.GetAllController(namespace)), anys(rbac.GetAllHandler(namespace))} {
		for _, o := range all {
			print(o)
		}
	}
	print(components.NewApiServerService(namespace))
	print(components.NewVirtAPIMutatingWebhookConfiguration(namespace))
	print(components.NewVirtAPIValidatingWebhookConfiguration(namespace))
	for _, s := range components.NewVirtAPIAPIServices(namespace) {
		print(s)
	}
	prefs, err := components.NewClusterPreferences()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	for _, p := range prefs {
		print(p)
	}
}

func anys[T any](in []T) (out []any) {
	for _, o := range in {
		out = append(out, o)
	}
	return out
}

func print(o any) {
	b, err := yaml.Marshal(o)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Printf("---\n%s", b)
}
