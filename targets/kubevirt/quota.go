package kubevirt

import (
	"context"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"landfall/targets"
)

func (l *lookup) quota(ctx context.Context) error {
	list, err := l.core.ResourceQuotas(l.q.Namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return classify("list quotas in namespace "+l.q.Namespace, err)
	}
	var lines []string
	var least *int64
	for _, q := range list.Items {
		for name, hard := range q.Status.Hard {
			used := q.Status.Used[name]
			lines = append(lines, fmt.Sprintf("%s: %s of %s used", bounded(string(name), 128), used.String(), hard.String()))
			if !l.countsOurStorage(name) {
				continue
			}
			left := max(hard.Value()-used.Value(), 0)
			if least == nil || left < *least {
				least = &left
			}
		}
	}
	slices.Sort(lines)
	l.set(func(f *targets.Facts) { f.Quota, f.QuotaStorage = lines, least })
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
