package kubevirt

import (
	"context"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	virt "kubevirt.io/api/core/v1"

	"landfall/targets"
)

// kvmDevice is the resource by which a node offers hardware virtualisation.
const kvmDevice = "devices.kubevirt.io/kvm"

// Instance looks at the running instance, and where there is none, at what the machine says about why.
func (t *Target) Instance(ctx context.Context, o targets.Owner, p targets.Plan) (targets.InstanceState, error) {
	what := object("virtualmachineinstance", p.Namespace, p.Name)
	vmi, err := t.virt.VirtualMachineInstances(p.Namespace).Get(ctx, p.Name, metav1.GetOptions{})
	if absent(err) {
		return t.instanceless(ctx, o, p)
	}
	if err != nil {
		return targets.InstanceState{}, classify("look at "+what, err)
	}
	if !ours(vmi, o) {
		return targets.InstanceState{}, notOurs("virtualmachineinstance", vmi, o)
	}
	s := instanceState(vmi)
	if s.Agent {
		// What the agent tells is for people: an instance is no worse off for not being asked.
		if info, err := t.virt.VirtualMachineInstances(p.Namespace).GuestOsInfo(ctx, p.Name); err == nil {
			s.HostName = bounded(info.Hostname, 255)
			if info.OS.PrettyName != "" {
				s.OS = bounded(info.OS.PrettyName, 255)
			}
		}
	}
	return s, nil
}

func instanceState(vmi *virt.VirtualMachineInstance) targets.InstanceState {
	s := targets.InstanceState{
		Exists: true, Phase: string(vmi.Status.Phase), Node: vmi.Status.NodeName,
		OS: bounded(vmi.Status.GuestOSInfo.PrettyName, 255), Addresses: addresses(vmi),
	}
	if s.Phase == "" {
		s.Phase = string(virt.Pending)
	}
	for _, c := range vmi.Status.Conditions {
		words := bounded(strings.TrimPrefix(c.Reason+": "+c.Message, ": "), 1024)
		no := c.Status == corev1.ConditionFalse
		switch {
		case string(c.Type) == string(corev1.PodScheduled) && no && c.Reason == corev1.PodReasonUnschedulable:
			s.Unschedulable = words
		case c.Type == virt.VirtualMachineInstanceAgentConnected:
			s.Agent = c.Status == corev1.ConditionTrue
		case c.Type == virt.VirtualMachineInstanceSynchronized && no:
			s.Failure = words
		}
	}
	s.NoKVM = strings.Contains(s.Unschedulable, kvmDevice)
	if vmi.Status.Phase == virt.Failed && s.Failure == "" {
		s.Failure = bounded("the instance failed: "+vmi.Status.Reason, 1024)
	}
	return s
}

// addresses are those that the guest can be reached on.
func addresses(vmi *virt.VirtualMachineInstance) []string {
	var list []string
	for _, i := range vmi.Status.Interfaces {
		ips := i.IPs
		if len(ips) == 0 && i.IP != "" {
			ips = []string{i.IP}
		}
		for _, a := range ips {
			if reachable(a) {
				list = append(list, a)
			}
		}
	}
	return list
}

// instanceless tells why a machine that should run has no instance.
func (t *Target) instanceless(ctx context.Context, o targets.Owner, p targets.Plan) (targets.InstanceState, error) {
	vm, err := t.machines(p).Get(ctx, p.Name, metav1.GetOptions{})
	if absent(err) {
		return targets.InstanceState{}, nil
	}
	if err != nil {
		return targets.InstanceState{}, classify("look at "+object("virtualmachine", p.Namespace, p.Name), err)
	}
	if !ours(vm, o) {
		return targets.InstanceState{}, nil
	}
	var s targets.InstanceState
	conditions, _, _ := unstructured.NestedSlice(vm.Object, "status", "conditions")
	for _, c := range conditions {
		m, _ := c.(map[string]any)
		if m["type"] == "Failure" && m["status"] == "True" {
			reason, _ := m["reason"].(string)
			message, _ := m["message"].(string)
			s.Failure = bounded(strings.TrimPrefix(reason+": "+message, ": "), 1024)
		}
	}
	return s, nil
}
