package kubevirt_test

import (
	"context"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
)

// TestLabGoldensAreAdmitted has the real API server, and where it is up KubeVirt's own admission, judge every document of
// every whole VM.
func TestLabGoldensAreAdmitted(t *testing.T) {
	l := openLab(t, "api")
	namespace := l.namespace(t)
	client, err := dynamic.NewForConfig(l.admin)
	if err != nil {
		t.Fatal(err)
	}
	// What the VMs refer to must be there for KubeVirt to admit them.
	for _, o := range []struct{ kind, namespace, name string }{
		{"VirtualMachineClusterPreference", "", "debian"}, {"VirtualMachineClusterPreference", "", "windows.2k19"}, {"VirtualMachineClusterPreference", "", "windows.2k22.virtio"},
		{"VirtualMachineClusterPreference", "", "windows.11"}, {"VirtualMachinePreference", namespace, "debian"},
		{"VirtualMachineClusterInstancetype", "", "u1.medium"}, {"VirtualMachineInstancetype", namespace, "small"},
	} {
		u := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "instancetype.kubevirt.io/v1beta1", "kind": o.kind, "metadata": map[string]any{"name": o.name}, "spec": map[string]any{}}}
		if strings.HasSuffix(o.kind, "Instancetype") || strings.HasSuffix(o.kind, "instancetype") {
			u.Object["spec"] = map[string]any{"cpu": map[string]any{"guest": int64(1)}, "memory": map[string]any{"guest": "1Gi"}}
		}
		gvr := schema.GroupVersionResource{Group: "instancetype.kubevirt.io", Version: "v1beta1", Resource: strings.ToLower(o.kind) + "s"}
		var api dynamic.ResourceInterface = client.Resource(gvr)
		if o.namespace != "" {
			api = client.Resource(gvr).Namespace(o.namespace)
		}
		_, err := api.Create(t.Context(), u, metav1.CreateOptions{})
		switch {
		case err == nil && o.namespace == "":
			t.Cleanup(func() { _ = api.Delete(context.Background(), o.name, metav1.DeleteOptions{}) })
		case err != nil && !apierrors.IsAlreadyExists(err):
			t.Fatal(err)
		}
	}
	admitGoldens(t, l.admin, namespace)
}
