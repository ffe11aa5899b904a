package esxsim

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/types"
)

// The methods in this file are what somebody else does on the host between
// two looks of a client. A vm is named by name, instance UUID or moref.

// SetPower takes a VM to a power state at once.
func (s *Server) SetPower(vm string, p Power) error {
	m, err := s.find(vm)
	if err != nil {
		return err
	}
	if _, ok := powerStates[p]; !ok {
		return fmt.Errorf("power state %q is unknown", p)
	}
	if fault := m.setPower(p); fault != nil {
		return fmt.Errorf("take vm %q to %s: %T", vm, p, fault)
	}
	return nil
}

// SetShutdown changes how a guest answers from now on.
func (s *Server) SetShutdown(vm string, b Shutdown) error {
	m, err := s.find(vm)
	if err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	def(&b.Answer, Obeys)
	m.shutdown = b
	return nil
}

// GrowDisk makes a disk larger.
func (s *Server) GrowDisk(vm string, index int, size int64) error {
	m, d, err := s.findDisk(vm, index)
	if err != nil {
		return err
	}
	m.change(func(ctx *simulator.Context) {
		if size%512 != 0 || size < d.size || len(d.layers) > 1 {
			err = fmt.Errorf("grow disk %d of vm %q from %d to %d: no multiple of 512, smaller, or a snapshot is there", index, vm, d.size, size)
			return
		}
		if !d.spec.Bare {
			if err = os.Truncate(filepath.Join(d.dir(), d.layers[0].Extent), size); err != nil {
				return
			}
		}
		d.size = size
		d.lose()
		err = m.writeLayers(d)
		ctx.Update(m.obj, []types.PropertyChange{{Name: "config.hardware.device", Val: m.currentDevices()}})
	})
	return err
}

// WriteDisk is a guest that writes; the power state is not looked at.
func (s *Server) WriteDisk(vm string, index int, offset int64, data []byte) error {
	m, d, err := s.findDisk(vm, index)
	if err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := d.write(offset, data); err != nil {
		return fmt.Errorf("disk %d of vm %q: %w", index, vm, err)
	}
	return nil
}

// TakeSnapshot takes a snapshot.
func (s *Server) TakeSnapshot(vm, name string) error {
	m, err := s.find(vm)
	if err != nil {
		return err
	}
	if _, fault := m.takeSnapshot(name, "", false); fault != nil {
		return fmt.Errorf("take snapshot of vm %q: %T", vm, fault)
	}
	return nil
}

// RemoveSnapshots removes the snapshots of that name, or all if it is empty.
func (s *Server) RemoveSnapshots(vm, name string) error {
	m, err := s.find(vm)
	if err != nil {
		return err
	}
	if fault := m.removeSnapshots(name); fault != nil {
		return fmt.Errorf("remove snapshots of vm %q: %T", vm, fault)
	}
	return nil
}

// Rename gives a VM another name; its files keep theirs.
func (s *Server) Rename(vm, name string) error {
	m, err := s.find(vm)
	if err != nil {
		return err
	}
	m.rename(name)
	return nil
}

func (m *machine) rename(name string) types.BaseMethodFault {
	m.change(func(ctx *simulator.Context) {
		m.name = name
		api := escapeName(name)
		ctx.Update(m.obj, []types.PropertyChange{{Name: "name", Val: api}, {Name: "config.name", Val: api}, {Name: "summary.config.name", Val: api}})
	})
	return nil
}

// Unregister takes a powered-off VM out of the inventory; its files stay.
func (s *Server) Unregister(vm string) error {
	m, err := s.find(vm)
	if err != nil {
		return err
	}
	if err := s.withdraw(m); err != nil {
		return fmt.Errorf("unregister vm %q: %w", vm, err)
	}
	return nil
}

func (s *Server) withdraw(m *machine) error {
	ctx := s.context()
	var err error
	ctx.WithLock(m.obj, func() {
		res := m.obj.UnregisterVM(ctx, &types.UnregisterVM{This: m.ref})
		if f := res.(*methods.UnregisterVMBody).Fault_; f != nil {
			err = fmt.Errorf("%T", f.VimFault())
		}
	})
	if err == nil {
		s.forget(ctx, m)
	}
	return err
}

func (s *Server) forget(ctx *simulator.Context, m *machine) {
	m.mu.Lock()
	m.gone = true
	m.mu.Unlock()
	s.unwrap(ctx, m.ref)
	s.remember(m)
}

// reconfigured takes over what the API has changed in the object itself.
func (m *machine) reconfigured() {
	m.change(func(ctx *simulator.Context) {
		if m.power != On { // of a running VM only at its next stun
			m.stun(ctx)
		}
	})
}

func (s *Server) findDisk(vm string, index int) (*machine, *disk, error) {
	m, err := s.find(vm)
	if err != nil {
		return nil, nil, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if index < 0 || index >= len(m.disks) {
		return nil, nil, fmt.Errorf("vm %q has no disk %d", vm, index)
	}
	return m, m.disks[index], nil
}
