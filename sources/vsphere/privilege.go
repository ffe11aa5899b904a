package vsphere

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	vimfault "github.com/vmware/govmomi/fault"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"

	"landfall/engine/fault"
)

// need is a privilege that a migration uses.
type need struct {
	id      string
	on      string // kind of the object that it is asked on
	why     string
	running bool // only where the VM is on
	warm    bool // only in a warm migration
}

// needs are all privileges that a migration uses, the remedies aside: those ask for theirs when they are taken.
var needs = []need{
	{id: "System.View", on: "VirtualMachine", why: "see the VM"},
	{id: "System.Read", on: "VirtualMachine", why: "read its hardware"},
	{id: "VirtualMachine.Interact.PowerOff", on: "VirtualMachine", why: "shut it down or power it off", running: true},
	{id: "VirtualMachine.Interact.PowerOn", on: "VirtualMachine", why: "start it again when the migration is taken back", running: true},
	{id: "Datastore.Browse", on: "Datastore", why: "find the lock files of a running VM, and read disks"},
	{id: "Datastore.FileManagement", on: "Datastore", why: "read disks by the host's file access"},
	{id: "VirtualMachine.State.CreateSnapshot", on: "VirtualMachine", why: "freeze its disks", warm: true},
	{id: "VirtualMachine.State.RemoveSnapshot", on: "VirtualMachine", why: "remove the migration's own snapshots", warm: true},
	{id: "VirtualMachine.Config.ChangeTracking", on: "VirtualMachine", why: "switch on change tracking", warm: true},
	{id: "VirtualMachine.Provisioning.DiskRandomRead", on: "VirtualMachine", why: "ask what changed on a disk", warm: true},
	{id: "VApp.Export", on: "VirtualMachine", why: "read frozen disks by an export", warm: true},
}

// lacks names what the session may not do, with what it is for. A name that the endpoint does not know is neither
// granted nor refused: where nothing else is missing, that is the error.
func (s *Source) lacks(ctx context.Context, vm types.ManagedObjectReference, stores []types.ManagedObjectReference, running bool) (cold, warm []string, err error) {
	manager := s.vim.ServiceContent.AuthorizationManager
	if manager == nil {
		return nil, nil, fault.Newf(fault.Blocked, fault.Unsupported, "it has no authorization manager")
	}
	known, err := s.privileges(ctx, *manager)
	if err != nil {
		return nil, nil, err
	}
	asked := map[types.ManagedObjectReference][]need{}
	var unknown []string
	for _, n := range needs {
		switch {
		case n.running && !running:
		case len(known) > 0 && !known[n.id]:
			unknown = append(unknown, n.id)
		case n.on == "Datastore":
			for _, d := range stores {
				asked[d] = append(asked[d], n)
			}
		default:
			asked[vm] = append(asked[vm], n)
		}
	}
	for _, on := range append([]types.ManagedObjectReference{vm}, stores...) {
		granted, err := s.granted(ctx, *manager, on, asked[on])
		if err != nil {
			return nil, nil, err
		}
		for _, n := range asked[on] {
			has, told := granted[n.id]
			line := fmt.Sprintf("%s (to %s)", n.id, n.why)
			switch {
			case !told && !slices.Contains(unknown, n.id):
				unknown = append(unknown, n.id)
			case !told || has:
			case n.warm && !slices.Contains(warm, line):
				warm = append(warm, line)
			case !n.warm && !slices.Contains(cold, line):
				cold = append(cold, line)
			}
		}
	}
	if len(unknown) > 0 {
		said := strings.Join(unknown, ", ") + " (not known to the endpoint)"
		if len(cold) == 0 && len(warm) == 0 {
			return nil, nil, fault.Newf(fault.Blocked, fault.Unsupported, "the endpoint does not know %s", strings.Join(unknown, ", "))
		}
		if cold = append(cold, said); len(cold) == 1 {
			cold, warm = nil, append(warm, said)
		}
	}
	return cold, warm, nil
}

// privileges are the names that the endpoint knows; none where it does not tell.
func (s *Source) privileges(ctx context.Context, manager types.ManagedObjectReference) (map[string]bool, error) {
	var m mo.AuthorizationManager
	if err := s.one(ctx, manager, []string{"privilegeList"}, &m); err != nil {
		return nil, err
	}
	known := make(map[string]bool, len(m.PrivilegeList))
	for _, p := range m.PrivilegeList {
		known[p.PrivId] = true
	}
	return known, nil
}

// granted asks for the session, and where the endpoint does not answer that, for its user.
func (s *Source) granted(ctx context.Context, manager, on types.ManagedObjectReference, wanted []need) (map[string]bool, error) {
	if len(wanted) == 0 {
		return nil, nil
	}
	var session mo.SessionManager
	if err := s.one(ctx, s.session.manager, []string{"currentSession"}, &session); err != nil {
		return nil, err
	}
	if session.CurrentSession == nil {
		return nil, errors.New("it does not show the session")
	}
	ids := make([]string, len(wanted))
	for i, n := range wanted {
		ids[i] = n.id
	}
	var answers []types.EntityPrivilege
	res, err := methods.HasPrivilegeOnEntities(ctx, s.vim, &types.HasPrivilegeOnEntities{
		This: manager, Entity: []types.ManagedObjectReference{on}, SessionId: session.CurrentSession.Key, PrivId: ids})
	switch {
	case err == nil:
		answers = res.Returnval
	case vimfault.Is(err, &types.NotSupported{}), vimfault.Is(err, &types.MethodNotFound{}), vimfault.Is(err, &types.NoPermission{}):
		byUser, uerr := methods.HasUserPrivilegeOnEntities(ctx, s.vim, &types.HasUserPrivilegeOnEntities{
			This: manager, Entities: []types.ManagedObjectReference{on}, UserName: session.CurrentSession.UserName, PrivId: ids})
		if uerr != nil {
			return nil, cmp.Or(err, uerr)
		}
		answers = byUser.Returnval
	default:
		return nil, err
	}
	has := map[string]bool{}
	for _, a := range answers {
		for _, p := range a.PrivAvailability {
			has[p.PrivId] = p.IsGranted && a.Entity == on
		}
	}
	return has, nil
}
