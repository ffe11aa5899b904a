package store

import (
	"context"
	"encoding/json"
	"fmt"

	"landfall/engine"
	"landfall/engine/fault"
	"landfall/store/db"
)

// Active gives every migration that is not terminal, oldest first.
func (s *Store) Active(ctx context.Context) (all []engine.Migration, err error) {
	err = s.read(ctx, "read active migrations", func(q *db.Queries) error {
		rows, err := q.Active(ctx)
		if err != nil {
			return err
		}
		areas, err := q.ActiveExtents(ctx)
		if err != nil {
			return err
		}
		of := make(map[string][]db.ExtentsRow)
		for _, a := range areas {
			of[a.Migration] = append(of[a.Migration], db.ExtentsRow{Disk: a.Disk, Areas: a.Areas})
		}
		all = make([]engine.Migration, len(rows))
		for i, r := range rows {
			if all[i], err = opened(db.MigrationRow(r), of[r.Uid]); err != nil {
				return err
			}
		}
		return nil
	})
	return all, err
}

// Migration gives one by UID, or engine.ErrNotFound.
func (s *Store) Migration(ctx context.Context, uid string) (m engine.Migration, err error) {
	err = s.read(ctx, "read migration "+short(uid), func(q *db.Queries) error {
		m, err = whole(ctx, q, uid)
		return err
	})
	return m, err
}

func whole(ctx context.Context, q *db.Queries, uid string) (engine.Migration, error) {
	row, err := q.Migration(ctx, uid)
	if err != nil {
		return engine.Migration{}, err
	}
	areas, err := q.Extents(ctx, uid)
	if err != nil {
		return engine.Migration{}, err
	}
	return opened(row, areas)
}

func opened(r db.MigrationRow, areas []db.ExtentsRow) (engine.Migration, error) {
	m := engine.Migration{
		UID: r.Uid, Generation: r.Generation, Want: engine.Want(r.Want), Retry: r.Retry,
		Created: moment(r.Created), CreatedBy: r.CreatedBy, Version: r.Version,
	}
	if err := decode("document of "+short(r.Uid), r.Document, &m.Document); err != nil {
		return engine.Migration{}, err
	}
	if err := decode("status of "+short(r.Uid), r.Status, &m.Status); err != nil {
		return engine.Migration{}, err
	}
	for _, a := range areas {
		if a.Disk < 0 || a.Disk >= int64(len(m.Status.Disks)) {
			continue
		}
		all, err := unpacked(a.Areas)
		if err != nil {
			return engine.Migration{}, fmt.Errorf("allocated areas of disk %d of %s: %w", a.Disk, short(r.Uid), err)
		}
		m.Status.Disks[a.Disk].Extents = all
	}
	return m, nil
}

// encode gives v as JSON text.
func encode(what string, v any) (string, error) {
	b, err := json.Marshal(v)
	if err != nil {
		return "", fault.Newf(fault.Permanent, fault.Refused, "write %s: %w", what, err)
	}
	return string(b), nil
}

func decode(what, text string, v any) error {
	if err := json.Unmarshal([]byte(text), v); err != nil {
		return fault.Newf(fault.Permanent, fault.Damaged, "read %s: %w", what, err)
	}
	return nil
}

// short names a migration in an error.
func short(uid string) string {
	if len(uid) > 8 {
		return uid[:8]
	}
	return uid
}
