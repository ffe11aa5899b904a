package store_test

import (
	"errors"
	"strings"
	"testing"

	"landfall/engine"
)

func TestFind(t *testing.T) {
	ctx := t.Context()
	s := fresh(t)
	a, b := applied(t, s, 1), applied(t, s, 2)
	d := document(3)
	d.Metadata.Name = "web-2"
	twin := must(s.Apply(ctx, d, ann))(t)
	d = document(4)
	d.Metadata.Name = "100% _of_ it"
	odd := must(s.Apply(ctx, d, ann))(t)

	for key, want := range map[string]string{
		a.UID: a.UID, a.UID[:6]: a.UID, strings.ToUpper(b.UID[:8]): b.UID, "web-1": a.UID, "100% _of_ it": odd.UID,
	} {
		if m, err := s.Find(ctx, key); err != nil || m.UID != want {
			t.Errorf("find %q: %s, %v", key, m.UID, err)
		}
	}
	for _, key := range []string{"", "web", "%", "_", a.UID + "0", "WEB-1", "zzz"} {
		if _, err := s.Find(ctx, key); !errors.Is(err, engine.ErrNotFound) {
			t.Errorf("find %q: %v", key, err)
		}
	}
	_, err := s.Find(ctx, "web-2")
	if err == nil || errors.Is(err, engine.ErrNotFound) || !strings.Contains(err.Error(), b.UID) || !strings.Contains(err.Error(), twin.UID) {
		t.Errorf("a name that two have: %v", err)
	}
}
