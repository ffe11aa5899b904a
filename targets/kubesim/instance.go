package kubesim

import (
	"fmt"
	"slices"
	"strings"

	virtv1 "kubevirt.io/api/core/v1"
)

// playInstances is virt-controller's and virt-handler's part for VirtualMachineInstances.
func (s *Server) playInstances(t tx) {
	seen := map[string]bool{}
	for _, o := range t.list(&instances, "") {
		seen[uid(o)] = true
		vmi, err := typed[virtv1.VirtualMachineInstance](o)
		if err != nil {
			t.event(o, "Warning", "FailedCreate", "%v", err)
			continue
		}
		if dying(o) {
			s.stopInstance(t, o)
			continue
		}
		switch vmi.Status.Phase {
		case virtv1.Pending, "":
			s.pendInstance(t, o, vmi)
		case virtv1.Scheduling:
			s.scheduleInstance(t, o, vmi)
		case virtv1.Scheduled:
			if s.pacer.passed("run "+uid(o), 1) {
				s.runInstance(t, o, vmi)
			}
		case virtv1.Running:
			s.runInstance(t, o, vmi)
		}
	}
	s.guests.keep(seen)
}

func launcher(t tx, vmi object) object {
	i := slices.IndexFunc(t.list(&pods, namespace(vmi)), func(p object) bool { return labels(p)[virtv1.CreatedByLabel] == uid(vmi) })
	if i < 0 {
		return nil
	}
	return t.list(&pods, namespace(vmi))[i]
}

func (s *Server) stopInstance(t tx, o object) {
	if !s.pacer.passed("stop "+uid(o), 1) {
		return
	}
	s.guests.stop(uid(o))
	if p := launcher(t, o); p != nil {
		t.delete(&pods, p, nil)
	}
	o = t.edit(&instances, o, func(c object) {
		set(c, "Succeeded", "status", "phase")
		set(c, anys(condition(objects(at(c, "status", "conditions")), s.cfg.Now(), "Ready", "False", "PodTerminating", "virt-launcher pod is terminating")), "status", "conditions")
	})
	t.finalize(&instances, o, finalizerVMI)
}

// setPhase moves an instance on and notes when.
func (s *Server) setPhase(c object, phase virtv1.VirtualMachineInstancePhase) {
	if str(c, "status", "phase") == string(phase) && at(c, "status", "phaseTransitionTimestamps") != nil {
		return
	}
	set(c, string(phase), "status", "phase")
	list, _ := at(c, "status", "phaseTransitionTimestamps").([]any)
	set(c, append(slices.Clone(list), object{"phase": string(phase), "phaseTransitionTimestamp": stamp(s.cfg.Now())}), "status", "phaseTransitionTimestamps")
}

func (s *Server) setCondition(c object, kind, status, reason, message string) {
	set(c, anys(condition(objects(at(c, "status", "conditions")), s.cfg.Now(), kind, status, reason, message)), "status", "conditions")
}

func (s *Server) pendInstance(t tx, o object, vmi *virtv1.VirtualMachineInstance) {
	ready, reason, problem := s.volumesReady(t, vmi)
	if problem == "" {
		for _, n := range vmi.Spec.Networks {
			if n.Multus == nil {
				continue
			}
			ns, nad, found := strings.Cut(n.Multus.NetworkName, "/")
			if !found {
				ns, nad = vmi.Namespace, n.Multus.NetworkName
			}
			if t.get(&nads, ns, nad) == nil {
				ready, reason, problem = false, "FailedCreate", fmt.Sprintf("failed to render launch manifest: failed to locate network attachment definition %s/%s", ns, nad)
			}
		}
	}
	o = t.edit(&instances, o, func(c object) {
		s.setPhase(c, virtv1.Pending)
		s.setCondition(c, "Ready", "False", "PodNotExists", "virt-launcher pod has not yet been scheduled")
		if problem != "" {
			s.setCondition(c, "Synchronized", "False", reason, problem)
		} else {
			s.setCondition(c, "Synchronized", "True", "", "")
		}
	})
	if !ready || !s.pacer.passed("pend "+uid(o), 1) {
		return
	}
	pod := s.launcherPod(o, vmi)
	if err := t.withinQuota(&pods, pod); err != nil {
		t.event(o, "Warning", "FailedCreate", "Error creating pod: %v", err)
		t.edit(&instances, o, func(c object) {
			s.setCondition(c, "Synchronized", "False", "FailedCreate", "failed to create virtual machine pod: "+err.Error())
		})
		return
	}
	t.put(&pods, pod)
	t.event(o, "Normal", "SuccessfulCreate", "Created virtual machine pod %s", name(pod))
	t.edit(&instances, o, func(c object) { s.setPhase(c, virtv1.Scheduling) })
}

// volumesReady says whether every volume can be attached; a claim that waits for its first consumer gets one.
func (s *Server) volumesReady(t tx, vmi *virtv1.VirtualMachineInstance) (ready bool, reason, problem string) {
	ready = true
	for _, v := range vmi.Spec.Volumes {
		n := claimOf(v)
		if n == "" {
			continue
		}
		dv, claim := t.get(&datavolumes, vmi.Namespace, n), t.get(&claims, vmi.Namespace, n)
		if claim == nil {
			if dv != nil {
				ready = false
				continue
			}
			return false, "FailedPvcNotFound", fmt.Sprintf("PVC %s/%s does not exist, waiting for it to appear", vmi.Namespace, n)
		}
		if str(claim, "status", "phase") != "Bound" {
			ready = false
			if annotation(claim, annSelected) == "" && waitsForConsumer(t, claim) {
				t.edit(&claims, claim, func(c object) { set(c, s.cfg.Nodes[0].Name, "metadata", "annotations", annSelected) })
			}
		}
		if dv != nil && str(dv, "status", "phase") != "Succeeded" {
			ready = false
		}
	}
	return ready, "", ""
}

func (s *Server) launcherPod(o object, vmi *virtv1.VirtualMachineInstance) object {
	pod := owned(newObject(&pods, vmi.Namespace, "virt-launcher-"+vmi.Name+"-"+suffix()), o)
	l := textMap(vmi.Labels)
	l[virtv1.AppLabel], l[virtv1.CreatedByLabel], l[virtv1.DeprecatedVirtualMachineNameLabel] = "virt-launcher", uid(o), vmi.Name
	l[virtv1.VirtualMachineInstanceIDLabel] = vmi.Name
	set(pod, l, "metadata", "labels")
	set(pod, object{virtv1.DomainAnnotation: vmi.Name}, "metadata", "annotations")
	var vols []any
	for _, v := range vmi.Spec.Volumes {
		if n := claimOf(v); n != "" {
			vols = append(vols, object{"name": v.Name, "persistentVolumeClaim": object{"claimName": n}})
		}
	}
	cpu, memory := demand(&vmi.Spec)
	pod["spec"] = object{
		"restartPolicy": "Never", "volumes": vols, "nodeSelector": object{virtv1.NodeSchedulable: "true"},
		"containers": []any{object{"name": "compute", "image": "kubesim/virt-launcher", "resources": object{
			"requests": object{"cpu": cpu.String(), "memory": memory.String()},
			"limits":   object{"devices.kubevirt.io/kvm": "1", "devices.kubevirt.io/tun": "1"},
		}}},
	}
	set(pod, "Pending", "status", "phase")
	return pod
}

func (s *Server) scheduleInstance(t tx, o object, vmi *virtv1.VirtualMachineInstance) {
	pod := launcher(t, o)
	if pod == nil {
		t.edit(&instances, o, func(c object) { set(c, "Failed", "status", "phase") })
		return
	}
	if str(pod, "spec", "nodeName") == "" {
		node, why := schedule(t, pod)
		if node == "" {
			t.event(pod, "Warning", "FailedScheduling", "%s", why)
			t.edit(&pods, pod, func(c object) { s.setCondition(c, "PodScheduled", "False", "Unschedulable", why) })
			t.edit(&instances, o, func(c object) {
				s.setCondition(c, "PodScheduled", "False", "Unschedulable", why)
				s.setCondition(c, "Ready", "False", "GuestNotRunning", "Guest VM is not reported as running")
			})
			return
		}
		t.edit(&pods, pod, func(c object) {
			set(c, node, "spec", "nodeName")
			s.setCondition(c, "PodScheduled", "True", "", "")
		})
		t.edit(&instances, o, func(c object) {
			set(c, anys(slices.DeleteFunc(objects(at(c, "status", "conditions")), func(x object) bool { return x["type"] == "PodScheduled" })), "status", "conditions")
			s.setCondition(c, "Ready", "False", "GuestNotRunning", "Guest VM is not reported as running")
		})
		return
	}
	if !s.pacer.passed("pod "+uid(pod), 1) {
		return
	}
	ip := freeAddress(t)
	t.edit(&pods, pod, func(c object) {
		set(c, "Running", "status", "phase")
		set(c, ip, "status", "podIP")
		set(c, []any{object{"ip": ip}}, "status", "podIPs")
		set(c, stamp(s.cfg.Now()), "status", "startTime")
		s.setCondition(c, "Ready", "True", "", "")
	})
	t.edit(&instances, o, func(c object) {
		s.setPhase(c, virtv1.Scheduled)
		set(c, str(pod, "spec", "nodeName"), "status", "nodeName")
		set(c, str(pod, "spec", "nodeName"), "metadata", "labels", virtv1.NodeNameLabel)
		set(c, object{uid(pod): str(pod, "spec", "nodeName")}, "status", "activePods")
	})
}

// runInstance keeps the status of a running guest as the guest is: booting, up, or dead in the water.
func (s *Server) runInstance(t tx, o object, vmi *virtv1.VirtualMachineInstance) {
	pod := launcher(t, o)
	if pod == nil {
		t.edit(&instances, o, func(c object) { set(c, "Failed", "status", "phase") })
		return
	}
	g := s.guests.of(uid(o))
	if g == nil {
		g = s.guests.start(uid(o), place{vmi.Namespace, vmi.Name})
	}
	if !g.booted && s.pacer.passed("boot "+uid(o), 2) {
		s.boot(t, g, vmi)
	}
	if g.booted && g.disk != nil && g.disk.Agent != nil && !g.agent && s.pacer.passed("agent "+uid(o), 1) {
		g.agent = true
	}
	t.edit(&instances, o, func(c object) {
		s.setPhase(c, virtv1.Running)
		s.setCondition(c, "Ready", "True", "", "")
		s.setCondition(c, "LiveMigratable", "False", "DisksNotLiveMigratable", "cannot migrate VMI: PVC is not shared, live migration requires that all PVCs must be shared (using ReadWriteMany access mode)")
		set(c, interfacesOf(vmi, str(pod, "status", "podIP"), g), "status", "interfaces")
		if vmi.Spec.Domain.Memory != nil && vmi.Spec.Domain.Memory.Guest != nil {
			m := vmi.Spec.Domain.Memory.Guest.String()
			set(c, object{"guestAtBoot": m, "guestCurrent": m, "guestRequested": m}, "status", "memory")
		}
		if g.agent {
			s.setCondition(c, "AgentConnected", "True", "", "")
			set(c, untyped(g.disk.osInfo()), "status", "guestOSInfo")
		}
	})
}

func interfacesOf(vmi *virtv1.VirtualMachineInstance, podIP string, g *guest) []any {
	var out []any
	for i, in := range vmi.Spec.Domain.Devices.Interfaces {
		x := object{"name": in.Name, "mac": in.MacAddress, "infoSource": "domain", "queueCount": int64(1), "linkState": "up"}
		if in.MacAddress == "" {
			x["mac"] = fmt.Sprintf("02:00:00:00:00:%02x", i+1)
		}
		if in.State == virtv1.InterfaceStateLinkDown {
			x["linkState"] = "down"
		}
		pod := slices.ContainsFunc(vmi.Spec.Networks, func(n virtv1.Network) bool { return n.Name == in.Name && n.Pod != nil })
		if pod {
			x["ipAddress"], x["ipAddresses"], x["podInterfaceName"] = podIP, []any{podIP}, "eth0"
		} else {
			x["infoSource"] = "domain, multus-status"
		}
		if g.agent {
			x["interfaceName"] = fmt.Sprintf("enp%ds0", i+1)
			x["infoSource"] = x["infoSource"].(string) + ", guest-agent"
		}
		out = append(out, x)
	}
	return out
}

func freeAddress(t tx) string {
	used := map[string]bool{}
	for _, p := range t.list(&pods, "") {
		used[str(p, "status", "podIP")] = true
	}
	for i := 10; ; i++ {
		if ip := fmt.Sprintf("10.244.%d.%d", i/250, i%250+2); !used[ip] {
			return ip
		}
	}
}
