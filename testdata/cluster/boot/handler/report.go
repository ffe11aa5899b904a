package main

import (
	"fmt"
	"reflect"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	virt "kubevirt.io/api/core/v1"
)

// report is what is told of a guest.
type report struct {
	phase   virt.VirtualMachineInstancePhase
	reason  string // why it failed
	trouble error  // what keeps it from starting
	address string
	agent   agentState
}

// write puts it into the instance's status, and leaves the rest of it, which is virt-controller's, alone.
func (r report) write(u *unstructured.Unstructured, vmi *virt.VirtualMachineInstance, now time.Time) error {
	status, _, err := unstructured.NestedMap(u.Object, "status")
	if err != nil {
		return fmt.Errorf("read its status: %w", err)
	}
	if status == nil {
		status = map[string]any{}
	}
	stamp := now.UTC().Format(time.RFC3339)
	if status["phase"] != string(r.phase) {
		status["phase"] = string(r.phase)
		transitions, _ := status["phaseTransitionTimestamps"].([]any)
		status["phaseTransitionTimestamps"] = append(transitions, map[string]any{"phase": string(r.phase), "phaseTransitionTimestamp": stamp})
	}
	if r.reason != "" {
		status["reason"] = r.reason
	}
	conditions, _ := status["conditions"].([]any)
	if r.trouble != nil {
		conditions = condition(conditions, virt.VirtualMachineInstanceSynchronized, "False", "Synchronizing with the Domain failed.", r.trouble.Error(), stamp)
	} else {
		conditions = without(conditions, virt.VirtualMachineInstanceSynchronized)
	}
	if r.phase == virt.Running {
		status["interfaces"] = r.interfaces(vmi)
		conditions = condition(conditions, virt.VirtualMachineInstanceIsMigratable, "False", "DisksNotLiveMigratable", "cannot migrate VMI: the disks are on this node alone", stamp)
		if r.agent.connected {
			conditions = condition(conditions, virt.VirtualMachineInstanceAgentConnected, "True", "", "", stamp)
			status["guestOSInfo"] = map[string]any{"prettyName": r.agent.prettyName}
		} else {
			conditions = without(conditions, virt.VirtualMachineInstanceAgentConnected)
		}
		if vmi.Status.Machine == nil {
			status["machine"] = map[string]any{"type": "pc-q35-7.2"}
		}
	}
	status["conditions"] = conditions
	return unstructured.SetNestedMap(u.Object, status, "status")
}

// interfaces are told as virt-handler tells them of a guest without an agent: the one on the pod's network has its address.
func (r report) interfaces(vmi *virt.VirtualMachineInstance) []any {
	var all []any
	for i, n := range vmi.Spec.Domain.Devices.Interfaces {
		s := map[string]any{"name": n.Name, "infoSource": "domain", "queueCount": int64(1), "podInterfaceName": fmt.Sprintf("eth%d", i)}
		if n.MacAddress != "" {
			s["mac"] = n.MacAddress
		}
		if n.State != "" {
			s["linkState"] = string(n.State)
		} else {
			s["linkState"] = "up"
		}
		if onPod(vmi, n) && r.address != "" {
			s["ipAddress"], s["ipAddresses"] = r.address, []any{r.address}
		}
		all = append(all, s)
	}
	return all
}

func named(c any, kind virt.VirtualMachineInstanceConditionType) bool {
	m, ok := c.(map[string]any)
	return ok && m["type"] == string(kind)
}

func without(conditions []any, kind virt.VirtualMachineInstanceConditionType) []any {
	return slices.DeleteFunc(slices.Clone(conditions), func(c any) bool { return named(c, kind) })
}

// condition sets one, and keeps the time of its last change if nothing changes.
func condition(conditions []any, kind virt.VirtualMachineInstanceConditionType, status, reason, message, stamp string) []any {
	now := map[string]any{"type": string(kind), "status": status, "lastProbeTime": nil, "lastTransitionTime": stamp}
	if reason != "" {
		now["reason"] = reason
	}
	if message != "" {
		now["message"] = message
	}
	i := slices.IndexFunc(conditions, func(c any) bool { return named(c, kind) })
	if i < 0 {
		return append(slices.Clone(conditions), now)
	}
	out := slices.Clone(conditions)
	if m, ok := out[i].(map[string]any); ok && m["status"] == status {
		now["lastTransitionTime"] = m["lastTransitionTime"]
	}
	out[i] = now
	return out
}

// same tells whether there is nothing to write.
func same(a, b *unstructured.Unstructured) bool { return reflect.DeepEqual(a.Object, b.Object) }
