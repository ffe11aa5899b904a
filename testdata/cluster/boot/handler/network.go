package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"os/exec"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	virt "kubevirt.io/api/core/v1"
)

// podAddress is the address of the instance's launcher pod on this node.
func (h *handler) podAddress(ctx context.Context, vmi *virt.VirtualMachineInstance) (string, error) {
	pods, err := h.core.CoreV1().Pods(vmi.Namespace).List(ctx, metav1.ListOptions{LabelSelector: virt.CreatedByLabel + "=" + string(vmi.UID)})
	if err != nil {
		return "", fmt.Errorf("look at its launcher: %w", err)
	}
	for _, p := range pods.Items {
		if p.Spec.NodeName == h.node && p.DeletionTimestamp == nil && p.Status.PodIP != "" {
			if p.Spec.HostNetwork || p.Status.PodIP == p.Status.HostIP {
				return "", fmt.Errorf("its launcher %s has no address of its own", p.Name)
			}
			return p.Status.PodIP, nil
		}
	}
	return "", errors.New("its launcher has no address yet")
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
	want := wanted(slicesOf.Items, g.address, vmi.Spec.Domain.Devices.Interfaces[nic].Ports)
	var failed []error
	for port := range want {
		if g.ports[port] {
			continue
		}
		if err := g.console(fmt.Sprintf("hostfwd_add net%d %s", nic, rule(port, g.address, true))); err != nil {
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
		_, _ = g.monitor(command{"human-monitor-command", map[string]string{"command-line": fmt.Sprintf("hostfwd_remove net%d %s", nic, rule(port, g.address, false))}})
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

// addresses are those that this node has for guests.
type addresses map[string]bool

// hold makes the address one of this machine's, in the namespace that the handler lives in.
func (a *addresses) hold(address string) error {
	if *a == nil {
		*a = addresses{}
	}
	have, err := net.InterfaceAddrs()
	if err != nil {
		return fmt.Errorf("look at the node's addresses: %w", err)
	}
	for _, h := range have {
		if n, ok := h.(*net.IPNet); ok && n.IP.String() == address {
			return nil
		}
	}
	if b, err := exec.Command("ip", "address", "add", address+"/32", "dev", "lo").CombinedOutput(); err != nil {
		return fmt.Errorf("give the node the address %s: %w: %s", address, err, strings.TrimSpace(string(b)))
	}
	(*a)[address] = true
	return nil
}

// release gives up an address that hold made.
func (a addresses) release(address string) {
	if a[address] {
		_ = exec.Command("ip", "address", "del", address+"/32", "dev", "lo").Run()
		delete(a, address)
	}
}
