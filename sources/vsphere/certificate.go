package vsphere

import (
	"context"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"os"
	"sync/atomic"
	"time"

	"landfall/engine/fault"
	"landfall/engine/spec"
)

// CertificateError says that the endpoint's certificate is not trusted, with the fingerprint that was seen, so that a
// person can decide to trust it. It is found with errors.As.
type CertificateError struct {
	Address string
	Seen    string // SHA-256 of the certificate, hex
	Want    string // the pinned SHA-256, or "" where none was pinned
	Err     error  // what the check said, where it was not a pin
}

func (e *CertificateError) Error() string {
	if e.Want != "" {
		return fmt.Sprintf("certificate of %s has changed: expected SHA-256 %s, seen %s", e.Address, e.Want, e.Seen)
	}
	return fmt.Sprintf("certificate of %s is not trusted (%v): its SHA-256 is %s", e.Address, e.Err, e.Seen)
}

// Unwrap gives what the check said.
func (e *CertificateError) Unwrap() error { return e.Err }

// trust is the TLS configuration of one source, and the fingerprint that was seen last.
type trust struct {
	config *tls.Config
	want   string // the pinned fingerprint, ""
	seen   atomic.Pointer[string]
	leaf   atomic.Pointer[x509.Certificate]
}

func (t *trust) fingerprint() string {
	if p := t.seen.Load(); p != nil {
		return *p
	}
	return ""
}

// newTrust makes the check that every connection of a source goes through: a pinned certificate is compared by its
// fingerprint alone (it may be self-signed or expired), else the authorities decide.
func newTrust(address string, s spec.TLS) (*trust, error) {
	t := &trust{config: &tls.Config{MinVersion: tls.VersionTLS12}}
	want := spec.NormalThumbprint(s.Thumbprint)
	t.want = want
	switch {
	case want != "" && !isThumbprint(want):
		return nil, fault.Hint(fault.Newf(fault.Blocked, fault.Refused, "source thumbprint is not a SHA-256 fingerprint"), "give 64 hex digits, with or without colons")
	case want != "":
		t.config.InsecureSkipVerify = true // the pin is checked below instead
	case s.CAFile != "":
		pem, err := os.ReadFile(s.CAFile)
		if err != nil {
			return nil, fault.New(fault.Blocked, fault.Refused, fmt.Errorf("certificate authorities: %w", err))
		}
		t.config.RootCAs = x509.NewCertPool()
		if !t.config.RootCAs.AppendCertsFromPEM(pem) {
			return nil, fault.Newf(fault.Blocked, fault.Refused, "certificate authorities: %s holds no PEM certificate", s.CAFile)
		}
	}
	t.config.VerifyConnection = func(cs tls.ConnectionState) error {
		if len(cs.PeerCertificates) == 0 {
			return errors.New("the endpoint showed no certificate")
		}
		seen := Thumbprint(cs.PeerCertificates[0])
		if want != "" && seen != want {
			return &CertificateError{Address: address, Seen: seen, Want: want}
		}
		t.seen.Store(&seen)
		t.leaf.Store(cs.PeerCertificates[0])
		return nil
	}
	return t, nil
}

// Thumbprint is the SHA-256 of a certificate in lower-case hex, as specs pin it.
func Thumbprint(c *x509.Certificate) string {
	sum := sha256.Sum256(c.Raw)
	return hex.EncodeToString(sum[:])
}

func isThumbprint(s string) bool {
	b, err := hex.DecodeString(s)
	return err == nil && len(b) == sha256.Size
}

// Fingerprint gives the SHA-256 of the certificate that the address shows now, without trusting it and without sending
// anything, for a person to compare with what the host's own console shows.
func Fingerprint(ctx context.Context, address string) (string, error) {
	u, err := endpoint(address)
	if err != nil {
		return "", err
	}
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	d := tls.Dialer{NetDialer: &net.Dialer{}, Config: &tls.Config{InsecureSkipVerify: true, MinVersion: tls.VersionTLS12}}
	conn, err := d.DialContext(ctx, "tcp", dialAddress(u))
	if err != nil {
		return "", failed(err, u.Host, "look at the certificate of %s", u.Host)
	}
	defer conn.Close()
	peers := conn.(*tls.Conn).ConnectionState().PeerCertificates
	if len(peers) == 0 {
		return "", fault.Newf(fault.Blocked, fault.Certificate, "look at the certificate of %s: it showed none", u.Host)
	}
	return Thumbprint(peers[0]), nil
}
