package kubevirt

import (
	"context"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/hex"
	"errors"
	"os"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	cdi "kubevirt.io/containerized-data-importer-api/pkg/apis/core/v1beta1"

	"landfall/engine/fault"
	"landfall/engine/spec"
)

func fingerprint(c *x509.Certificate) string {
	h := sha256.Sum256(c.Raw)
	return hex.EncodeToString(h[:])
}

// trust says whom the upload proxy must be: exactly the pinned certificate, else one that the given file's authorities
// signed, else one that CDI's own or the system's authorities signed. There is no way to trust anyone.
func (t *Target) trust(ctx context.Context, proxy endpoint, config *cdi.CDIConfig) (*tls.Config, error) {
	c := &tls.Config{MinVersion: tls.VersionTLS12, ServerName: proxy.serverName, NextProtos: []string{"http/1.1"}}
	s := t.dest.UploadProxy.TLS
	if s.Thumbprint != "" {
		pin(c, spec.NormalThumbprint(s.Thumbprint), proxy.name)
		return c, nil
	}
	var pem []byte
	switch {
	case s.CAFile != "":
		b, err := os.ReadFile(s.CAFile)
		if err != nil {
			return nil, fault.New(fault.Blocked, fault.Certificate, err)
		}
		pem = b
	default:
		pem = t.cdiAuthorities(ctx, proxy, config)
	}
	if len(pem) == 0 {
		return c, nil // the system's
	}
	c.RootCAs = x509.NewCertPool()
	if s.CAFile == "" && !proxy.inCluster {
		// A proxy behind an ingress shows the ingress's certificate, which may be a public one.
		if system, err := x509.SystemCertPool(); err == nil {
			c.RootCAs = system
		}
	}
	if !c.RootCAs.AppendCertsFromPEM(pem) {
		return nil, fault.Newf(fault.Blocked, fault.Certificate, "authorities for the upload proxy %s: no certificate in them", proxy.name)
	}
	return c, nil
}

// pin accepts one certificate and no other; both fingerprints are shown when it is another.
func pin(c *tls.Config, want, name string) {
	c.InsecureSkipVerify = true // the comparison below takes the place of the chain
	c.VerifyConnection = func(s tls.ConnectionState) error {
		if len(s.PeerCertificates) == 0 {
			return fault.Newf(fault.Blocked, fault.Certificate, "the upload proxy %s showed no certificate", name)
		}
		if got := fingerprint(s.PeerCertificates[0]); got != want {
			return fault.Hint(fault.Newf(fault.Blocked, fault.Certificate, "the upload proxy %s shows a certificate with SHA-256 %s, pinned is %s", name, got, want),
				"if the certificate was renewed, check the new fingerprint with the cluster's people and set spec.destination.uploadProxy.tls.thumbprint")
		}
		return nil
	}
}

// cdiAuthorities are those that CDI publishes for its upload proxy, as far as they may be read.
func (t *Target) cdiAuthorities(ctx context.Context, proxy endpoint, config *cdi.CDIConfig) []byte {
	var pem []byte
	if config != nil && config.Status.UploadProxyCA != nil {
		pem = append(pem, *config.Status.UploadProxyCA...)
	}
	if proxy.namespace == "" {
		return pem
	}
	m, err := t.core.ConfigMaps(proxy.namespace).Get(ctx, "cdi-uploadproxy-signer-bundle", metav1.GetOptions{})
	if err == nil {
		pem = append(append(pem, '\n'), m.Data["ca-bundle.crt"]...)
	}
	return pem
}

// untrusted says what a proxy showed that was not trusted, so that a person can pin it.
func untrusted(proxy endpoint, err error) error {
	var v *tls.CertificateVerificationError
	if !errors.As(err, &v) || len(v.UnverifiedCertificates) == 0 {
		return err
	}
	return fault.Hint(fault.Newf(fault.Blocked, fault.Certificate, "the upload proxy %s shows a certificate that is not trusted (SHA-256 %s): %w", proxy.name, fingerprint(v.UnverifiedCertificates[0]), err),
		"name its authority in spec.destination.uploadProxy.tls.caFile, or, after checking it with the cluster's people, pin the certificate in spec.destination.uploadProxy.tls.thumbprint")
}
