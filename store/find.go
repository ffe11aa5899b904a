package store

import (
	"context"
	"fmt"
	"strings"

	"landfall/engine"
	"landfall/engine/fault"
	"landfall/store/db"
)

// Find gives the migration whose UID starts with key, or whose name is key if just one has it; engine.ErrNotFound, or an
// error that lists the candidates.
func (s *Store) Find(ctx context.Context, key string) (m engine.Migration, err error) {
	err = s.read(ctx, fmt.Sprintf("find migration %q", key), func(q *db.Queries) error {
		if key == "" {
			return engine.ErrNotFound
		}
		low := strings.ToLower(key)
		found, err := q.Candidates(ctx, db.CandidatesParams{Name: key, Low: low, High: low + "\x7f"})
		if err != nil {
			return err
		}
		for _, c := range found {
			if c.Uid == low {
				found = []db.CandidatesRow{c}
				break
			}
		}
		switch len(found) {
		case 0:
			return engine.ErrNotFound
		case 1:
			m, err = whole(ctx, q, found[0].Uid)
			return err
		}
		return fault.Hint(fault.Newf(fault.Blocked, fault.Conflict, "%d migrations are meant: %s", len(found), candidates(found)), "give more of the UID")
	})
	return m, err
}

func candidates(found []db.CandidatesRow) string {
	var names []string
	for i, c := range found {
		if i == 10 {
			names = append(names, "…")
			break
		}
		names = append(names, fmt.Sprintf("%s (%q, %s)", c.Uid, c.Name, c.Phase))
	}
	return strings.Join(names, ", ")
}
