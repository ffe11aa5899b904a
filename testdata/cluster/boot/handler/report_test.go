package main

import (
	"errors"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	virt "kubevirt.io/api/core/v1"
)

func TestReportKeepsWhatIsOthers(t *testing.T) {
	u := &unstructured.Unstructured{Object: map[string]any{"status": map[string]any{
		"phase": "Scheduled", "nodeName": "lab-node", "futureField": "stays",
		"conditions": []any{map[string]any{"type": "Ready", "status": "True"}, map[string]any{"type": "Synchronized", "status": "False"}},
	}}}
	now := time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC)
	told := report{phase: virt.Running, address: "10.244.1.7", agent: agentState{connected: true, prettyName: "Debian"}}
	if err := told.write(u, instance(nil), now); err != nil {
		t.Fatal(err)
	}
	vmi := &virt.VirtualMachineInstance{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, vmi); err != nil {
		t.Fatal(err)
	}
	s := vmi.Status
	if s.Phase != virt.Running || s.NodeName != "lab-node" || s.GuestOSInfo.PrettyName != "Debian" {
		t.Errorf("the status is %+v", s)
	}
	if v, _, _ := unstructured.NestedString(u.Object, "status", "futureField"); v != "stays" {
		t.Error("a field that is not known here is lost")
	}
	if len(s.Interfaces) != 2 || s.Interfaces[0].IP != "10.244.1.7" || s.Interfaces[1].IP != "" {
		t.Errorf("the interfaces are %+v", s.Interfaces)
	}
	kinds := map[virt.VirtualMachineInstanceConditionType]bool{}
	for _, c := range s.Conditions {
		kinds[c.Type] = true
	}
	if !kinds[virt.VirtualMachineInstanceReady] || !kinds[virt.VirtualMachineInstanceAgentConnected] || kinds[virt.VirtualMachineInstanceSynchronized] {
		t.Errorf("the conditions are %+v", s.Conditions)
	}

	// The same told again is nothing to write, whatever the time.
	again := u.DeepCopy()
	if err := told.write(again, instance(nil), now.Add(time.Hour)); err != nil || !same(u, again) {
		t.Errorf("told again it differs (%v): %v", err, again.Object)
	}
}

func TestReportTrouble(t *testing.T) {
	u := &unstructured.Unstructured{Object: map[string]any{"status": map[string]any{"phase": "Scheduled"}}}
	if err := (report{phase: virt.Scheduled, trouble: errors.New("claim a is not bound")}).write(u, instance(nil), time.Now()); err != nil {
		t.Fatal(err)
	}
	conditions, _, _ := unstructured.NestedSlice(u.Object, "status", "conditions")
	if len(conditions) != 1 || !named(conditions[0], virt.VirtualMachineInstanceSynchronized) || conditions[0].(map[string]any)["message"] != "claim a is not bound" {
		t.Errorf("the conditions are %v", conditions)
	}
}
