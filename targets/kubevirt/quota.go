package kubevirt

import (
	"context"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"landfall/targets"
)

func (l *lookup) quota(ctx context.Context) error {
	list, err := l.core.ResourceQuotas(l.q.Namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return classify("list quotas in namespace "+l.q.Namespace, err)
	}
	var lines []string
	left := map[string]int64{}
	var least *int64
	for _, q := range list.Items {
		for name, hard := range q.Status.Hard {
			used := q.Status.Used[name]
			lines = append(lines, fmt.Sprintf("%s: %s of %s used", bounded(string(name), 128), used.String(), hard.String()))
			rest := max(amount(string(name), hard)-amount(string(name), used), 0)
			if n, ok := left[string(name)]; !ok || rest < n {
				left[string(name)] = rest
			}
			if !l.countsOurStorage(name) {
				continue
			}
			if least == nil || rest < *least {
				least = &rest
			}
		}
	}
	slices.Sort(lines)
	l.set(func(f *targets.Facts) { f.Quota, f.QuotaStorage, f.QuotaLeft = lines, least, left })
	return nil
}

// countsOurStorage tells whether a quota counts the bytes of a volume of one of the classes that are asked for.
func (l *lookup) countsOurStorage(name corev1.ResourceName) bool {
	if name == corev1.ResourceRequestsStorage {
		return true
	}
	class, ok := strings.CutSuffix(string(name), ".storageclass.storage.k8s.io/requests.storage")
	return ok && slices.Contains(l.q.StorageClasses, class)
}

// amount is a quantity in the unit that facts use: thousandths of a cpu, else whole bytes or pieces.
func amount(name string, q resource.Quantity) int64 {
	if name == "cpu" || strings.HasSuffix(name, ".cpu") {
		return q.MilliValue()
	}
	return q.Value()
}

// limits takes down what the LimitRanges of the namespace allow one object.
func (l *lookup) limits(ctx context.Context) error {
	list, err := l.core.LimitRanges(l.q.Namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return classify("list limit ranges in namespace "+l.q.Namespace, err)
	}
	var found []targets.Limit
	for _, r := range list.Items {
		for _, item := range r.Spec.Limits {
			for _, name := range []corev1.ResourceName{corev1.ResourceStorage, corev1.ResourceCPU, corev1.ResourceMemory} {
				limit := targets.Limit{Name: bounded(r.Name, 253), Type: bounded(string(item.Type), 63), Resource: string(name)}
				if q, ok := item.Min[name]; ok {
					n := amount(string(name), q)
					limit.Min = &n
				}
				if q, ok := item.Max[name]; ok {
					n := amount(string(name), q)
					limit.Max = &n
				}
				if limit.Min != nil || limit.Max != nil {
					found = append(found, limit)
				}
			}
		}
	}
	l.set(func(f *targets.Facts) { f.Limits = found })
	return nil
}
