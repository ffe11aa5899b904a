package kubesim

import (
	"errors"
	"fmt"
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	virtv1 "kubevirt.io/api/core/v1"
)

// virtSubresource answers subresources.kubevirt.io.
func (s *Server) virtSubresource(r *request) (int, any, error) {
	what := r.attrs.verb + " " + r.attrs.full()
	switch what {
	case "update virtualmachines/start", "update virtualmachines/stop", "update virtualmachines/restart":
		if r.dryRun {
			return http.StatusAccepted, nil, nil
		}
		return http.StatusAccepted, nil, s.store.do(func(t tx) error { return s.steer(t, r) })
	case "get virtualmachineinstances/guestosinfo":
		var info *virtv1.VirtualMachineInstanceGuestAgentInfo
		err := s.store.do(func(t tx) (err error) {
			info, err = s.guestInfo(t, r)
			return err
		})
		return http.StatusOK, info, err
	}
	return 0, nil, apierrors.NewGenericServerResponse(http.StatusNotFound, r.attrs.verb, r.kind.gr(), r.name, "", 0, false)
}

// steer starts and stops a machine the way virt-api does: by the run strategy, or by a request under Manual.
func (s *Server) steer(t tx, r *request) error {
	o := t.get(&machines, r.namespace, r.name)
	if o == nil {
		return apierrors.NewNotFound(machines.gr(), r.name)
	}
	vm, err := typed[virtv1.VirtualMachine](o)
	if err != nil {
		return err
	}
	running := t.get(&instances, r.namespace, r.name) != nil
	conflict := func(text string) error { return apierrors.NewConflict(machines.gr(), r.name, errors.New(text)) }
	strategy := strategyOf(vm)
	setStrategy := func(to virtv1.VirtualMachineRunStrategy) {
		t.edit(&machines, o, func(c object) {
			set(c, nil, "spec", "running")
			set(c, string(to), "spec", "runStrategy")
		})
	}
	request := func(actions ...string) {
		var list []any
		for _, a := range actions {
			list = append(list, object{"action": a})
		}
		t.edit(&machines, o, func(c object) { set(c, list, "status", "stateChangeRequests") })
	}
	switch r.sub {
	case "start":
		switch {
		case running:
			return conflict("VM is already running")
		case strategy == virtv1.RunStrategyHalted:
			setStrategy(virtv1.RunStrategyAlways)
		case strategy == virtv1.RunStrategyAlways || strategy == virtv1.RunStrategyOnce:
			return conflict(fmt.Sprintf("%v does not support manual start requests", strategy))
		default:
			request("Start")
		}
	case "stop":
		switch {
		case !running && strategy != virtv1.RunStrategyAlways:
			return conflict("VM is not running")
		case strategy == virtv1.RunStrategyManual:
			request("Stop")
		default:
			setStrategy(virtv1.RunStrategyHalted)
		}
	case "restart":
		vmi := t.get(&instances, r.namespace, r.name)
		if vmi == nil || strategy == virtv1.RunStrategyHalted {
			return conflict("VM is not running")
		}
		t.delete(&instances, vmi, nil)
		if strategy == virtv1.RunStrategyManual {
			request("Start")
		}
	}
	return nil
}

func (s *Server) guestInfo(t tx, r *request) (*virtv1.VirtualMachineInstanceGuestAgentInfo, error) {
	o := t.get(&instances, r.namespace, r.name)
	if o == nil {
		return nil, apierrors.NewNotFound(instances.gr(), r.name)
	}
	if str(o, "status", "phase") != "Running" {
		return nil, apierrors.NewConflict(instances.gr(), r.name, errors.New("VMI is not running"))
	}
	g := s.guests.of(uid(o))
	if g == nil || !g.agent {
		return nil, apierrors.NewConflict(instances.gr(), r.name, errors.New("VMI does not have guest agent connected"))
	}
	info := &virtv1.VirtualMachineInstanceGuestAgentInfo{
		GAVersion: "8.2.0", Hostname: g.disk.Agent.Hostname, OS: g.disk.osInfo(), Timezone: "UTC, 0",
		SupportedCommands: []virtv1.GuestAgentCommandInfo{{Name: "guest-get-osinfo", Enabled: true}, {Name: "guest-shutdown", Enabled: true}},
	}
	info.Kind, info.APIVersion = "VirtualMachineInstanceGuestAgentInfo", "kubevirt.io/v1"
	return info, nil
}
