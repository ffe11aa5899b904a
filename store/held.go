package store

import (
	"context"

	"landfall/engine"
	"landfall/store/db"
)

// hold writes down what is about to be made and strikes off what is gone.
func (s *Store) hold(ctx context.Context, q *db.Queries, uid string, hold, gone []engine.Held) error {
	for _, h := range hold {
		if err := q.Hold(ctx, db.HoldParams{
			Migration: uid, Kind: h.Kind, Place: h.Where, Name: h.Name, Since: s.or(h.Since), Keep: integer(h.Keep), Note: h.Note,
		}); err != nil {
			return err
		}
	}
	for _, h := range gone {
		if err := q.StrikeOff(ctx, db.StrikeOffParams{Migration: uid, Kind: h.Kind, Place: h.Where, Name: h.Name}); err != nil {
			return err
		}
	}
	return nil
}

// Held gives what a migration holds, oldest first.
func (s *Store) Held(ctx context.Context, uid string) (all []engine.Held, err error) {
	err = s.read(ctx, "read what "+short(uid)+" holds", func(q *db.Queries) error {
		rows, err := q.Held(ctx, uid)
		all = make([]engine.Held, len(rows))
		for i, r := range rows {
			all[i] = engine.Held{
				Migration: r.Migration, Kind: r.Kind, Where: r.Place, Name: r.Name, Since: moment(r.Since), Keep: r.Keep == 1, Note: r.Note,
			}
		}
		return err
	})
	return all, err
}
