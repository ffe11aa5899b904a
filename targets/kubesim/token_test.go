package kubesim

import (
	"testing"
	"time"
)

// A token passes for ten seconds beyond its five minutes, as CDI's does.
func TestTokenLeeway(t *testing.T) {
	now := time.Unix(1e9, 0)
	s := &Server{cfg: Config{TokenLife: defaultTokenLife, Now: func() time.Time { return now }}, tokenKey: "key"}
	token := s.signToken("ns", "claim")
	for _, c := range []struct {
		after  time.Duration
		passes bool
	}{{4*time.Minute + 59*time.Second, true}, {5*time.Minute + 9*time.Second, true}, {5*time.Minute + 10*time.Second, false}} {
		now = time.Unix(1e9, 0).Add(c.after)
		if _, err := s.checkToken(token); (err == nil) != c.passes {
			t.Errorf("after %s: %v", c.after, err)
		}
	}
}
