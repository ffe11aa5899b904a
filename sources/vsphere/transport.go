package vsphere

import (
	"bufio"
	"context"
	"crypto/tls"
	"mime"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// newTransport makes connections that speak HTTP/1.1 alone: disk ranges go faster over several connections than over
// the one of HTTP/2, and a lost connection costs one range.
func newTransport(tr *trust, o Options, idle int) *http.Transport {
	dialer := &net.Dialer{Timeout: o.DialTimeout, KeepAlive: 30 * time.Second}
	return &http.Transport{
		Proxy: http.ProxyFromEnvironment,
		DialContext: func(ctx context.Context, network, addr string) (net.Conn, error) {
			conn, err := dialer.DialContext(ctx, network, addr)
			if err != nil {
				return nil, err
			}
			return &bufferedConn{Conn: conn, r: bufio.NewReaderSize(conn, connBuffer)}, nil
		},
		TLSClientConfig:       tr.config.Clone(),
		TLSHandshakeTimeout:   o.DialTimeout,
		ResponseHeaderTimeout: o.HeaderTimeout,
		IdleConnTimeout:       90 * time.Second,
		MaxIdleConnsPerHost:   idle,
		MaxIdleConns:          idle,
		DisableCompression:    true,
		TLSNextProto:          map[string]func(string, *tls.Conn) http.RoundTripper{},
	}
}

// connBuffer is read from the socket at once. TLS asks for one record of 16 KiB at a time; without this buffer each
// costs a system call.
const connBuffer = 256 << 10

type bufferedConn struct {
	net.Conn
	r *bufio.Reader
}

func (c *bufferedConn) Read(p []byte) (int, error) { return c.r.Read(p) }

// apiTransport turns answers that are no SOAP into a typed error, before the SOAP client makes a text of them.
type apiTransport struct{ http.RoundTripper }

func (t apiTransport) RoundTrip(req *http.Request) (*http.Response, error) {
	res, err := t.RoundTripper.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	if res.StatusCode == http.StatusOK || res.StatusCode == http.StatusInternalServerError && isXML(res) {
		return res, nil
	}
	e := &statusError{code: res.StatusCode, wait: retryAfter(res.Header, time.Now())}
	_ = res.Body.Close()
	return nil, e
}

func isXML(res *http.Response) bool {
	kind, _, _ := mime.ParseMediaType(res.Header.Get("Content-Type"))
	return strings.HasSuffix(kind, "xml")
}

// retryAfter reads how long the other side asks us to wait: seconds, or a date. More than an hour is not believed.
func retryAfter(h http.Header, now time.Time) time.Duration {
	v := strings.TrimSpace(h.Get("Retry-After"))
	if v == "" {
		return 0
	}
	var d time.Duration
	if n, err := strconv.ParseInt(v, 10, 32); err == nil {
		d = time.Duration(n) * time.Second
	} else if at, err := http.ParseTime(v); err == nil {
		d = at.Sub(now)
	}
	return min(max(d, 0), time.Hour)
}
