package store

import (
	"context"

	"landfall/engine"
	"landfall/store/db"
)

// audit writes who did what, in the transaction that does it, and tells the readers.
func (s *Store) audit(ctx context.Context, q *db.Queries, who engine.Person, uid, what string) error {
	if err := q.AddNote(ctx, db.AddNoteParams{
		At: nanos(s.clock()), ByName: who.Name, ByFrom: who.From, What: what, Migration: uid,
	}); err != nil {
		return err
	}
	return q.RaiseFeed(ctx)
}

// Notes gives the audit of a migration, oldest first; uid "" is for everything.
func (s *Store) Notes(ctx context.Context, uid string) (all []engine.Note, err error) {
	err = s.read(ctx, "read the audit", func(q *db.Queries) error {
		var rows []db.Audit
		if uid == "" {
			rows, err = q.AllNotes(ctx)
		} else {
			rows, err = q.Notes(ctx, uid)
		}
		all = make([]engine.Note, len(rows))
		for i, r := range rows {
			all[i] = engine.Note{Time: moment(r.At), Who: engine.Person{Name: r.ByName, From: r.ByFrom}, What: r.What, Migration: r.Migration}
		}
		return err
	})
	return all, err
}
