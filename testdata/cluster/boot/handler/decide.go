package main

import virt "kubevirt.io/api/core/v1"

// sight is what is seen of an instance and its guest.
type sight struct {
	phase   virt.VirtualMachineInstancePhase
	leaving bool // somebody deleted the instance
	guest   state
}

type state int

const (
	noGuest state = iota
	alive
	poweredOff
	crashed
)

type move int

const (
	nothing move = iota
	start
	follow        // see to its ports and tell how it does
	shutDown      // ask it, and cut its power when it has had its time
	forget        // the end was told
	tellSucceeded // it ended in order
	tellFailed
)

// decide is pure. An instance belongs to virt-controller until it is scheduled and again once it is final.
func decide(s sight) move {
	switch s.phase {
	case virt.Succeeded, virt.Failed:
		return forget
	case virt.Scheduled, virt.Running:
	default:
		return nothing
	}
	switch s.guest {
	case poweredOff:
		return tellSucceeded
	case crashed:
		if s.leaving {
			return tellSucceeded // it was cut on request
		}
		return tellFailed
	case alive:
		if s.leaving {
			return shutDown
		}
		return follow
	case noGuest:
	}
	switch {
	case s.leaving && s.phase == virt.Scheduled:
		return tellSucceeded // it never began
	case s.phase == virt.Scheduled:
		return start
	}
	return tellFailed // it ran, and is gone with the handler that ran it
}

func sightOf(vmi *virt.VirtualMachineInstance, g *guest) sight {
	return sight{phase: vmi.Status.Phase, leaving: vmi.DeletionTimestamp != nil, guest: g.state()}
}
