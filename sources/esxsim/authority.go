package esxsim

import (
	"slices"
	"strings"

	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/simulator/esx"
	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"
)

// authority answers what the user may do: everything but what the configuration denies. As the real one, it leaves names
// that it does not know out of its answers.
type authority struct {
	*simulator.AuthorizationManager
	s *Server
}

func (s *Server) authorize() {
	ref := s.vim.Get(vim25.ServiceInstance).(*simulator.ServiceInstance).Content.AuthorizationManager
	if ref == nil {
		return
	}
	m, ok := s.vim.Get(*ref).(*simulator.AuthorizationManager)
	if !ok {
		return
	}
	m.PrivilegeList = nil
	for _, id := range object.AuthorizationRoleList(esx.RoleList).ByName("Admin").Privilege {
		if slices.Contains(s.cfg.UnknownPrivileges, id) {
			continue
		}
		group, name := "", id
		if i := strings.LastIndexByte(id, '.'); i >= 0 {
			group, name = id[:i], id[i+1:]
		}
		m.PrivilegeList = append(m.PrivilegeList, types.AuthorizationPrivilege{PrivId: id, Name: name, PrivGroupName: group})
	}
	s.vim.Put(&authority{m, s})
}

func (a *authority) answer(on []types.ManagedObjectReference, ids []string) (all []types.EntityPrivilege) {
	for _, e := range on {
		p := types.EntityPrivilege{Entity: e}
		for _, id := range ids {
			if slices.ContainsFunc(a.PrivilegeList, func(k types.AuthorizationPrivilege) bool { return k.PrivId == id }) {
				p.PrivAvailability = append(p.PrivAvailability, types.PrivilegeAvailability{PrivId: id, IsGranted: !slices.Contains(a.s.cfg.Denied, id)})
			}
		}
		all = append(all, p)
	}
	return all
}

// HasPrivilegeOnEntities answers for a session.
func (a *authority) HasPrivilegeOnEntities(req *types.HasPrivilegeOnEntities) soap.HasFault {
	return &methods.HasPrivilegeOnEntitiesBody{Res: &types.HasPrivilegeOnEntitiesResponse{Returnval: a.answer(req.Entity, req.PrivId)}}
}

// HasUserPrivilegeOnEntities answers for a user.
func (a *authority) HasUserPrivilegeOnEntities(req *types.HasUserPrivilegeOnEntities) soap.HasFault {
	return &methods.HasUserPrivilegeOnEntitiesBody{Res: &types.HasUserPrivilegeOnEntitiesResponse{Returnval: a.answer(req.Entities, req.PrivId)}}
}
