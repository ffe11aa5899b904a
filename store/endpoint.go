package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"

	"landfall/engine"
	"landfall/engine/fault"
	"landfall/store/db"
)

// Endpoints gives the sources that are listed, by name.
func (s *Store) Endpoints(ctx context.Context) (all []engine.Endpoint, err error) {
	err = s.read(ctx, "read endpoints", func(q *db.Queries) error {
		rows, err := q.Endpoints(ctx)
		if err != nil {
			return err
		}
		all = make([]engine.Endpoint, len(rows))
		for i, r := range rows {
			if all[i], err = endpoint(r); err != nil {
				return err
			}
		}
		return nil
	})
	return all, err
}

func endpoint(r db.Endpoint) (engine.Endpoint, error) {
	e := engine.Endpoint{Name: r.Name, Asked: moment(r.Asked), Taken: moment(r.Taken), About: r.About, Failure: r.Failure}
	what := fmt.Sprintf("of endpoint %q", r.Name)
	return e, errors.Join(
		decode("source "+what, r.Source, &e.Source),
		decode("target "+what, r.Target, &e.Target),
		decode("defaults "+what, r.Defaults, &e.Defaults),
	)
}

// PutEndpoint has a source listed, or changes how; what the engine wrote of it stays unless it is another source now.
func (s *Store) PutEndpoint(ctx context.Context, e engine.Endpoint, who engine.Person) error {
	op := fmt.Sprintf("put endpoint %q", e.Name)
	if e.Name == "" || e.Source.Address == "" {
		return fault.Newf(fault.Blocked, fault.Refused, "%s: a name and an address are needed", op)
	}
	if strings.Contains(e.Source.Address, "@") {
		return fault.Newf(fault.Blocked, fault.Refused, "%s: the address must not hold a user or password", op)
	}
	source, err1 := encode("source", e.Source)
	target, err2 := encode("target", e.Target)
	defaults, err3 := encode("defaults", e.Defaults)
	if err := errors.Join(err1, err2, err3); err != nil {
		return fmt.Errorf("%s: %w", op, err)
	}
	return s.write(ctx, op, "", func(q *db.Queries) error {
		was, err := q.Endpoint(ctx, e.Name)
		if err != nil && !errors.Is(err, sql.ErrNoRows) {
			return err
		}
		if err := q.PutEndpoint(ctx, db.PutEndpointParams{
			Name: e.Name, Source: source, Target: target, Defaults: defaults, Asked: max(s.or(e.Asked), was.Asked),
		}); err != nil {
			return err
		}
		if old, err := endpoint(was); was.Name != "" && (err != nil || spelt(old.Source.Address) != spelt(e.Source.Address)) {
			if err := q.ForgetInventory(ctx, e.Name); err != nil {
				return err
			}
			if err := q.DropInventory(ctx, e.Name); err != nil {
				return err
			}
		}
		return s.audit(ctx, q, who, "", fmt.Sprintf("put endpoint %q at %q", e.Name, e.Source.Address))
	})
}

// Refresh asks the engine to list an endpoint anew.
func (s *Store) Refresh(ctx context.Context, name string, who engine.Person) error {
	return s.write(ctx, fmt.Sprintf("refresh endpoint %q", name), "", func(q *db.Queries) error {
		n, err := q.AskRefresh(ctx, db.AskRefreshParams{Asked: nanos(s.clock()), Name: name})
		if err == nil && n == 0 {
			err = engine.ErrNotFound
		}
		if err != nil {
			return err
		}
		return s.audit(ctx, q, who, "", fmt.Sprintf("asked for a new list of endpoint %q", name))
	})
}
