package cli

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	"landfall/store"
)

// makeForeign makes another's virtual machine; one that is there must still be as it was made.
func makeForeign(ctx context.Context, w *testWorld, name string) error {
	client, err := dynamic.NewForConfig(w.cluster.RESTConfig("operator"))
	if err != nil {
		return err
	}
	machines := client.Resource(schema.GroupVersionResource{Group: "kubevirt.io", Version: "v1", Resource: "virtualmachines"}).Namespace("vms")
	vm := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "kubevirt.io/v1", "kind": "VirtualMachine",
		"metadata": map[string]any{"name": name, "labels": map[string]any{"team": "other"}},
		"spec": map[string]any{"runStrategy": "Halted", "template": map[string]any{"spec": map[string]any{"domain": map[string]any{
			"devices": map[string]any{}, "memory": map[string]any{"guest": "1Gi"}}}}},
	}}
	_, err = machines.Create(ctx, vm, v1.CreateOptions{})
	if !apierrors.IsAlreadyExists(err) {
		return err
	}
	got, err := machines.Get(ctx, name, v1.GetOptions{})
	if err == nil && (got.GetLabels()["team"] != "other" || got.GetGeneration() > 1 || got.GetDeletionTimestamp() != nil) {
		err = fmt.Errorf("%s has labels %v, generation %d", name, got.GetLabels(), got.GetGeneration())
	}
	return err
}

func alive(workspace string) bool { return store.EngineAlive(workspace) }
