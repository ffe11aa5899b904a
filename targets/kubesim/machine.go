package kubesim

import (
	"slices"

	virtv1 "kubevirt.io/api/core/v1"
)

// playMachines is virt-controller's part for VirtualMachines.
func (s *Server) playMachines(t tx) {
	for _, o := range t.list(&machines, "") {
		vm, err := typed[virtv1.VirtualMachine](o)
		if err != nil {
			t.event(o, "Warning", "FailedCreate", "%v", err)
			continue
		}
		s.playMachine(t, o, vm)
	}
}

func strategyOf(vm *virtv1.VirtualMachine) virtv1.VirtualMachineRunStrategy {
	switch {
	case vm.Spec.RunStrategy != nil:
		return *vm.Spec.RunStrategy
	case vm.Spec.Running != nil && *vm.Spec.Running:
		return virtv1.RunStrategyAlways
	}
	return virtv1.RunStrategyHalted
}

func (s *Server) playMachine(t tx, o object, vm *virtv1.VirtualMachine) {
	vmi := t.get(&instances, vm.Namespace, vm.Name)
	if vmi != nil && !ownedBy(vmi, uid(o)) {
		t.event(o, "Warning", "FailedCreate", "VirtualMachineInstance %s exists and is not controlled by this VirtualMachine", vm.Name)
		return
	}
	if dying(o) {
		if vmi != nil && !dying(vmi) {
			t.delete(&instances, vmi, nil)
		}
		if vmi == nil && slices.Contains(finalizers(o), finalizerVM) {
			t.finalize(&machines, o, finalizerVM)
			return
		}
		s.showMachine(t, o, vm, vmi, "Terminating")
		return
	}
	s.makeTemplates(t, o, vm)
	strategy, asked := strategyOf(vm), asks(o)
	final := vmi != nil && (str(vmi, "status", "phase") == "Succeeded" || str(vmi, "status", "phase") == "Failed")
	want := strategy == virtv1.RunStrategyAlways || asked == "Start"
	ran := t.get(&launches, vm.Namespace, vm.Name) != nil
	if strategy == virtv1.RunStrategyOnce || strategy == virtv1.RunStrategyRerunOnFailure {
		want = want || !ran
	}
	if asked == "Stop" || strategy == virtv1.RunStrategyHalted {
		want = false
	}
	if launch := t.get(&launches, vm.Namespace, vm.Name); launch != nil && strategy == virtv1.RunStrategyHalted {
		t.drop(&launches, launch)
	}
	switch {
	case vmi != nil && dying(vmi):
	case vmi != nil && final:
		if strategy == virtv1.RunStrategyAlways || strategy == virtv1.RunStrategyRerunOnFailure && str(vmi, "status", "phase") == "Failed" {
			t.delete(&instances, vmi, nil)
		}
	case vmi != nil && (strategy == virtv1.RunStrategyHalted || asked == "Stop"):
		t.delete(&instances, vmi, nil)
		t.event(o, "Normal", "SuccessfulDelete", "Stopped the virtual machine by deleting the virtual machine instance %s", uid(vmi))
	case vmi == nil && want && s.templatesReady(t, vm):
		if s.pacer.passed("vm "+uid(o), 1) {
			vmi = s.makeInstance(t, o, vm)
		}
	}
	if asked == "Start" && vmi != nil || asked == "Stop" && vmi == nil {
		t.edit(&machines, o, func(c object) { set(c, nil, "status", "stateChangeRequests") })
	}
	vmi = t.get(&instances, vm.Namespace, vm.Name)
	s.showMachine(t, t.get(&machines, vm.Namespace, vm.Name), vm, vmi, s.printable(t, vm, vmi, want))
}

// asks is what start or stop asked for last.
func asks(o object) string {
	list := objects(at(o, "status", "stateChangeRequests"))
	if len(list) == 0 {
		return ""
	}
	return str(list[len(list)-1], "action")
}

func (s *Server) makeTemplates(t tx, o object, vm *virtv1.VirtualMachine) {
	for _, tpl := range vm.Spec.DataVolumeTemplates {
		if t.get(&datavolumes, vm.Namespace, tpl.Name) != nil {
			continue
		}
		dv := owned(newObject(&datavolumes, vm.Namespace, tpl.Name), o)
		set(dv, textMap(tpl.Labels), "metadata", "labels")
		set(dv, textMap(tpl.Annotations), "metadata", "annotations")
		dv["spec"] = untyped(tpl.Spec)
		t.put(&datavolumes, dv)
	}
}

func (s *Server) templatesReady(t tx, vm *virtv1.VirtualMachine) bool {
	return !slices.ContainsFunc(vm.Spec.DataVolumeTemplates, func(tpl virtv1.DataVolumeTemplateSpec) bool {
		phase := str(t.get(&datavolumes, vm.Namespace, tpl.Name), "status", "phase")
		return phase != "Succeeded" && phase != "WaitForFirstConsumer"
	})
}

func (s *Server) makeInstance(t tx, o object, vm *virtv1.VirtualMachine) object {
	vmi := owned(newObject(&instances, vm.Namespace, vm.Name), o)
	set(vmi, textMap(vm.Spec.Template.ObjectMeta.Labels), "metadata", "labels")
	set(vmi, textMap(vm.Spec.Template.ObjectMeta.Annotations), "metadata", "annotations")
	spec := clone(sub(o, "spec", "template", "spec"))
	vmi["spec"] = spec
	s.sizeByInstancetype(t, vm, spec)
	s.setDefaults(t, &instances, vmi)
	if err := t.withinQuota(&instances, vmi); err != nil {
		t.event(o, "Warning", "FailedCreate", "Error creating virtual machine instance: %v", err)
		return nil
	}
	vmi = t.put(&instances, vmi)
	t.event(o, "Normal", "SuccessfulCreate", "Started the virtual machine by creating the new virtual machine instance %s", vm.Name)
	if t.get(&launches, vm.Namespace, vm.Name) == nil {
		t.put(&launches, owned(newObject(&launches, vm.Namespace, vm.Name), o))
	}
	return vmi
}

func (s *Server) sizeByInstancetype(t tx, vm *virtv1.VirtualMachine, spec object) {
	if vm.Spec.Instancetype == nil {
		return
	}
	it := t.get(&clusterTypes, "", vm.Spec.Instancetype.Name)
	if it == nil {
		it = t.get(&localTypes, vm.Namespace, vm.Spec.Instancetype.Name)
	}
	if n, ok := at(it, "spec", "cpu", "guest").(int64); ok {
		set(spec, object{"sockets": n, "cores": int64(1), "threads": int64(1)}, "domain", "cpu")
	}
	if m := str(it, "spec", "memory", "guest"); m != "" {
		set(spec, m, "domain", "memory", "guest")
	}
}

// printable is the column that people read.
func (s *Server) printable(t tx, vm *virtv1.VirtualMachine, vmi object, want bool) string {
	switch {
	case vmi == nil && !want:
		return "Stopped"
	case vmi != nil && dying(vmi):
		return "Stopping"
	}
	switch str(vmi, "status", "phase") {
	case "Running":
		return "Running"
	case "Succeeded", "Failed":
		return "Stopped"
	}
	if conditionStatus(vmi, "PodScheduled") == "False" {
		return "ErrorUnschedulable"
	}
	for _, v := range vm.Spec.Template.Spec.Volumes {
		n := claimOf(v)
		if n == "" {
			continue
		}
		dv, claim := t.get(&datavolumes, vm.Namespace, n), t.get(&claims, vm.Namespace, n)
		switch phase := str(dv, "status", "phase"); {
		case dv == nil && claim == nil && v.PersistentVolumeClaim != nil, dv == nil && claim == nil && !isTemplate(vm, n):
			return "ErrorPvcNotFound"
		case phase == "Failed":
			return "DataVolumeError"
		case phase == "WaitForFirstConsumer", str(claim, "status", "phase") == "Pending":
			return "WaitingForVolumeBinding"
		case dv != nil && phase != "Succeeded":
			return "Provisioning"
		}
	}
	return "Starting"
}

func isTemplate(vm *virtv1.VirtualMachine, n string) bool {
	return slices.ContainsFunc(vm.Spec.DataVolumeTemplates, func(t virtv1.DataVolumeTemplateSpec) bool { return t.Name == n })
}

func (s *Server) showMachine(t tx, o object, vm *virtv1.VirtualMachine, vmi object, printable string) {
	now := s.cfg.Now()
	t.edit(&machines, o, func(c object) {
		st := sub(c, "status")
		if st == nil {
			st = object{}
			c["status"] = st
		}
		st["printableStatus"], st["runStrategy"] = printable, string(strategyOf(vm))
		st["desiredGeneration"], st["observedGeneration"] = at(c, "metadata", "generation"), at(c, "metadata", "generation")
		for _, f := range []string{"created", "ready"} {
			delete(st, f)
		}
		list := objects(st["conditions"])
		if vmi == nil {
			list = condition(list, now, "Ready", "False", "VMINotExists", "VMI does not exist")
		} else {
			st["created"] = true
			ready := conditionOf(vmi, "Ready")
			if ready["status"] == "True" {
				st["ready"] = true
			}
			status, _ := ready["status"].(string)
			reason, _ := ready["reason"].(string)
			message, _ := ready["message"].(string)
			if status == "" {
				status = "False"
			}
			list = condition(list, now, "Ready", status, reason, message)
		}
		list = slices.DeleteFunc(list, func(x object) bool { return x["type"] != "Ready" })
		for _, kind := range []string{"PodScheduled", "Synchronized", "AgentConnected", "LiveMigratable"} {
			if x := conditionOf(vmi, kind); x != nil && !(kind == "Synchronized" && x["status"] == "True") {
				list = append(list, clone(x))
			}
		}
		st["conditions"] = anys(list)
	})
}

func conditionOf(o object, kind string) object {
	for _, c := range objects(at(o, "status", "conditions")) {
		if c["type"] == kind {
			return c
		}
	}
	return nil
}
