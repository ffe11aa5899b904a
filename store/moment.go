package store

import "time"

// nanos is how a moment is kept: exact, ordered, and 0 for none.
func nanos(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixNano()
}

func moment(n int64) time.Time {
	if n == 0 {
		return time.Time{}
	}
	return time.Unix(0, n).UTC()
}

// or gives t, or now where t is not set.
func (s *Store) or(t time.Time) int64 {
	if t.IsZero() {
		return nanos(s.clock())
	}
	return nanos(t)
}
