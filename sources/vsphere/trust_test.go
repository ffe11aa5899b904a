package vsphere_test

import (
	"context"
	"encoding/pem"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"landfall/engine/fault"
	"landfall/engine/spec"
	"landfall/sources/esxsim"
	"landfall/sources/vsphere"
)

func TestCertificateChanges(t *testing.T) {
	sim, doc := start(t, esxsim.Config{VMs: []esxsim.VM{{Name: "web", Disks: []esxsim.Disk{{Size: 1 << 20}}}}})
	src := dial(t, doc, vsphere.Options{})
	web := ref(t, src, "web")
	vm, err := src.Inspect(context.Background(), web)
	if err != nil {
		t.Fatal(err)
	}
	disk, err := src.OpenDisk(context.Background(), vm, vm.DiskList[0])
	if err != nil {
		t.Fatal(err)
	}
	old := spec.NormalThumbprint(sim.Fingerprint())
	if got := src.About().Thumbprint; got != old {
		t.Errorf("the thumbprint told is %s, want %s", got, old)
	}
	if err := sim.SwapCertificate(); err != nil {
		t.Fatal(err)
	}
	now := spec.NormalThumbprint(sim.Fingerprint())

	both := func(err error) {
		t.Helper()
		expect(t, err, fault.Blocked, fault.Certificate)
		var c *vsphere.CertificateError
		if !errors.As(err, &c) || c.Want != old || c.Seen != now {
			t.Errorf("got %+v, want %s and %s", c, old, now)
		}
		if !strings.Contains(err.Error(), old) || !strings.Contains(err.Error(), now) {
			t.Errorf("the message does not show both values: %v", err)
		}
	}
	_, err = src.Power(context.Background(), web)
	if fault.Is(err, fault.Unreachable) { // the connection that was open broke, as when a host's services restart
		_, err = src.Power(context.Background(), web)
	}
	both(err)
	_, err = disk.Open(context.Background(), 0, 1)
	both(err)

	// A person looks at the new one and trusts it.
	seen, err := vsphere.Fingerprint(context.Background(), doc.Address)
	if err != nil || seen != now {
		t.Fatalf("fingerprint %s, %v, want %s", seen, err, now)
	}
	doc.TLS.Thumbprint = seen
	dial(t, doc, vsphere.Options{})
}

func TestTrust(t *testing.T) {
	sim, doc := start(t, esxsim.Config{})
	other := httptest.NewTLSServer(http.NotFoundHandler())
	defer other.Close()
	file := func(der []byte) string {
		name := filepath.Join(t.TempDir(), "ca.pem")
		if err := os.WriteFile(name, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o600); err != nil {
			t.Fatal(err)
		}
		return name
	}
	empty := filepath.Join(t.TempDir(), "empty.pem")
	if err := os.WriteFile(empty, []byte("no certificate"), 0o600); err != nil {
		t.Fatal(err)
	}
	seen := spec.NormalThumbprint(sim.Fingerprint())
	for _, c := range []struct {
		name   string
		tls    spec.TLS
		reason string // "" is success
		says   string
	}{
		{"pinned with colons", spec.TLS{Thumbprint: sim.Fingerprint()}, "", ""},
		{"pinned without colons", spec.TLS{Thumbprint: seen}, "", ""},
		{"authority of its own", spec.TLS{CAFile: file(sim.Certificate().Raw)}, "", ""},
		{"authority of another", spec.TLS{CAFile: file(other.Certificate().Raw)}, fault.Certificate, seen},
		{"the system's authorities", spec.TLS{}, fault.Certificate, seen},
		{"another one pinned", spec.TLS{Thumbprint: strings.Repeat("ab", 32)}, fault.Certificate, strings.Repeat("ab", 32)},
		{"SHA-1 pinned", spec.TLS{Thumbprint: strings.Repeat("ab", 20)}, fault.Refused, "SHA-256"},
		{"authorities absent", spec.TLS{CAFile: "/no/such/file.pem"}, fault.Refused, "/no/such/file.pem"},
		{"authorities empty", spec.TLS{CAFile: empty}, fault.Refused, "no PEM certificate"},
	} {
		t.Run(c.name, func(t *testing.T) {
			doc := doc
			doc.TLS = c.tls
			sim.ResetCounters()
			src, err := vsphere.Dial(context.Background(), doc, vsphere.Options{})
			if c.reason == "" {
				if err != nil {
					t.Fatal(err)
				}
				_ = src.Close()
				return
			}
			expect(t, err, fault.Blocked, c.reason)
			if !strings.Contains(err.Error(), c.says) {
				t.Errorf("%v does not say %q", err, c.says)
			}
			if n := len(sim.Counters().Calls); n != 0 {
				t.Errorf("the API was called although the host is not trusted: %v", sim.Counters().Calls)
			}
		})
	}
}
