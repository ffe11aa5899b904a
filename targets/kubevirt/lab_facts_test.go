package kubevirt_test

import (
	"maps"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"landfall/engine/spec"
	"landfall/targets"
)

// TestLabFacts looks at a real cluster as the documented user: the roles are enough for every fact that the cluster tells.
func TestLabFacts(t *testing.T) {
	l := openLab(t, "api")
	ns := l.namespace(t)
	l.allow(t, "migrator", ns, nil)
	limit := corev1.LimitRangeItem{Type: corev1.LimitTypePersistentVolumeClaim, Max: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("5Gi")}}
	if _, err := l.core.CoreV1().LimitRanges(ns).Create(t.Context(), &corev1.LimitRange{ObjectMeta: metav1.ObjectMeta{Name: "claims"}, Spec: corev1.LimitRangeSpec{Limits: []corev1.LimitRangeItem{limit}}}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	f, err := l.dial(t, "migrator", ns, nil).Facts(t.Context(), targets.Question{
		Namespace: ns, VMName: "web", VMNames: []string{"db"}, MACs: []string{"00:50:56:00:00:01"}, Networks: []string{ns + "/none"},
		Owner: targets.Owner{UID: "facts"}, Delivery: spec.Upload,
	})
	if err != nil {
		t.Fatal(err)
	}
	delete(f.Unknown, targets.FactPods) // its nodes may have been given none
	if !l.has("data") {
		delete(f.Unknown, targets.FactOverhead) // CDI's own object, which CDI makes
	}
	if len(f.Unknown)+len(f.Denied) > 0 {
		t.Errorf("unknown %v, denied %v", f.Unknown, f.Denied)
	}
	if !f.NamespaceExists || !f.KubeVirt.Served || !f.CDI.Served || len(f.Ranges.Services) == 0 {
		t.Errorf("namespace %v, KubeVirt %+v, CDI %+v, ranges %+v", f.NamespaceExists, f.KubeVirt, f.CDI, f.Ranges)
	}
	if len(f.Limits) != 1 || f.Limits[0].Max == nil || *f.Limits[0].Max != 5<<30 {
		t.Errorf("limits %+v", f.Limits)
	}
	if there, asked := f.Networks[ns+"/none"]; there || !asked {
		t.Errorf("networks %v", f.Networks)
	}
	t.Logf("looked at %v", slices.Sorted(maps.Keys(f.Looked)))
	t.Logf("KubeVirt %+v, CDI %+v, ranges %+v, %d nodes", f.KubeVirt, f.CDI, f.Ranges, f.Nodes)
}
