package esxsim

import (
	"fmt"
	"path"

	"github.com/vmware/govmomi/vim25/types"
)

// find looks a VM up by name, instance UUID or moref. A name that two VMs
// have is refused.
func (s *Server) find(id string) (*machine, error) {
	var hit *machine
	for _, m := range s.machines {
		m.mu.Lock()
		name, gone := m.name, m.gone
		m.mu.Unlock()
		switch {
		case gone:
		case id == m.spec.InstanceUUID, id == m.ref.Value:
			return m, nil
		case id == name:
			if hit != nil {
				return nil, fmt.Errorf("two vms are named %q, use the instance UUID or moref", id)
			}
			hit = m
		}
	}
	if hit == nil {
		return nil, fmt.Errorf("no vm %q on the simulated host", id)
	}
	return hit, nil
}

func (s *Server) machineByRef(ref types.ManagedObjectReference) *machine {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.byRef[ref]
}

// matchVM says whether a call's object is the VM, or a snapshot of it; an
// empty id is every object.
func (s *Server) matchVM(id string, ref types.ManagedObjectReference) bool {
	if id == "" {
		return true
	}
	m, err := s.find(id)
	return err == nil && m.ref == ref
}

// owner is what of a VM's disk a file is.
type owner struct {
	m     *machine
	index int
	role  string
}

// diskOf says whose disk a file belongs to; nil if to none.
func (s *Server) diskOf(st *store, file string) *owner {
	all := s.owners(st, file)
	if len(all) == 0 {
		return nil
	}
	return &all[0]
}

func (s *Server) owners(st *store, file string) []owner {
	file = path.Clean(file)
	var all []owner
	for _, m := range s.machines {
		m.mu.Lock()
		for i, d := range m.disks {
			if d.store != st || d.spec.Directory != path.Dir(file) {
				continue
			}
			for _, l := range d.layers {
				switch path.Base(file) {
				case l.Descriptor:
					all = append(all, owner{m, i, "descriptor"})
				case l.Extent:
					all = append(all, owner{m, i, "extent"})
				}
			}
		}
		m.mu.Unlock()
	}
	return all
}

// held says whether a running VM has the file locked.
func (s *Server) held(st *store, file string) bool {
	for _, o := range s.owners(st, file) {
		o.m.mu.Lock()
		held := o.m.held && o.role == "extent"
		o.m.mu.Unlock()
		if held {
			return true
		}
	}
	if ext := path.Ext(file); ext == ".vswp" || ext == ".lck" {
		return true
	}
	return false
}

func (s *Server) fileCounters(st *store, file string) FileCounters {
	c := FileCounters{Path: dsPath{st.spec.Name, path.Clean(file)}.String(), Disk: -1}
	if o := s.diskOf(st, file); o != nil {
		c.VM, c.Disk, c.Role = o.m.spec.InstanceUUID, o.index, o.role
	}
	return c
}
