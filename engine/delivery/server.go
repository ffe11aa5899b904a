// Package delivery serves disk images over HTTPS to a cluster that fetches them itself. Only what is offered is served,
// only to who knows its password, and only for as long as it is offered. It must not know clusters, sources or artifacts: an
// image is a reader and a size.
package delivery

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"syscall"
	"time"

	"landfall/engine/fault"
	"landfall/engine/secret"
)

// Server serves what is offered until it is closed.
type Server struct {
	base string
	ids  *identity
	http *http.Server
	done chan struct{}

	mu     sync.Mutex
	offers map[string]*image
}

// Offer is where an image is fetched, and with what.
type Offer struct {
	URL      string
	Username string
	Password secret.Secret
	CA       []byte // PEM: the authority that signed the server's certificate
}

type image struct {
	offer Offer
	r     io.ReaderAt
	size  int64
}

// Start listens on the port of address, "host:port", where host is the name or address by which the cluster reaches this
// machine and for which the certificate is made. Port 0 takes a free one.
func Start(address string, now func() time.Time) (*Server, error) {
	host, port, err := net.SplitHostPort(address)
	if err != nil || host == "" {
		return nil, fault.Newf(fault.Blocked, "ServeAddress", "serve images: %q is not host:port", address)
	}
	l, err := listen(host, port)
	if err != nil {
		return nil, fault.Hint(fault.New(fault.Blocked, "ServeAddress", fmt.Errorf("serve images on %s: %w", address, err)),
			"choose another port in spec.destination.serveAddress, or end what uses this one")
	}
	ids, err := newIdentity(host, now)
	if err != nil {
		_ = l.Close()
		return nil, fmt.Errorf("serve images on %s: %w", address, err)
	}
	_, port, _ = net.SplitHostPort(l.Addr().String())
	s := &Server{base: "https://" + net.JoinHostPort(host, port), ids: ids, offers: map[string]*image{}, done: make(chan struct{})}
	s.http = &http.Server{
		Handler: s, ReadHeaderTimeout: 10 * time.Second, IdleTimeout: 2 * time.Minute, MaxHeaderBytes: 16 << 10,
		ErrorLog:  log.New(io.Discard, "", 0), // a stranger's handshake is no news
		TLSConfig: &tls.Config{MinVersion: tls.VersionTLS12, GetCertificate: ids.certificate, NextProtos: []string{"http/1.1"}},
	}
	go func() {
		defer close(s.done)
		_ = s.http.ServeTLS(l, "", "")
	}()
	return s, nil
}

// listen takes the address itself where it is this machine's; where it is another's that leads here, all addresses.
func listen(host, port string) (net.Listener, error) {
	l, err := net.Listen("tcp", net.JoinHostPort(host, port))
	var dns *net.DNSError
	if errors.Is(err, syscall.EADDRNOTAVAIL) || errors.As(err, &dns) {
		return net.Listen("tcp", net.JoinHostPort("", port))
	}
	return l, err
}

// Offer serves an image under a name such as "uid/disk-0". Offered again, it keeps its password, and what is read from then
// on is the new reader. A reader that fails ends the transfer short of the promised length.
func (s *Server) Offer(name string, r io.ReaderAt, size int64) Offer {
	s.mu.Lock()
	defer s.mu.Unlock()
	i := s.offers[name]
	if i == nil {
		i = &image{offer: Offer{URL: s.base + path(name), Username: "landfall", Password: secret.New(rand.Text()), CA: s.ids.authority}}
		s.offers[name] = i
	}
	i.r, i.size = r, size
	return i.offer
}

// path gives the URL's path of a name, the same after every start.
func path(name string) string {
	var b strings.Builder
	for _, seg := range strings.Split(name, "/") {
		b.WriteString("/" + url.PathEscape(seg))
	}
	return b.String()
}

// Withdraw ends an offer. What is being read goes on to its end.
func (s *Server) Withdraw(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.offers, name)
}

// ServeHTTP gives an image, or a range of it, to who may have it. A stranger does not learn what is offered.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		http.Error(w, "only GET and HEAD", http.StatusMethodNotAllowed)
		return
	}
	i, ok := s.lookup(r)
	if !ok {
		w.Header().Set("WWW-Authenticate", `Basic realm="landfall"`)
		http.Error(w, "not for you", http.StatusUnauthorized)
		return
	}
	w.Header().Set("Content-Type", "application/octet-stream")
	w.Header().Set("Cache-Control", "no-store")
	http.ServeContent(w, r, "", time.Time{}, io.NewSectionReader(i.r, 0, i.size))
}

func (s *Server) lookup(r *http.Request) (image, bool) {
	user, password, _ := r.BasicAuth()
	name := strings.TrimPrefix(r.URL.Path, "/")
	s.mu.Lock()
	var i image
	if known := s.offers[name]; known != nil {
		i = *known
	}
	s.mu.Unlock()
	// Digests are of one length, so that the comparison takes the same time for every guess.
	want := sha256.Sum256([]byte(i.offer.Username + ":" + i.offer.Password.Reveal()))
	got := sha256.Sum256([]byte(user + ":" + password))
	same := subtle.ConstantTimeCompare(want[:], got[:]) == 1
	return i, same && i.r != nil
}

// Close stops serving; what is being read breaks off.
func (s *Server) Close() error {
	err := s.http.Close()
	<-s.done
	return err
}

// Drain stops serving when what is being read has come to its end, or when ctx is done.
func (s *Server) Drain(ctx context.Context) error {
	if err := s.http.Shutdown(ctx); err != nil {
		return errors.Join(err, s.Close())
	}
	<-s.done
	return nil
}
