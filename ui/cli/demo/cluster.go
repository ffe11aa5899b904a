package demo

import (
	"context"
	"fmt"
	"path/filepath"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/tools/clientcmd"

	"landfall/targets/kubesim"
)

// takenName is the name of a VM of the host, and of another's in the cluster.
const takenName = "mail"

// cluster is the simulated cluster.
func cluster(dir, ready string) kubesim.RunConfig {
	return kubesim.RunConfig{PaceText: "400ms", ReadyFile: ready, Config: kubesim.Config{
		Dir: filepath.Join(dir, "cluster"), Context: "demo", Namespaces: []string{Namespace},
		Classes: []kubesim.StorageClass{{Name: "standard", Default: true, Capacity: "20Ti"}, {Name: "local", WaitForFirstConsumer: true}},
	}}
}

// taken makes the virtual machine that has a name already, as another team would.
func taken(ctx context.Context, kubeconfig string) error {
	cfg, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return err
	}
	client, err := dynamic.NewForConfig(cfg)
	if err != nil {
		return err
	}
	vm := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "kubevirt.io/v1", "kind": "VirtualMachine",
		"metadata": map[string]any{"name": takenName, "namespace": Namespace, "labels": map[string]any{"team": "messaging"}},
		"spec": map[string]any{"runStrategy": "Halted", "template": map[string]any{"spec": map[string]any{"domain": map[string]any{
			"devices": map[string]any{}, "memory": map[string]any{"guest": "1Gi"}}}}},
	}}
	machines := client.Resource(schema.GroupVersionResource{Group: "kubevirt.io", Version: "v1", Resource: "virtualmachines"}).Namespace(Namespace)
	if _, err := machines.Create(ctx, vm, v1.CreateOptions{}); err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("make the virtual machine %s/%s of another team: %w", Namespace, takenName, err)
	}
	return nil
}
