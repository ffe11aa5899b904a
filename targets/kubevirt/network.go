package kubevirt

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	virt "kubevirt.io/api/core/v1"

	"landfall/engine/fault"
	"landfall/targets"
)

var attachments = schema.GroupVersionResource{Group: "k8s.cni.cncf.io", Version: "v1", Resource: "network-attachment-definitions"}

func (l *lookup) networks(ctx context.Context) error {
	if len(l.q.Networks) == 0 {
		return nil
	}
	found := map[string]bool{}
	var errs []error
	for _, n := range l.q.Networks {
		ns, name, ok := strings.Cut(n, "/")
		if !ok {
			ns, name = l.q.Namespace, n
		}
		_, err := l.dynamic.Resource(attachments).Namespace(ns).Get(ctx, name, metav1.GetOptions{})
		if err = classify("look at network-attachment-definition "+ns+"/"+name, err); err == nil {
			found[n] = true
		} else if fault.Is(err, fault.NotFound) || fault.Is(err, fault.Unsupported) {
			found[n] = false // without Multus there is no such network either
		} else {
			errs = append(errs, err)
		}
	}
	l.set(func(f *targets.Facts) { f.Networks = found })
	return errors.Join(errs...)
}

// macs looks for hardware addresses that machines and instances have already. Where the whole cluster may not be seen, the
// namespace is, and the fact stays unknown.
func (l *lookup) macs(ctx context.Context) error {
	if len(l.q.MACs) == 0 {
		return nil
	}
	wanted := map[string]bool{}
	for _, m := range l.q.MACs {
		wanted[normalMAC(m)] = true
	}
	used := map[string]string{}
	see := func(m metav1.Object, mac string) {
		if mac = normalMAC(mac); wanted[mac] && !ours(m, l.q.Owner) {
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
	page := metav1.ListOptions{Limit: 500}
	for {
		list, err := l.virt.VirtualMachines(namespace).List(ctx, page)
		if err != nil {
			return classify("list virtualmachines", err)
		}
		for i := range list.Items {
			if t := list.Items[i].Spec.Template; t != nil {
				for _, n := range t.Spec.Domain.Devices.Interfaces {
					see(&list.Items[i], n.MacAddress)
				}
			}
		}
		if page.Continue = list.Continue; page.Continue == "" {
			break
		}
	}
	page = metav1.ListOptions{Limit: 500}
	for {
		list, err := l.virt.VirtualMachineInstances(namespace).List(ctx, page)
		if err != nil {
			return classify("list virtualmachineinstances", err)
		}
		for i := range list.Items {
			if slices.Contains([]virt.VirtualMachineInstancePhase{virt.Succeeded, virt.Failed}, list.Items[i].Status.Phase) {
				continue
			}
			for _, n := range list.Items[i].Status.Interfaces {
				see(&list.Items[i], n.MAC)
			}
		}
		if page.Continue = list.Continue; page.Continue == "" {
			return nil
		}
	}
}

func normalMAC(s string) string {
	hw, err := net.ParseMAC(strings.TrimSpace(s))
	if err != nil {
		return strings.ToLower(s)
	}
	return hw.String()
}
