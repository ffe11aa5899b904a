package vsphere

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/types"

	"landfall/engine/fault"
	"landfall/engine/machine"
)

// ProveOff looks at the power state, and then for the files that a running VM keeps in its folder: the power state
// alone is only what the host's agent believes. Could not look is an error, never a proof.
func (s *Source) ProveOff(ctx context.Context, vm machine.VM) error {
	err := s.session.whole(func() error { return s.proveOff(ctx, vm.Ref) })
	return s.fail(err, "prove that VM %s is off", vm.Ref)
}

func (s *Source) proveOff(ctx context.Context, ref machine.Ref) error {
	_, p, err := s.state(ctx, ref)
	if err != nil {
		return err
	}
	if p != machine.Off {
		return runs("its power state is " + string(p))
	}
	_, b, err := s.look(ctx, ref, "config.files.vmPathName", "datastore")
	if err = cmp.Or(err, b.missing("config.files.vmPathName"), b.missing("datastore")); err != nil {
		return err
	}
	config, ok := parsePath(get[string](b, "config.files.vmPathName"))
	if !ok {
		return fault.Newf(fault.Blocked, fault.NotFound, "where its configuration lies is not known")
	}
	names, err := s.files(ctx, config.folder(), get[types.ArrayOfManagedObjectReference](b, "datastore").ManagedObjectReference)
	if err != nil {
		return fmt.Errorf("look into %s: %w", config.folder(), err)
	}
	for _, name := range names {
		if held(name) {
			return runs(fmt.Sprintf("its power state is off, but %s is there", config.beside(name)))
		}
	}
	return nil
}

// held tells whether a file is one that only a running VM has: the lock of its configuration, or its swap.
func held(name string) bool {
	n := strings.ToLower(name)
	return strings.HasSuffix(n, ".vmx.lck") || strings.HasSuffix(n, ".vswp")
}

func runs(seen string) error {
	return fault.Hint(fault.Newf(fault.Transient, fault.VMRuns, "the VM runs: %s", seen), "shut the VM down; if it is off, look which host holds the file")
}

// files lists a folder on one of the VM's datastores.
func (s *Source) files(ctx context.Context, folder filePath, datastores []types.ManagedObjectReference) ([]string, error) {
	content, err := s.retrieve(ctx, datastores, []string{"name", "browser"})
	if err != nil {
		return nil, err
	}
	for _, c := range content {
		b := bagOf(c)
		browser, ok := b["browser"].(types.ManagedObjectReference)
		name := get[string](b, "name")
		if !ok || name != folder.datastore && shown(name) != folder.datastore {
			continue
		}
		task, err := methods.SearchDatastore_Task(ctx, s.vim, &types.SearchDatastore_Task{
			This: browser, DatastorePath: folder.String(), SearchSpec: &types.HostDatastoreBrowserSearchSpec{MatchPattern: []string{"*"}},
		})
		if err != nil {
			return nil, err
		}
		result, err := s.result(ctx, task.Returnval)
		if err != nil {
			return nil, err
		}
		found, ok := result.(types.HostDatastoreBrowserSearchResults)
		if !ok {
			return nil, fault.Newf(fault.Transient, ServerError, "the datastore browser gave no list")
		}
		var names []string
		for _, f := range found.File {
			if f != nil && f.GetFileInfo() != nil {
				names = append(names, f.GetFileInfo().Path)
			}
		}
		if len(names) == 0 {
			// The VM's own configuration must be in it: an empty list has not looked.
			return nil, fault.Newf(fault.Transient, ServerError, "the datastore browser shows the folder as empty")
		}
		return names, nil
	}
	return nil, fault.Hint(fault.Newf(fault.Blocked, fault.NotFound, "no datastore %q of the VM can be browsed", folder.datastore),
		"give the user Datastore.Browse on it")
}
