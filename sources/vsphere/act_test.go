package vsphere_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	"landfall/engine/boundary"
	"landfall/engine/fault"
	"landfall/engine/machine"
	"landfall/sources"
	"landfall/sources/esxsim"
	"landfall/sources/vsphere"
)

func TestActFaults(t *testing.T) {
	off := func(s sources.Source, r machine.Ref) error { return s.PowerOff(context.Background(), r) }
	down := func(s sources.Source, r machine.Ref) error { return s.Shutdown(context.Background(), r) }
	look := func(s sources.Source, r machine.Ref) error { _, err := s.Power(context.Background(), r); return err }
	for _, c := range []struct {
		name   string
		fault  esxsim.SOAPFault
		act    func(sources.Source, machine.Ref) error
		class  fault.Class // "" is success
		reason string
	}{
		{"no permission", esxsim.SOAPFault{Method: "PowerOffVM_Task", Fault: "NoPermission"}, off, fault.Blocked, fault.NoPermission},
		{"free licence", esxsim.SOAPFault{Method: "PowerOffVM_Task", Fault: "RestrictedVersion"}, off, fault.Blocked, fault.Restricted},
		{"free licence, asked to shut down", esxsim.SOAPFault{Method: "ShutdownGuest", Fault: "RestrictedVersion"}, down, fault.Blocked, fault.Restricted},
		{"another task", esxsim.SOAPFault{Method: "PowerOffVM_Task", Fault: "TaskInProgress"}, off, fault.Transient, vsphere.InProgress},
		{"another task, told by the task", esxsim.SOAPFault{Method: "PowerOffVM_Task", Fault: "TaskInProgress", InTask: true}, off, fault.Transient, vsphere.InProgress},
		{"state does not allow it", esxsim.SOAPFault{Method: "PowerOffVM_Task", Fault: "InvalidState", InTask: true}, off, fault.Transient, vsphere.InvalidState},
		{"fault that nobody knows", esxsim.SOAPFault{Method: "PowerOffVM_Task", Fault: "GenericVmConfigFault"}, off, fault.Blocked, "GenericVmConfigFault"},
		{"fault that nobody knows, told by the task", esxsim.SOAPFault{Method: "PowerOffVM_Task", Fault: "GenericVmConfigFault", InTask: true}, off, fault.Blocked, "GenericVmConfigFault"},
		{"fault that nobody knows, while looking", esxsim.SOAPFault{Method: "RetrievePropertiesEx", Fault: "GenericVmConfigFault"}, look, fault.Transient, "GenericVmConfigFault"},
		{"session ended", esxsim.SOAPFault{Method: "PowerOffVM_Task", Fault: "NotAuthenticated", Count: 1}, off, "", ""},
		{"session ends again and again", esxsim.SOAPFault{Method: "PowerOffVM_Task", Fault: "NotAuthenticated"}, off, fault.Transient, fault.NotAuthenticated},
		{"tools gone", esxsim.SOAPFault{Method: "ShutdownGuest", Fault: "ToolsUnavailable"}, down, fault.Blocked, fault.ToolsUnavailable},
		{"answer lost", esxsim.SOAPFault{Method: "PowerOffVM_Task", Lost: true, Count: 1}, off, fault.Transient, fault.Unreachable},
	} {
		t.Run(c.name, func(t *testing.T) {
			sim, doc := start(t, esxsim.Config{VMs: []esxsim.VM{{Name: "web", Power: esxsim.On, Shutdown: esxsim.Shutdown{Answer: esxsim.Refuses}}}})
			src := dial(t, doc, vsphere.Options{})
			web := ref(t, src, "web")
			if err := sim.FailSOAP(c.fault); err != nil {
				t.Fatal(err)
			}
			err := c.act(src, web)
			if c.class == "" {
				if err != nil {
					t.Fatal(err)
				}
				return
			}
			expect(t, err, c.class, c.reason)
			if c.class == fault.Blocked && c.reason != "GenericVmConfigFault" && fault.HintOf(err) == "" {
				t.Errorf("no hint: %v", err)
			}
			if c.reason == fault.NoPermission && !strings.Contains(err.Error(), "VirtualMachine.") && !strings.Contains(err.Error(), "System.") {
				t.Errorf("the privilege is not named: %v", err)
			}
			// An act whose answer was lost is asked again without harm.
			sim.ClearFaults()
			if err := src.PowerOff(context.Background(), web); err != nil {
				t.Errorf("asked again: %v", err)
			}
			if p, err := src.Power(context.Background(), web); p != machine.Off {
				t.Errorf("asked again: %s, %v", p, err)
			}
		})
	}
}

func TestSuspendedCannotShutDown(t *testing.T) {
	_, doc := start(t, esxsim.Config{VMs: []esxsim.VM{{Name: "web", Power: esxsim.Suspended}}})
	src := dial(t, doc, vsphere.Options{})
	web := ref(t, src, "web")
	vm, err := src.Inspect(context.Background(), web)
	if err != nil || vm.Power != machine.Suspended {
		t.Fatalf("%s, %v", vm.Power, err)
	}
	expect(t, src.ProveOff(context.Background(), vm), fault.Transient, fault.VMRuns)
	if err := src.Shutdown(context.Background(), web); err == nil || fault.ClassOf(err) != fault.Blocked || fault.HintOf(err) == "" {
		t.Errorf("shut down: %v [%s]", err, fault.HintOf(err))
	}
}

// The power state says off while the host still holds the files.
func TestOffButHeld(t *testing.T) {
	sim, doc := start(t, esxsim.Config{LockLinger: 1 << 62, VMs: []esxsim.VM{{Name: "web", Power: esxsim.On, Disks: []esxsim.Disk{{Size: 1 << 20}}}}})
	src := dial(t, doc, vsphere.Options{})
	web := ref(t, src, "web")
	vm, err := src.Inspect(context.Background(), web)
	if err != nil {
		t.Fatal(err)
	}
	if err := sim.SetPower(web.InstanceUUID, esxsim.Off); err != nil {
		t.Fatal(err)
	}
	if p, err := src.Power(context.Background(), web); p != machine.Off {
		t.Fatalf("%s, %v", p, err)
	}
	err = src.ProveOff(context.Background(), vm)
	expect(t, err, fault.Transient, fault.VMRuns)
	if !strings.Contains(err.Error(), ".vmx.lck") && !strings.Contains(err.Error(), ".vswp") {
		t.Errorf("what was seen is not told: %v", err)
	}
}

// Could not look is never a proof.
func TestOffCannotBeLookedAt(t *testing.T) {
	for _, c := range []struct {
		name  string
		fault esxsim.SOAPFault
	}{
		{"browser refused", esxsim.SOAPFault{Method: "SearchDatastore_Task", Fault: "NoPermission"}},
		{"properties refused", esxsim.SOAPFault{Method: "RetrievePropertiesEx", Fault: "NoPermission"}},
		{"properties refused after the power state", esxsim.SOAPFault{Method: "RetrievePropertiesEx", Fault: "NoPermission", Skip: 1}},
	} {
		t.Run(c.name, func(t *testing.T) {
			sim, doc := start(t, esxsim.Config{VMs: []esxsim.VM{{Name: "web"}}})
			src := dial(t, doc, vsphere.Options{})
			vm, err := src.Inspect(context.Background(), ref(t, src, "web"))
			if err != nil {
				t.Fatal(err)
			}
			if err := sim.FailSOAP(c.fault); err != nil {
				t.Fatal(err)
			}
			expect(t, src.ProveOff(context.Background(), vm), fault.Blocked, fault.NoPermission)
		})
	}
}

// Every act is marked right before and right after, and nothing else is.
func TestActsAreMarked(t *testing.T) {
	_, doc := start(t, esxsim.Config{VMs: []esxsim.VM{{Name: "web"}}})
	src := dial(t, doc, vsphere.Options{})
	web := ref(t, src, "web")
	var marks []string
	boundary.Hook = func(k boundary.Kind, name string) { marks = append(marks, string(k)+": "+name) }
	defer func() { boundary.Hook = nil }()
	ctx := context.Background()
	for _, err := range []error{src.PowerOff(ctx, web), src.PowerOn(ctx, web), src.PowerOn(ctx, web), src.Shutdown(ctx, web), src.PowerOff(ctx, web)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	on, down := "source act: power on", "source act: shutdown"
	if len(marks) < 4 || !slices.Equal(marks[:4], []string{on, on, down, down}) {
		t.Errorf("marks: %q", marks)
	}
}
