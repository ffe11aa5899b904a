package kubevirt_test

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
)

// objects is what others do to a cluster through its API, whatever runs the cluster.
type objects struct {
	rest  *rest.Config
	class string // of the claims of others
}

var resources = map[string]schema.GroupVersionResource{
	"virtualmachine":        {Group: "kubevirt.io", Version: "v1", Resource: "virtualmachines"},
	"datavolume":            {Group: "cdi.kubevirt.io", Version: "v1beta1", Resource: "datavolumes"},
	"persistentvolumeclaim": {Version: "v1", Resource: "persistentvolumeclaims"},
	"service":               {Version: "v1", Resource: "services"},
	"resourcequota":         {Version: "v1", Resource: "resourcequotas"},
}

func (o objects) of(t *testing.T, kind, namespace string) dynamic.ResourceInterface {
	t.Helper()
	d, err := dynamic.NewForConfig(o.rest)
	if err != nil {
		t.Fatal(err)
	}
	return d.Resource(resources[kind]).Namespace(namespace)
}

func (o objects) Foreign(t *testing.T, kind, namespace, name string) {
	t.Helper()
	claim := map[string]any{
		"accessModes": []any{"ReadWriteOnce"}, "storageClassName": o.class,
		"resources": map[string]any{"requests": map[string]any{"storage": "1Mi"}},
	}
	things := map[string]map[string]any{
		"virtualmachine": {"apiVersion": "kubevirt.io/v1", "kind": "VirtualMachine", "spec": map[string]any{
			"runStrategy": "Halted", "template": map[string]any{"spec": map[string]any{
				"domain": map[string]any{"devices": map[string]any{}, "memory": map[string]any{"guest": "64Mi"}},
			}},
		}},
		"datavolume":            {"apiVersion": "cdi.kubevirt.io/v1beta1", "kind": "DataVolume", "spec": map[string]any{"source": map[string]any{"blank": map[string]any{}}, "pvc": claim}},
		"persistentvolumeclaim": {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "spec": claim},
		"service":               {"apiVersion": "v1", "kind": "Service", "spec": map[string]any{"ports": []any{map[string]any{"port": int64(80)}}}},
	}
	u := &unstructured.Unstructured{Object: things[kind]}
	u.SetName(name)
	if _, err := o.of(t, kind, namespace).Create(t.Context(), u, metav1.CreateOptions{FieldManager: "kubectl"}); err != nil {
		t.Fatal(err)
	}
}

func (o objects) Exists(t *testing.T, kind, namespace, name string) bool {
	t.Helper()
	_, err := o.of(t, kind, namespace).Get(t.Context(), name, metav1.GetOptions{})
	if err != nil && !apierrors.IsNotFound(err) {
		t.Fatal(err)
	}
	return err == nil
}

func (o objects) Edit(t *testing.T, namespace, name string) {
	t.Helper()
	patch := `{"metadata":{"labels":{"edited-by":"somebody"}},"spec":{"template":{"spec":{"domain":{"memory":{"guest":"512Mi"}}}}}}`
	if _, err := o.of(t, "virtualmachine", namespace).Patch(t.Context(), name, types.MergePatchType, []byte(patch), metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
}

func (o objects) Label(t *testing.T, namespace, name, key string) string {
	t.Helper()
	u, err := o.of(t, "virtualmachine", namespace).Get(t.Context(), name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return u.GetLabels()[key]
}

func (o objects) LimitStorage(t *testing.T, namespace string, bytes int64) {
	t.Helper()
	limit := resource.NewQuantity(bytes, resource.BinarySI).String()
	u := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "ResourceQuota", "metadata": map[string]any{"name": "limit"},
		"spec": map[string]any{"hard": map[string]any{string(corev1.ResourceRequestsStorage): limit}},
	}}
	if _, err := o.of(t, "resourcequota", namespace).Create(t.Context(), u, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	deadline := time.Now().Add(10 * time.Second)
	for {
		u, err := o.of(t, "resourcequota", namespace).Get(t.Context(), "limit", metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if _, ok, _ := unstructured.NestedMap(u.Object, "status", "hard"); ok {
			return
		}
		if time.Now().After(deadline) {
			t.Fatal("the quota was never counted")
		}
		time.Sleep(2 * time.Millisecond)
	}
}
