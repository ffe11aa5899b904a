package vsphere_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"landfall/engine/fault"
	"landfall/engine/secret"
	"landfall/engine/spec"
	"landfall/sources/vsphere"
)

// TestReach: whatever stands at the address, Dial ends soon, names the address and says what to try.
func TestReach(t *testing.T) {
	t.Setenv("VSPHERE_TEST_PASSWORD", password)
	listen := func(serve func(net.Conn)) string {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = l.Close() })
		go func() {
			for {
				c, err := l.Accept()
				if err != nil {
					return
				}
				go serve(c)
			}
		}()
		return l.Addr().String()
	}
	silent := make(chan struct{})
	t.Cleanup(func() { close(silent) })
	web := func(h http.HandlerFunc) (string, string) {
		s := httptest.NewTLSServer(h)
		t.Cleanup(s.Close)
		sum := sha256.Sum256(s.Certificate().Raw)
		return s.Listener.Addr().String(), hex.EncodeToString(sum[:])
	}
	nobody := listen(func(net.Conn) {})
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_ = closed.Close()
	page, pagePin := web(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "<html><body>Welcome</body></html>") })
	away, awayPin := web(func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "https://elsewhere.invalid/", http.StatusFound)
	})
	full, fullPin := web(func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("Retry-After", "7"); w.WriteHeader(503) })
	slow, slowPin := web(func(w http.ResponseWriter, r *http.Request) {
		select {
		case <-r.Context().Done():
		case <-silent:
		}
	})

	for _, c := range []struct {
		name, address, pin string
		class              fault.Class
		reason             string
		after              time.Duration
	}{
		{"nothing listens", closed.Addr().String(), "", fault.Transient, fault.Unreachable, 0},
		{"name that nobody knows", "no-such-host.invalid", "", fault.Transient, fault.Unreachable, 0},
		{"accepts and says nothing", nobody, "", fault.Transient, fault.Unreachable, 0},
		{"hangs up", listen(func(c net.Conn) { _ = c.Close() }), "", fault.Transient, fault.Unreachable, 0},
		{"speaks no TLS", listen(func(c net.Conn) { fmt.Fprint(c, "SSH-2.0-OpenSSH_9.6\r\n"); _ = c.Close() }), "", fault.Transient, fault.Unreachable, 0},
		{"a web page", page, pagePin, fault.Blocked, fault.Refused, 0},
		{"sends us elsewhere", away, awayPin, fault.Blocked, fault.Refused, 0},
		{"too many sessions", full, fullPin, fault.Transient, vsphere.Busy, 7 * time.Second},
		{"never answers", slow, slowPin, fault.Transient, fault.Unreachable, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			begun := time.Now()
			_, err := vsphere.Dial(context.Background(), spec.Source{Address: c.address, Username: "root",
				Password: secret.Ref{Env: "VSPHERE_TEST_PASSWORD"}, TLS: spec.TLS{Thumbprint: c.pin}},
				vsphere.Options{DialTimeout: 500 * time.Millisecond, HeaderTimeout: 500 * time.Millisecond})
			expect(t, err, c.class, c.reason)
			if d := time.Since(begun); d > 8*time.Second {
				t.Errorf("it took %s", d)
			}
			if fault.AfterOf(err) != c.after {
				t.Errorf("wait %s, want %s", fault.AfterOf(err), c.after)
			}
			host, _, _ := strings.Cut(c.address, ":")
			if !strings.Contains(err.Error(), host) || fault.HintOf(err) == "" {
				t.Errorf("%v [%s] does not name the address or has no hint", err, fault.HintOf(err))
			}
		})
	}
}
