package esxsim

import (
	"os"
	"path/filepath"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/types"
)

// dsPath is a file on a datastore.
type dsPath struct{ store, file string }

func (p dsPath) String() string { return "[" + p.store + "] " + p.file }

// store is a datastore and the folder that holds its files.
type store struct {
	spec Datastore
	dir  string
	root *os.Root // nothing outside can be reached through it
	obj  *simulator.Datastore
}

func (s *store) refp() *types.ManagedObjectReference {
	ref := s.obj.Self
	return &ref
}

func (s *store) abs(file string) string { return filepath.Join(s.dir, filepath.FromSlash(file)) }

// network is a port group and how an adapter refers to it.
type network struct {
	ref     types.ManagedObjectReference
	backing types.BaseVirtualDeviceBackingInfo
}
