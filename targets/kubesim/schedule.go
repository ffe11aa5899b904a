package kubesim

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"
	virtv1 "kubevirt.io/api/core/v1"
)

// launcherOverhead is about what KubeVirt adds to a guest's memory for the processes around it.
const launcherOverhead = 256 << 20

// demand is what the pod of a guest asks for: a tenth of a core for each vCPU, as KubeVirt overcommits by default.
func demand(spec *virtv1.VirtualMachineInstanceSpec) (cpu, memory resource.Quantity) {
	vcpus := int64(1)
	if c := spec.Domain.CPU; c != nil {
		vcpus = int64(max(c.Cores, 1)) * int64(max(c.Sockets, 1)) * int64(max(c.Threads, 1))
	}
	cpu = *resource.NewMilliQuantity(vcpus*100, resource.DecimalSI)
	switch d := spec.Domain; {
	case d.Memory != nil && d.Memory.Guest != nil:
		memory = d.Memory.Guest.DeepCopy()
	default:
		memory = d.Resources.Requests.Memory().DeepCopy()
	}
	memory.Add(*resource.NewQuantity(launcherOverhead, resource.BinarySI))
	return cpu, memory
}

// wants sums up what a pod asks a node for.
func wants(pod object) map[string]resource.Quantity {
	sum := map[string]resource.Quantity{}
	for _, c := range objects(at(pod, "spec", "containers")) {
		for _, list := range []string{"requests", "limits"} {
			for what, v := range sub(c, "resources", list) {
				if text, ok := v.(string); ok && (list == "requests" || strings.Contains(what, "/")) {
					q := sum[what]
					q.Add(quantity(text))
					sum[what] = q
				}
			}
		}
	}
	return sum
}

// schedule finds a node, or says as the scheduler does why there is none.
func schedule(t tx, pod object) (node, why string) {
	all := t.list(&nodes, "")
	reasons := map[string]int{}
	for _, n := range all {
		problems := misfits(t, n, pod)
		if len(problems) == 0 {
			return name(n), ""
		}
		for _, p := range problems {
			reasons[p]++
		}
	}
	var list []string
	for _, r := range slices.Sorted(maps.Keys(reasons)) {
		list = append(list, fmt.Sprintf("%d %s", reasons[r], r))
	}
	return "", fmt.Sprintf("0/%d nodes are available: %s. preemption: 0/%d nodes are available: %d No preemption victims found for incoming pod.",
		len(all), strings.Join(list, ", "), len(all), len(all))
}

func misfits(t tx, node, pod object) []string {
	if at(node, "spec", "unschedulable") == true {
		return []string{"node(s) were unschedulable"}
	}
	have := labels(node)
	for k, v := range sub(pod, "spec", "nodeSelector") {
		if have[k] != v {
			return []string{"node(s) didn't match Pod's node affinity/selector"}
		}
	}
	used := map[string]resource.Quantity{}
	for _, p := range t.list(&pods, "") {
		if phase := str(p, "status", "phase"); str(p, "spec", "nodeName") == name(node) && phase != "Succeeded" && phase != "Failed" {
			for what, q := range wants(p) {
				sum := used[what]
				sum.Add(q)
				used[what] = sum
			}
		}
	}
	var out []string
	for what, q := range wants(pod) {
		sum := used[what]
		sum.Add(q)
		if sum.Cmp(quantity(str(node, "status", "allocatable", what))) > 0 {
			out = append(out, "Insufficient "+what)
		}
	}
	return out
}
