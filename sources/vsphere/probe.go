package vsphere

import (
	"context"
	"errors"
	"maps"
	"sync"
	"time"

	"github.com/vmware/govmomi/vim25/types"

	"landfall/engine/machine"
	"landfall/sources"
)

var _ sources.Prober = (*Source)(nil)

// probePatience bounds each part of a probe: one that hangs stays unknown and holds up no other.
const probePatience = 20 * time.Second

// Probe looks at everything that a migration of the VM will need, and changes nothing. The VM itself must be found.
func (s *Source) Probe(ctx context.Context, vm machine.VM) (sources.Capabilities, error) {
	c := sources.Capabilities{Taken: s.opts.Now().UTC(), Unknown: map[string]string{}}
	c.Certificate = s.proof(ctx)
	moref, b, err := s.look(ctx, vm.Ref, "runtime.host", "runtime.powerState", "datastore")
	if err != nil {
		return c, s.fail(err, "probe %s for VM %s", s.host, vm.Ref)
	}
	var mu sync.Mutex
	var all sync.WaitGroup
	part := func(group string, look func(context.Context) (func(), error)) {
		all.Go(func() {
			ctx, cancel := context.WithTimeout(ctx, probePatience)
			defer cancel()
			fill, err := look(ctx)
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				c.Unknown[group] = s.fail(err, "look up the %s of %s", group, s.host).Error()
			}
			if fill != nil {
				fill()
			}
		})
	}
	host := get[types.ManagedObjectReference](b, "runtime.host")
	stores := get[types.ArrayOfManagedObjectReference](b, "datastore").ManagedObjectReference
	running := power(get[types.VirtualMachinePowerState](b, "runtime.powerState")) == machine.On

	part(sources.KnownPrivileges, func(ctx context.Context) (func(), error) {
		lacks, warm, err := s.lacks(ctx, moref, stores, running)
		return func() { c.Missing, c.MissingWarm = lacks, warm }, err
	})
	part(sources.KnownHost, func(ctx context.Context) (func(), error) {
		h, err := s.hostState(ctx, host)
		return func() { c.Maintenance, c.Status, c.StatusWhy = h.maintenance, h.status, h.why }, err
	})
	part(sources.KnownPorts, func(ctx context.Context) (func(), error) {
		ports, err := s.ports(ctx, host)
		return func() { c.Ports = ports }, err
	})
	part(sources.KnownReaders, func(ctx context.Context) (func(), error) {
		readers, err := s.readings(ctx, vm, moref)
		return func() { c.Readers = readers }, err
	})
	part(sources.KnownRoom, func(ctx context.Context) (func(), error) {
		room, err := s.room(ctx, stores)
		return func() { c.Room = maps.Clone(room) }, err
	})
	all.Wait()
	if err := ctx.Err(); err != nil {
		return c, s.fail(err, "probe %s for VM %s", s.host, vm.Ref)
	}
	return c, nil
}

// room is how much each datastore has free. One that tells nothing is left out.
func (s *Source) room(ctx context.Context, stores []types.ManagedObjectReference) (map[string]int64, error) {
	if len(stores) == 0 {
		return nil, errors.New("the VM shows no datastore")
	}
	content, err := s.retrieve(ctx, stores, []string{"name", "summary.freeSpace", "summary.accessible"})
	if err != nil {
		return nil, err
	}
	room := map[string]int64{}
	for _, o := range content {
		b := bagOf(o)
		free, told := b["summary.freeSpace"].(int64)
		if there, said := b["summary.accessible"].(bool); !told || said && !there {
			continue
		}
		room[shown(get[string](b, "name"))] = free
	}
	return room, nil
}
