package store

import (
	"context"
	"database/sql"
	"errors"

	"landfall/engine"
	"landfall/store/db"
)

// Rate gives how fast the host was read by earlier copies, in bytes per second, and how many there were; 0 where none.
func (s *Store) Rate(ctx context.Context, host string) (rate float64, copies int, err error) {
	err = s.read(ctx, "read the rate of a host", func(q *db.Queries) error {
		r, err := q.Rate(ctx, host)
		switch {
		case errors.Is(err, sql.ErrNoRows):
			return nil
		case err == nil && r.Seconds > 0:
			rate, copies = float64(r.Bytes)/r.Seconds, int(r.Copies)
		}
		return err
	})
	return rate, copies, err
}

func addRates(ctx context.Context, q *db.Queries, rates []engine.Rate) error {
	for _, r := range rates {
		if err := q.AddRate(ctx, db.AddRateParams{Host: r.Host, Bytes: r.Bytes, Seconds: r.Seconds}); err != nil {
			return err
		}
	}
	return nil
}
