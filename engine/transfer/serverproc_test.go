package transfer_test

import (
	"bufio"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strconv"
	"strings"
)

// With this set the test binary is an HTTPS server with ranges for a disk of so many bytes, until its input ends.
const serverVar = "LANDFALL_TRANSFER_SERVER"

func serveProcess() int {
	size, err := strconv.ParseInt(os.Getenv(serverVar), 10, 64)
	if err != nil {
		return 1
	}
	data := content(4*mib, 3)
	s := &rangeServer{size: size, at: func(off int64, p []byte) {
		clear(p)
		if at := off % (16 * mib); at < 4*mib {
			copy(p, data[at:])
		}
	}}
	s.Server = httptest.NewTLSServer(http.HandlerFunc(s.serve))
	block := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw})
	fmt.Printf("%s\n%s\n", s.URL, block)
	_, _ = io.Copy(io.Discard, os.Stdin)
	return 0
}

// answer is what such a process says of itself.
type answer struct {
	url   string
	roots *x509.CertPool
}

func readAnswer(r io.Reader) (answer, error) {
	a := answer{roots: x509.NewCertPool()}
	var cert strings.Builder
	for lines := bufio.NewScanner(r); lines.Scan(); {
		if a.url == "" {
			a.url = lines.Text()
			continue
		}
		cert.WriteString(lines.Text() + "\n")
		if strings.Contains(lines.Text(), "END CERTIFICATE") && a.roots.AppendCertsFromPEM([]byte(cert.String())) {
			return a, nil
		}
	}
	return a, io.ErrUnexpectedEOF
}

func (a answer) client() *http.Client {
	return &http.Client{Transport: &http.Transport{
		TLSClientConfig:     &tls.Config{RootCAs: a.roots},
		TLSNextProto:        map[string]func(string, *tls.Conn) http.RoundTripper{},
		MaxIdleConnsPerHost: 16,
	}}
}
