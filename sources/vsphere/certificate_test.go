package vsphere

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"math/big"
	"net"
	"strings"
	"testing"
	"time"

	"landfall/engine/fault"
	"landfall/engine/spec"
)

// expired is a listener whose certificate ran out yesterday.
func expired(t *testing.T) (address, pin string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	c := &x509.Certificate{SerialNumber: big.NewInt(1), NotBefore: time.Now().AddDate(-1, 0, 0), NotAfter: time.Now().AddDate(0, 0, -1)}
	der, err := x509.CreateCertificate(rand.Reader, c, c, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	leaf, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	l, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go func() { _ = conn.(*tls.Conn).Handshake(); _, _ = conn.Read(make([]byte, 1)); _ = conn.Close() }()
		}
	}()
	return l.Addr().String(), Thumbprint(leaf)
}

func TestExpiredCertificate(t *testing.T) {
	address, pin := expired(t)
	for _, c := range []struct {
		name string
		tls  spec.TLS
		ok   bool
	}{
		{"pinned", spec.TLS{Thumbprint: strings.ToUpper(pin)}, true},
		{"another pinned", spec.TLS{Thumbprint: strings.Repeat("00", 32)}, false},
		{"not pinned", spec.TLS{}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			tr, err := newTrust(address, c.tls)
			if err != nil {
				t.Fatal(err)
			}
			// Twice with one cache of sessions: a resumed connection is checked like the first.
			tr.config.ClientSessionCache = tls.NewLRUClientSessionCache(4)
			for range 2 {
				cfg := tr.config.Clone()
				cfg.ServerName, _, _ = net.SplitHostPort(address)
				conn, err := tls.Dial("tcp", address, cfg)
				if err == nil {
					_ = conn.Close()
				}
				if (err == nil) != c.ok {
					t.Fatalf("connected: %v", err)
				}
				if !c.ok {
					err = failed(err, address, "connect")
					var ce *CertificateError
					if !fault.Is(err, fault.Certificate) || fault.ClassOf(err) != fault.Blocked || !errors.As(err, &ce) || ce.Seen != pin {
						t.Errorf("got %v [%s]", err, fault.ReasonOf(err))
					}
				}
			}
		})
	}
}
