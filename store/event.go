package store

import (
	"context"

	"landfall/engine"
	"landfall/store/db"
)

func (s *Store) addEvent(ctx context.Context, q *db.Queries, uid string, e engine.Event) error {
	return q.AddEvent(ctx, db.AddEventParams{
		Migration: uid, At: s.or(e.Time), Level: e.Level, Phase: string(e.Phase), Reason: e.Reason, Message: e.Message,
	})
}

// Events gives a migration's events with a greater Seq, oldest first, at most limit. uid "" is for all.
func (s *Store) Events(ctx context.Context, uid string, after int64, limit int) (all []engine.Event, err error) {
	err = s.read(ctx, "read events", func(q *db.Queries) error {
		var rows []db.Event
		if uid == "" {
			rows, err = q.AllEvents(ctx, db.AllEventsParams{Seq: after, Limit: int64(limit)})
		} else {
			rows, err = q.Events(ctx, db.EventsParams{Migration: uid, Seq: after, Limit: int64(limit)})
		}
		all = make([]engine.Event, len(rows))
		for i, r := range rows {
			all[i] = engine.Event{
				Seq: r.Seq, Migration: r.Migration, Time: moment(r.At), Level: r.Level, Phase: engine.Phase(r.Phase),
				Reason: r.Reason, Message: r.Message,
			}
		}
		return err
	})
	return all, err
}
