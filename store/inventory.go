package store

import (
	"context"
	"fmt"

	"landfall/engine"
	"landfall/engine/machine"
	"landfall/store/db"
)

// PutInventory replaces the cached inventory of an endpoint; with a failure, it says why that could not be had and keeps
// the old one.
func (s *Store) PutInventory(ctx context.Context, endpoint string, vms []machine.VM, about, failure string) error {
	op := fmt.Sprintf("put inventory of endpoint %q", endpoint)
	texts := make([]string, len(vms))
	for i, vm := range vms {
		var err error
		if texts[i], err = encode("VM "+vm.Ref.String(), vm); err != nil {
			return fmt.Errorf("%s: %w", op, err)
		}
	}
	return s.write(ctx, op, "", func(q *db.Queries) error {
		var n int64
		var err error
		if failure != "" {
			n, err = q.InventoryFailed(ctx, db.InventoryFailedParams{Failure: failure, Name: endpoint})
		} else {
			n, err = q.InventoryTaken(ctx, db.InventoryTakenParams{Taken: nanos(s.clock()), About: about, Name: endpoint})
		}
		if err == nil && n == 0 {
			err = engine.ErrNotFound
		}
		if err != nil || failure != "" {
			return raised(ctx, q, err)
		}
		if err := q.DropInventory(ctx, endpoint); err != nil {
			return err
		}
		for i, t := range texts {
			if err := q.AddListed(ctx, db.AddListedParams{Endpoint: endpoint, Place: int64(i), Vm: t}); err != nil {
				return err
			}
		}
		return q.RaiseFeed(ctx)
	})
}

func raised(ctx context.Context, q *db.Queries, err error) error {
	if err != nil {
		return err
	}
	return q.RaiseFeed(ctx)
}

// Inventory gives every cached VM of every endpoint, with its newest migration.
func (s *Store) Inventory(ctx context.Context) (all []engine.Listed, err error) {
	err = s.read(ctx, "read the inventory", func(q *db.Queries) error {
		newest, err := newestOf(ctx, q)
		if err != nil {
			return err
		}
		points, err := q.Endpoints(ctx)
		if err != nil {
			return err
		}
		spelling := make(map[string]string, len(points))
		for _, p := range points {
			e, err := endpoint(p)
			if err != nil {
				return err
			}
			spelling[p.Name] = spelt(e.Source.Address)
		}
		rows, err := q.Inventory(ctx)
		if err != nil {
			return err
		}
		all = make([]engine.Listed, len(rows))
		for i, r := range rows {
			l := engine.Listed{Endpoint: r.Endpoint}
			if err := decode(fmt.Sprintf("VM %d of endpoint %q", i, r.Endpoint), r.Vm, &l.VM); err != nil {
				return err
			}
			at := spelling[r.Endpoint]
			m, ok := newest[identity{at, "moref", l.VM.Ref.MoRef}]
			if o, same := newest[identity{at, "instance", l.VM.Ref.InstanceUUID}]; same && (!ok || o.place > m.place) {
				m, ok = o, true
			}
			if ok {
				l.Migration, l.Phase = m.uid, m.phase
			}
			all[i] = l
		}
		return nil
	})
	return all, err
}

type identity struct{ endpoint, kind, value string }

type moving struct {
	uid   string
	phase engine.Phase
	place int
}

// newestOf gives the newest migration by each name of its VM.
func newestOf(ctx context.Context, q *db.Queries) (map[identity]moving, error) {
	rows, err := q.Identities(ctx)
	if err != nil {
		return nil, err
	}
	newest := make(map[identity]moving, 2*len(rows))
	for i, r := range rows {
		m := moving{r.Uid, engine.Phase(r.Phase), i}
		if r.Moref != "" {
			newest[identity{r.Endpoint, "moref", r.Moref}] = m
		}
		if r.InstanceUuid != "" {
			newest[identity{r.Endpoint, "instance", r.InstanceUuid}] = m
		}
	}
	return newest, nil
}
