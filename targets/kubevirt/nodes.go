package kubevirt

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"landfall/targets"
)

// kvm counts the nodes on which a VM could run with hardware virtualisation.
func (l *lookup) kvm(ctx context.Context) error {
	page := metav1.ListOptions{Limit: 500}
	count := 0
	for {
		list, err := l.core.Nodes().List(ctx, page)
		if err != nil {
			return classify("list nodes", err)
		}
		for _, n := range list.Items {
			if q := n.Status.Allocatable[kvmDevice]; !q.IsZero() && !n.Spec.Unschedulable {
				count++
			}
		}
		if page.Continue = list.Continue; page.Continue == "" {
			break
		}
	}
	l.set(func(f *targets.Facts) { f.KVMNodes = count })
	return nil
}
