package vsphere

import (
	"context"

	"github.com/vmware/govmomi/property"
	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/types"
)

// retrieveOne reads properties of one object into the managed object dst points to. An object that is gone gives
// ManagedObjectNotFound.
func retrieveOne(ctx context.Context, c *vim25.Client, ref types.ManagedObjectReference, paths []string, dst any) error {
	return property.DefaultCollector(c).RetrieveOne(ctx, ref, paths, dst)
}

func (s *Source) one(ctx context.Context, ref types.ManagedObjectReference, paths []string, dst any) error {
	return retrieveOne(ctx, s.vim, ref, paths, dst)
}

// retrieve reads properties of several objects, each as far as it can be read: what is missing of one does not fail the
// others.
func (s *Source) retrieve(ctx context.Context, refs []types.ManagedObjectReference, paths []string) ([]types.ObjectContent, error) {
	if len(refs) == 0 {
		return nil, nil
	}
	var content []types.ObjectContent
	err := property.DefaultCollector(s.vim).Retrieve(ctx, refs, paths, &content)
	return content, err
}

// bag is what was read of one object, by property path: its value, or the missingError by which it could not be read.
type bag map[string]any

func bagOf(o types.ObjectContent) bag {
	b := make(bag, len(o.PropSet)+len(o.MissingSet))
	for _, m := range o.MissingSet {
		if m.Fault.Fault != nil {
			b[m.Path] = missingError{m.Fault}
		}
	}
	for _, p := range o.PropSet {
		b[p.Name] = p.Val
	}
	return b
}

// get gives a property as its type, or the zero value where it is missing or of another type.
func get[T any](b bag, path string) T {
	v, _ := b[path].(T)
	return v
}

// missing tells why a property could not be read. One that the object just does not have gives nil.
func (b bag) missing(path string) error {
	e, ok := b[path].(missingError)
	if !ok {
		return nil
	}
	if _, absent := e.fault.Fault.(*types.InvalidProperty); absent {
		return nil
	}
	return e
}

// missingError is a fault that came as a value, of a property or a task, instead of as an answer.
type missingError struct{ fault types.LocalizedMethodFault }

func (e missingError) Error() string                { return e.fault.LocalizedMessage }
func (e missingError) Fault() types.BaseMethodFault { return e.fault.Fault }
