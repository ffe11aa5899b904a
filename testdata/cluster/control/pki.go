package control

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"time"
)

// Authority signs the lab's certificates. It lives as long as the lab's run.
type Authority struct {
	dir  string
	cert *x509.Certificate
	key  crypto.Signer
}

// OpenAuthority takes the authority in the folder, or makes one.
func OpenAuthority(dir string) (*Authority, error) {
	a := &Authority{dir: dir}
	pair, err := load(filepath.Join(dir, "ca.crt"), filepath.Join(dir, "ca.key"))
	if errors.Is(err, os.ErrNotExist) {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return nil, err
		}
		if err := a.issue("ca", &x509.Certificate{
			Subject: pkix.Name{CommonName: "cluster lab"}, IsCA: true, BasicConstraintsValid: true,
			KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
		}); err != nil {
			return nil, err
		}
		pair, err = load(filepath.Join(dir, "ca.crt"), filepath.Join(dir, "ca.key"))
	}
	if err != nil {
		return nil, fmt.Errorf("open the lab's authority: %w", err)
	}
	a.cert, a.key = pair.cert, pair.key
	return a, nil
}

// Path is a file of the authority's folder, "ca.crt" for its certificate.
func (a *Authority) Path(name string) string { return filepath.Join(a.dir, name) }

// CA is the authority's certificate in PEM.
func (a *Authority) CA() []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: a.cert.Raw})
}

// Issue makes NAME.crt and NAME.key for a subject that serves under the hosts and is a client of the groups, unless they are
// there.
func (a *Authority) Issue(name, common string, groups []string, hosts ...string) (crt, key string, err error) {
	crt, key = a.Path(name+".crt"), a.Path(name+".key")
	if _, err := load(crt, key); err == nil {
		return crt, key, nil
	}
	c := &x509.Certificate{
		Subject:     pkix.Name{CommonName: common, Organization: groups},
		KeyUsage:    x509.KeyUsageDigitalSignature | x509.KeyUsageKeyEncipherment,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	for _, h := range hosts {
		if ip := net.ParseIP(h); ip != nil {
			c.IPAddresses = append(c.IPAddresses, ip)
		} else {
			c.DNSNames = append(c.DNSNames, h)
		}
	}
	return crt, key, a.issue(name, c)
}

func (a *Authority) issue(name string, c *x509.Certificate) error {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	if c.SerialNumber, err = rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 100)); err != nil {
		return err
	}
	c.NotBefore, c.NotAfter = time.Now().Add(-time.Hour), time.Now().AddDate(1, 0, 0)
	parent, signer := a.cert, a.key
	if parent == nil {
		parent, signer = c, crypto.Signer(key)
	}
	der, err := x509.CreateCertificate(rand.Reader, c, parent, key.Public(), signer)
	if err != nil {
		return err
	}
	k, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return err
	}
	return errors.Join(
		os.WriteFile(a.Path(name+".key"), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: k}), 0o600),
		os.WriteFile(a.Path(name+".crt"), pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o600),
	)
}

// accountKey makes the key that signs the tokens of service accounts, unless it is there.
func (a *Authority) accountKey() (string, error) {
	path := a.Path("accounts.key")
	if _, err := os.Stat(path); err == nil {
		return path, nil
	}
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		return "", err
	}
	b := pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(key)})
	return path, os.WriteFile(path, b, 0o600)
}

type pair struct {
	cert *x509.Certificate
	key  crypto.Signer
}

func load(crt, key string) (p pair, err error) {
	var der [2][]byte
	for i, path := range []string{crt, key} {
		b, err := os.ReadFile(path)
		if err != nil {
			return p, err
		}
		block, _ := pem.Decode(b)
		if block == nil {
			return p, fmt.Errorf("%s is no PEM", path)
		}
		der[i] = block.Bytes
	}
	if p.cert, err = x509.ParseCertificate(der[0]); err != nil {
		return p, err
	}
	k, err := x509.ParsePKCS8PrivateKey(der[1])
	if err != nil {
		return p, err
	}
	p.key, _ = k.(crypto.Signer)
	return p, nil
}
