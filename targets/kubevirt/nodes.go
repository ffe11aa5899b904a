package kubevirt

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"landfall/targets"
)

// nodes counts those on which a VM could run with hardware virtualisation, and takes down their addresses and those that
// they give to pods.
func (l *lookup) nodes(ctx context.Context) error {
	all, kvm := 0, 0
	var addresses, pods []string
	err := pages(func(page metav1.ListOptions) (string, error) {
		list, err := l.core.Nodes().List(ctx, page)
		if err != nil {
			return "", classify("list nodes", err)
		}
		for _, n := range list.Items {
			all++
			if q := n.Status.Allocatable[kvmDevice]; !q.IsZero() && !n.Spec.Unschedulable {
				kvm++
			}
			for _, a := range n.Status.Addresses {
				if a.Type == corev1.NodeInternalIP || a.Type == corev1.NodeExternalIP {
					addresses = append(addresses, a.Address)
				}
			}
			pods = append(pods, n.Spec.PodCIDRs...)
			pods = append(pods, n.Spec.PodCIDR)
		}
		return list.Continue, nil
	})
	l.done(targets.FactNodes, err)
	if err != nil {
		l.pods.see(nil, err)
		return err
	}
	l.pods.see(pods, nil)
	l.set(func(f *targets.Facts) { f.KVMNodes, f.Nodes, f.Ranges.Nodes = kvm, all, prefixes(addresses) })
	return nil
}

// pages asks for one page after the other until there is none.
func pages(list func(metav1.ListOptions) (next string, err error)) error {
	page := metav1.ListOptions{Limit: 500}
	for {
		next, err := list(page)
		if err != nil || next == "" {
			return err
		}
		page.Continue = next
	}
}
