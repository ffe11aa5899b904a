package kubevirt

import (
	"context"
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	virt "kubevirt.io/api/core/v1"

	"landfall/engine/fault"
	"landfall/targets"
)

// macs looks for hardware addresses that machines and instances have already. Where the whole cluster may not be seen, the
// namespace is, and the fact stays unknown.
func (l *lookup) macs(ctx context.Context) error {
	if len(l.q.MACs) == 0 {
		return nil
	}
	wanted := map[string]bool{}
	for _, m := range l.q.MACs {
		wanted[targets.NormalMAC(m)] = true
	}
	used := map[string]string{}
	see := func(m metav1.Object, mac string) {
		if mac = targets.NormalMAC(mac); wanted[mac] && !ours(m, l.q.Owner) {
			used[mac] = bounded(m.GetNamespace()+"/"+m.GetName(), 128)
		}
	}
	err := l.eachMAC(ctx, metav1.NamespaceAll, see)
	if fault.Is(err, fault.NoPermission) {
		if err2 := l.eachMAC(ctx, l.q.Namespace, see); err2 != nil {
			return err2
		}
		err = fmt.Errorf("only namespace %s could be seen: %w", l.q.Namespace, err)
	}
	l.set(func(f *targets.Facts) { f.MACs = used })
	return err
}

func (l *lookup) eachMAC(ctx context.Context, namespace string, see func(metav1.Object, string)) error {
	err := pages(func(page metav1.ListOptions) (string, error) {
		list, err := l.virt.VirtualMachines(namespace).List(ctx, page)
		if err != nil {
			return "", classify("list virtualmachines", err)
		}
		for i := range list.Items {
			if t := list.Items[i].Spec.Template; t != nil {
				for _, n := range t.Spec.Domain.Devices.Interfaces {
					see(&list.Items[i], n.MacAddress)
				}
			}
		}
		return list.Continue, nil
	})
	if err != nil {
		return err
	}
	return pages(func(page metav1.ListOptions) (string, error) {
		list, err := l.virt.VirtualMachineInstances(namespace).List(ctx, page)
		if err != nil {
			return "", classify("list virtualmachineinstances", err)
		}
		for i := range list.Items {
			if slices.Contains([]virt.VirtualMachineInstancePhase{virt.Succeeded, virt.Failed}, list.Items[i].Status.Phase) {
				continue
			}
			for _, n := range list.Items[i].Status.Interfaces {
				see(&list.Items[i], n.MAC)
			}
		}
		return list.Continue, nil
	})
}
