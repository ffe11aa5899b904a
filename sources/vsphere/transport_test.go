package vsphere

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"landfall/engine/spec"
)

// A host that offers HTTP/2 is spoken to over HTTP/1.1, and its connections are used again.
func TestTransportSpeaksHTTP1(t *testing.T) {
	remotes := map[string]bool{}
	host := httptest.NewUnstartedServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { remotes[r.RemoteAddr] = true }))
	host.EnableHTTP2 = true
	host.StartTLS()
	defer host.Close()
	tr, err := newTrust(host.Listener.Addr().String(), spec.TLS{Thumbprint: Thumbprint(host.Certificate())})
	if err != nil {
		t.Fatal(err)
	}
	c := http.Client{Transport: newTransport(tr, Options{}.defaults(), 2)}
	for range 3 {
		res, err := c.Get(host.URL)
		if err != nil {
			t.Fatal(err)
		}
		_ = res.Body.Close()
		if res.ProtoMajor != 1 {
			t.Errorf("spoken is %s", res.Proto)
		}
	}
	if len(remotes) != 1 {
		t.Errorf("%d connections for three requests one after the other", len(remotes))
	}
}

func TestRetryAfter(t *testing.T) {
	now := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		name, header string
		want         time.Duration
	}{
		{"absent", "", 0},
		{"seconds", "120", 2 * time.Minute},
		{"date", "Mon, 30 Nov 2026 12:00:30 GMT", 30 * time.Second},
		{"date gone by", "Mon, 30 Nov 2026 11:00:00 GMT", 0},
		{"negative", "-5", 0},
		{"beyond belief", "99999999", time.Hour},
		{"nonsense", "soon", 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := retryAfter(http.Header{"Retry-After": {c.header}}, now); got != c.want {
				t.Errorf("got %s, want %s", got, c.want)
			}
		})
	}
}
