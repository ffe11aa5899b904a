package esxsim

import (
	"fmt"
	"os"
	"path"
	"slices"
	"time"

	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/types"
)

var powerStates = map[Power]types.VirtualMachinePowerState{
	On: types.VirtualMachinePowerStatePoweredOn, Off: types.VirtualMachinePowerStatePoweredOff,
	Suspended: types.VirtualMachinePowerStateSuspended,
}

// setPower takes the VM to another power state. The files are locked before
// it runs, and free only after the host has said that it is off.
func (m *machine) setPower(want Power) types.BaseMethodFault {
	ctx := m.server.context()
	var fault types.BaseMethodFault
	ctx.WithLock(m.obj, func() {
		m.mu.Lock()
		now, gone, template := m.power, m.gone, m.spec.Template
		m.mu.Unlock()
		switch {
		case gone:
			fault = &types.ManagedObjectNotFound{Obj: m.ref}
		case template && want == On:
			fault = &types.InvalidState{}
		case now == want, want == Suspended && now != On:
			fault = &types.InvalidPowerState{RequestedState: powerStates[want], ExistingState: powerStates[now]}
		}
		if fault != nil {
			return
		}
		if want == On {
			m.setLocks(true)
		}
		m.mu.Lock()
		m.power = want
		m.turn++
		turn := m.turn
		m.mu.Unlock()
		vmss := m.home.abs(path.Join(m.spec.Directory, m.fileBase()+".vmss"))
		if want == Suspended {
			_ = touch(vmss)
		} else {
			_ = os.Remove(vmss)
		}
		m.mu.Lock()
		m.stun(ctx)
		m.mu.Unlock()
		ctx.Update(m.obj, append(m.powerChanges(want), m.guestChanges(want)...))
		if want != On {
			if linger := m.server.cfg.LockLinger; linger > 0 {
				m.after(linger, turn, func() { m.setLocks(false) })
			} else {
				m.setLocks(false)
			}
		}
	})
	if fault == nil {
		m.server.remember(m)
	}
	return fault
}

func (m *machine) powerChanges(want Power) []types.PropertyChange {
	var boot any
	if want == On {
		boot = time.Now()
	}
	devices := object.VirtualDeviceList{}
	for _, d := range m.obj.Config.Hardware.Device {
		if c := d.GetVirtualDevice().Connectable; c != nil {
			n := *c
			n.Connected = want == On && c.StartConnected
			d = cloneDevice(d)
			d.GetVirtualDevice().Connectable = &n
		}
		devices = append(devices, d)
	}
	return []types.PropertyChange{
		{Name: "runtime.powerState", Val: powerStates[want]}, {Name: "summary.runtime.powerState", Val: powerStates[want]},
		{Name: "runtime.bootTime", Val: boot}, {Name: "summary.runtime.bootTime", Val: boot},
		{Name: "config.hardware.device", Val: []types.BaseVirtualDevice(devices)},
	}
}

// setPowerFields is setPower's result, for an object that nobody sees yet.
func (m *machine) setPowerFields() {
	m.obj.Runtime.PowerState = powerStates[m.power]
	m.obj.Runtime.ConnectionState = types.VirtualMachineConnectionStateConnected
	if m.power == On {
		now := time.Now()
		m.obj.Runtime.BootTime = &now
		for _, d := range m.obj.Config.Hardware.Device {
			if c := d.GetVirtualDevice().Connectable; c != nil {
				c.Connected = c.StartConnected
			}
		}
	}
	host := m.obj.Summary.Runtime.Host
	m.obj.Summary.Runtime = m.obj.Runtime
	m.obj.Summary.Runtime.Host = host
}

// maxRecent is how many tasks a VM names, ended or not.
const maxRecent = 20

// task runs f as a task of the VM. The task locks a name of its own, so that
// a slow one does not keep others from looking at the VM.
func (m *machine) task(ctx *simulator.Context, name string, f func() (types.AnyType, types.BaseMethodFault)) types.ManagedObjectReference {
	private := types.ManagedObjectReference{Type: m.ref.Type, Value: fmt.Sprintf("%s-%s", m.ref.Value, name)}
	t := simulator.CreateTask(private, name, func(t *simulator.Task) (types.AnyType, types.BaseMethodFault) {
		own := m.server.context()
		own.WithLock(m.obj, func() {
			recent := append(slices.Clone(m.obj.RecentTask), t.Self)
			own.Update(m.obj, []types.PropertyChange{{Name: "recentTask", Val: recent[max(0, len(recent)-maxRecent):]}})
		})
		m.mu.Lock()
		named := escapeName(m.name)
		m.mu.Unlock()
		own.WithLock(t, func() { t.Info.Entity, t.Info.EntityName = &m.ref, named })
		return f()
	})
	return t.Run(ctx)
}
