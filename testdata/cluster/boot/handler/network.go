package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	virt "kubevirt.io/api/core/v1"
)

// pod is the instance's launcher pod on this node.
type pod struct {
	address string
	network string // of its network namespace
}

// launcher finds the instance's launcher pod, which is there before the instance is this node's.
func (h *handler) launcher(ctx context.Context, vmi *virt.VirtualMachineInstance) (pod, error) {
	pods, err := h.core.CoreV1().Pods(vmi.Namespace).List(ctx, metav1.ListOptions{LabelSelector: virt.CreatedByLabel + "=" + string(vmi.UID)})
	if err != nil {
		return pod{}, fmt.Errorf("look at its launcher: %w", err)
	}
	for _, p := range pods.Items {
		if p.Spec.NodeName == h.node && p.DeletionTimestamp == nil && p.Status.PodIP != "" {
			network, err := networkOf(string(p.UID))
			if err != nil {
				return pod{}, fmt.Errorf("its launcher %s: %w", p.Name, err)
			}
			return pod{p.Status.PodIP, network}, nil
		}
	}
	return pod{}, errors.New("its launcher has no address yet")
}

// networkOf finds a process of a pod by its control group, which the kubelet names for the pod, and gives its network.
func networkOf(uid string) (string, error) {
	groups, err := filepath.Glob("/proc/[0-9]*/cgroup")
	if err != nil {
		return "", err
	}
	for _, g := range groups {
		b, err := os.ReadFile(g)
		if err == nil && strings.Contains(string(b), "/pod"+uid) {
			return filepath.Join(filepath.Dir(g), "ns", "net"), nil
		}
	}
	return "", errors.New("none of its processes runs on this node")
}

// forward makes the guest's ports reachable on the pod's address: those that a service leads to, and no others.
func (h *handler) forward(ctx context.Context, vmi *virt.VirtualMachineInstance, g *guest) error {
	nic := slices.IndexFunc(vmi.Spec.Domain.Devices.Interfaces, func(n virt.Interface) bool { return onPod(vmi, n) })
	if nic < 0 {
		return nil
	}
	slicesOf, err := h.core.DiscoveryV1().EndpointSlices(vmi.Namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return fmt.Errorf("look at the services that lead to it: %w", err)
	}
	want := wanted(slicesOf.Items, g.pod.address, vmi.Spec.Domain.Devices.Interfaces[nic].Ports)
	var failed []error
	for port := range want {
		if g.ports[port] {
			continue
		}
		if err := g.console(fmt.Sprintf("hostfwd_add net%d %s", nic, rule(port, g.pod.address, true))); err != nil {
			failed = append(failed, err)
			continue
		}
		g.ports[port] = true
	}
	for _, port := range slices.Collect(maps.Keys(g.ports)) {
		if want[port] {
			continue
		}
		// qemu says that it removed the rule, so what it says is no failure.
		_, _ = g.monitor(command{"human-monitor-command", map[string]string{"command-line": fmt.Sprintf("hostfwd_remove net%d %s", nic, rule(port, g.pod.address, false))}})
		delete(g.ports, port)
	}
	return errors.Join(failed...)
}

// wanted are the ports, as "tcp:80", that services lead to; only the interface's own if it names any.
func wanted(list []discoveryv1.EndpointSlice, address string, only []virt.Port) map[string]bool {
	ports := map[string]bool{}
	for _, s := range list {
		if !slices.ContainsFunc(s.Endpoints, func(e discoveryv1.Endpoint) bool { return slices.Contains(e.Addresses, address) }) {
			continue
		}
		for _, p := range s.Ports {
			if p.Port == nil || p.Protocol != nil && *p.Protocol != corev1.ProtocolTCP && *p.Protocol != corev1.ProtocolUDP {
				continue
			}
			if len(only) > 0 && !slices.ContainsFunc(only, func(o virt.Port) bool { return o.Port == *p.Port }) {
				continue
			}
			protocol := corev1.ProtocolTCP
			if p.Protocol != nil {
				protocol = *p.Protocol
			}
			ports[fmt.Sprintf("%s:%d", strings.ToLower(string(protocol)), *p.Port)] = true
		}
	}
	return ports
}

// rule is one as qemu's monitor reads it, with where it leads, or without.
func rule(port, address string, leads bool) string {
	protocol, number, _ := strings.Cut(port, ":")
	r := fmt.Sprintf("%s:%s:%s", protocol, address, number)
	if leads {
		r += fmt.Sprintf("-%s:%s", guestIP, number)
	}
	return r
}
