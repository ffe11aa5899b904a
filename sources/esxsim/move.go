package esxsim

import (
	"errors"
	"fmt"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/simulator/esx"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"
)

// Move takes a VM to another host of the vCenter, as vMotion does: it runs
// on, and what is exported of it ends. With storage its files move too, and
// no change id is known any more. A host that is not there is made.
func (s *Server) Move(vm, host string, storage bool) error {
	m, err := s.find(vm)
	if err != nil {
		return err
	}
	if !s.cfg.VCenter {
		return fmt.Errorf("move vm %q: %w", vm, errors.New("a lone ESXi has no other host"))
	}
	to := s.hostNamed(host)
	s.mu.Lock()
	var leases []*lease
	for _, l := range s.leases {
		if l.m == m {
			leases = append(leases, l)
		}
	}
	s.mu.Unlock()
	for _, l := range leases {
		l.end()
	}
	m.change(func(ctx *simulator.Context) {
		ctx.Update(m.obj, []types.PropertyChange{{Name: "runtime.host", Val: to}, {Name: "summary.runtime.host", Val: to}})
		if storage {
			m.loseTracking(ctx)
		}
	})
	return nil
}

func (s *Server) hostNamed(name string) types.ManagedObjectReference {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.host.Name == name {
		return s.host.Self
	}
	if h := s.hosts[name]; h != nil {
		return h.Self
	}
	h := simulator.NewHostSystem(s.context(), esx.HostSystem)
	h.Name, h.Summary.Config.Name = name, name
	s.vim.PutEntity(s.vim.Get(*s.host.Parent).(mo.Entity), s.vim.NewEntity(h))
	s.hosts[name] = h
	return h.Self
}
