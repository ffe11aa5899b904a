package kubevirt

import (
	"context"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"landfall/engine/fault"
	"landfall/targets"
)

func instancetypeAPI(plural string) schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: "instancetype.kubevirt.io", Version: "v1beta1", Resource: plural}
}

// preferences lists those of the cluster and of the namespace. KubeVirt means the cluster's by a name alone.
func (l *lookup) preferences(ctx context.Context) error {
	found := map[string]targets.Preference{}
	err := l.each(ctx, "preferences", func(u *unstructured.Unstructured, namespaced bool) {
		p := targets.Preference{
			Namespaced: namespaced, CPUs: count(u, "spec", "requirements", "cpu", "guest"), Memory: size(u, "spec", "requirements", "memory", "guest"),
		}
		if a, _, _ := unstructured.NestedString(u.Object, "spec", "requirements", "architecture"); a != "" {
			p.Architecture = []string{bounded(a, 63)}
		}
		_, p.TPM, _ = unstructured.NestedFieldNoCopy(u.Object, "spec", "devices", "preferredTPM")
		if _, known := found[u.GetName()]; !known {
			found[u.GetName()] = p
		}
	})
	l.set(func(f *targets.Facts) { f.Preferences = found })
	return err
}

func (l *lookup) instancetypes(ctx context.Context) error {
	found := map[string]targets.Instancetype{}
	err := l.each(ctx, "instancetypes", func(u *unstructured.Unstructured, namespaced bool) {
		if _, known := found[u.GetName()]; !known {
			found[u.GetName()] = targets.Instancetype{Namespaced: namespaced, CPUs: count(u, "spec", "cpu", "guest"), Memory: size(u, "spec", "memory", "guest")}
		}
	})
	l.set(func(f *targets.Facts) { f.Instancetypes = found })
	return err
}

// each lists the cluster's first, then the namespace's.
func (l *lookup) each(ctx context.Context, what string, see func(u *unstructured.Unstructured, namespaced bool)) error {
	for _, namespaced := range []bool{false, true} {
		r := l.dynamic.Resource(instancetypeAPI("virtualmachinecluster" + what))
		api, doing := r.List, "list virtualmachinecluster"+what
		if namespaced {
			r = l.dynamic.Resource(instancetypeAPI("virtualmachine" + what))
			api, doing = r.Namespace(l.q.Namespace).List, "list virtualmachine"+what+" in "+l.q.Namespace
		}
		err := pages(func(page metav1.ListOptions) (string, error) {
			list, err := api(ctx, page)
			if err != nil {
				return "", classify(doing, err)
			}
			for i := range list.Items {
				see(&list.Items[i], namespaced)
			}
			return list.GetContinue(), nil
		})
		if fault.Is(err, fault.NotFound) || fault.Is(err, fault.Unsupported) {
			continue // without KubeVirt there are none
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func count(u *unstructured.Unstructured, path ...string) uint32 {
	n, _, _ := unstructured.NestedInt64(u.Object, path...)
	return uint32(min(max(n, 0), 1<<20))
}

func size(u *unstructured.Unstructured, path ...string) int64 {
	s, _, _ := unstructured.NestedString(u.Object, path...)
	q, err := resource.ParseQuantity(s)
	if err != nil {
		return 0
	}
	return max(q.Value(), 0)
}
