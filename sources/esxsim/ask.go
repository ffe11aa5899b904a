package esxsim

import (
	"github.com/vmware/govmomi/vim25/types"
)

// askGuest hands a request for another power state to the guest. Success
// means only that the guest was asked.
func (m *machine) askGuest(want Power) types.BaseMethodFault {
	if fault := m.mustRun(); fault != nil {
		return fault
	}
	m.mu.Lock()
	s, turn := m.shutdown, m.turn
	m.mu.Unlock()
	if !m.spec.Tools.running() || s.Answer == Fails {
		return &types.ToolsUnavailable{}
	}
	if s.Answer == Obeys {
		m.after(s.Delay, turn, func() { m.setPower(want) })
	}
	return nil
}

// mustRun is the fault of a call that needs a running VM.
func (m *machine) mustRun() types.BaseMethodFault {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.power != On {
		return &types.InvalidPowerState{RequestedState: powerStates[On], ExistingState: powerStates[m.power]}
	}
	return nil
}
