package store

import (
	"context"

	"landfall/engine"
	"landfall/store/db"
)

// Heartbeat says that the engine lives. It does not raise the change number.
func (s *Store) Heartbeat(ctx context.Context, h engine.Heartbeat) error {
	return s.write(ctx, "write the heartbeat", "", func(q *db.Queries) error {
		return q.Beat(ctx, db.BeatParams{
			Pid: int64(h.PID), Host: h.Host, Version: h.Version, Started: nanos(h.Started), Beat: s.or(h.Beat), Permits: int64(h.Limit),
		})
	})
}

// Beat gives the engine's last heartbeat; engine.ErrNotFound when there never was one.
func (s *Store) Beat(ctx context.Context) (h engine.Heartbeat, err error) {
	err = s.read(ctx, "read the heartbeat", func(q *db.Queries) error {
		r, err := q.LastBeat(ctx)
		if err == nil {
			h = engine.Heartbeat{
				PID: int(r.Pid), Host: r.Host, Version: r.Version, Started: moment(r.Started), Beat: moment(r.Beat), Limit: int(r.Permits),
			}
		}
		return err
	})
	return h, err
}

// Changed gives the change number. It is what a console asks several times a second.
func (s *Store) Changed(ctx context.Context) (int64, error) {
	if err := s.present(); err != nil {
		return 0, err
	}
	n, err := db.New(s.reader).Feed(ctx)
	return n, s.fault(ctx, "read the change number", err)
}
