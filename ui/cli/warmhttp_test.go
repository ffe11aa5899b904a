package cli

import (
	"net"
	"strings"
	"testing"

	"landfall/engine"
	"landfall/engine/spec"
	"landfall/engine/warm"
)

// TestWarmByHTTPSaysThatNothingIsBoundBeforehand: a volume that fetches its image cannot be made before there is one.
func TestWarmByHTTPSaysThatNothingIsBoundBeforehand(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := l.Addr().String()
	_ = l.Close()
	w := newWorld(t, writingVM(t, "vm", 12<<20))
	w.guestWrites("vm", 128<<10)
	m := w.apply("vm", func(d *spec.Document) {
		warmly("vm", nil)(d)
		d.Spec.Strategy.Delivery, d.Spec.Destination.ServeAddress = spec.DeliverHTTP, address
	})
	w.engine()
	m = w.until(m.UID, "the word to be waited for", func(m engine.Migration) bool {
		s := m.Status.Warm
		return s != nil && s.Phase == warm.PreparingTarget && strings.HasPrefix(s.Waiting, "ready: waiting for the word")
	})
	if s := m.Status.Warm.Waiting; !strings.Contains(s, "bound only after the source is off") || len(w.cluster.Volumes()) > 0 {
		t.Errorf("%q, and there are %d volumes", s, len(w.cluster.Volumes()))
	}
	w.cutAndComplete(m, "vm")
}
