package delivery

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"sync"
	"time"
)

const (
	certificateLife = 24 * time.Hour
	// authorityLife is longer than any engine runs; its key is never written anywhere and ends with the process.
	authorityLife = 2 * 365 * 24 * time.Hour
	// skew is how far the cluster's clocks may be behind ours.
	skew = time.Hour
)

// identity is an authority of our own and the certificate that it gave the server last.
type identity struct {
	host      string
	now       func() time.Time
	authority []byte // PEM
	ca        *x509.Certificate
	key       *ecdsa.PrivateKey

	mu      sync.Mutex
	current *tls.Certificate
	renew   time.Time
}

func newIdentity(host string, now func() time.Time) (*identity, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("make an authority: %w", err)
	}
	t := &x509.Certificate{
		SerialNumber: serial(), Subject: pkix.Name{CommonName: "landfall delivery"},
		NotBefore: now().Add(-skew), NotAfter: now().Add(authorityLife),
		IsCA: true, BasicConstraintsValid: true, MaxPathLenZero: true, KeyUsage: x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, t, t, key.Public(), key)
	if err != nil {
		return nil, fmt.Errorf("make an authority: %w", err)
	}
	ca, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, fmt.Errorf("make an authority: %w", err)
	}
	return &identity{host: host, now: now, ca: ca, key: key, authority: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})}, nil
}

func serial() *big.Int {
	n, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120))
	if err != nil {
		panic(err) // crypto/rand does not fail
	}
	return n.Add(n, big.NewInt(1))
}

// certificate gives the server's certificate, a new one when half of its life is over.
func (i *identity) certificate(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	now := i.now()
	if i.current != nil && now.Before(i.renew) {
		return i.current, nil
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("make a certificate for %s: %w", i.host, err)
	}
	t := &x509.Certificate{
		SerialNumber: serial(), Subject: pkix.Name{CommonName: "landfall"},
		NotBefore: now.Add(-skew), NotAfter: now.Add(certificateLife),
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	if ip := net.ParseIP(i.host); ip != nil {
		t.IPAddresses = []net.IP{ip}
	} else {
		t.DNSNames = []string{i.host}
	}
	der, err := x509.CreateCertificate(rand.Reader, t, i.ca, key.Public(), i.key)
	if err != nil {
		return nil, fmt.Errorf("make a certificate for %s: %w", i.host, err)
	}
	i.current = &tls.Certificate{Certificate: [][]byte{der, i.ca.Raw}, PrivateKey: key}
	i.renew = now.Add(certificateLife / 2)
	return i.current, nil
}
