package trace

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

// token asks CDI for leave to upload into a claim.
func token(ctx context.Context, k kubernetes.Interface, namespace, claim string) (string, error) {
	body := fmt.Sprintf(`{"apiVersion":"upload.cdi.kubevirt.io/v1beta1","kind":"UploadTokenRequest","metadata":{"name":%q,"namespace":%q},"spec":{"pvcName":%q}}`, claim, namespace, claim)
	b, err := k.CoreV1().RESTClient().Post().AbsPath("/apis/upload.cdi.kubevirt.io/v1beta1/namespaces/"+namespace+"/uploadtokenrequests").
		SetHeader("Content-Type", "application/json").Body([]byte(body)).DoRaw(ctx)
	if err != nil {
		return "", fmt.Errorf("ask for an upload token: %w", err)
	}
	var a struct{ Status struct{ Token string } }
	if err := json.Unmarshal(b, &a); err != nil {
		return "", fmt.Errorf("ask for an upload token: %w", err)
	}
	if a.Status.Token == "" {
		return "", fmt.Errorf("ask for an upload token: there is none in %s", b)
	}
	return a.Status.Token, nil
}

// proxy is a client of the upload proxy that trusts CDI's own authority and nothing else.
func proxy(ctx context.Context, k kubernetes.Interface, namespace string) (*http.Client, string, error) {
	s, err := k.CoreV1().Services(namespace).Get(ctx, "cdi-uploadproxy", metav1.GetOptions{})
	if err != nil {
		return nil, "", err
	}
	m, err := k.CoreV1().ConfigMaps(namespace).Get(ctx, "cdi-uploadproxy-signer-bundle", metav1.GetOptions{})
	if err != nil {
		return nil, "", err
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM([]byte(m.Data["ca-bundle.crt"])) {
		return nil, "", errors.New("CDI's authority has no certificate")
	}
	name := "cdi-uploadproxy." + namespace + ".svc"
	var d net.Dialer
	return &http.Client{Transport: &http.Transport{
		TLSClientConfig: &tls.Config{RootCAs: pool, ServerName: name},
		DialContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
			return d.DialContext(ctx, network, net.JoinHostPort(s.Spec.ClusterIP, "443"))
		},
	}}, "https://" + name, nil
}

// send uploads, and gives what the proxy answered.
func send(ctx context.Context, c *http.Client, base, token string, body []byte) (string, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, base+"/v1beta1/upload-async", bytes.NewReader(body))
	if err != nil {
		return "", err
	}
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	a, err := c.Do(r)
	if err != nil {
		return "", fmt.Errorf("upload: %w", err)
	}
	defer a.Body.Close()
	b, err := io.ReadAll(io.LimitReader(a.Body, 4096))
	if err != nil {
		return "", fmt.Errorf("upload: %w", err)
	}
	return strings.TrimSpace(a.Status + " " + string(b)), nil
}
