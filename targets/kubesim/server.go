package kubesim

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/util/sets"
)

// Server is a running cluster.
type Server struct {
	cfg      Config
	ctx      context.Context
	stop     context.CancelFunc
	wait     sync.WaitGroup // everything that works for the cluster, calls included
	closing  sync.Mutex
	closed   bool
	store    *store
	faults   *faults
	counters *counters
	pacer    *pacer
	jobs     *jobs
	uploads  *uploads
	guests   *guests
	nudge    chan struct{}

	users    []User
	accessMu sync.Mutex
	denied   []Rule

	ca, uploadCA *authority
	tokenKey     string
	tokenSerial  atomic.Int64
	tokenCut     atomic.Int64

	api, upload *door
}

// Start brings the cluster up, as it was left if Dir has been used before. It runs until Close, or until ctx is done.
func Start(ctx context.Context, cfg Config) (*Server, error) {
	cfg.setDefaults()
	if err := cfg.check(); err != nil {
		return nil, err
	}
	s := &Server{
		cfg: cfg, store: newStore(cfg.History, cfg.Now), faults: newFaults(), counters: newCounters(), nudge: make(chan struct{}, 1),
		pacer:   &pacer{pace: cfg.Pace, due: map[string]time.Time{}},
		jobs:    &jobs{active: map[string]*job{}, sizes: map[string]int64{}},
		uploads: &uploads{active: map[string]context.CancelFunc{}},
		guests:  &guests{active: map[string]*guest{}, backends: map[place]string{}},
	}
	s.ctx, s.stop = context.WithCancel(ctx)
	if err := s.prepare(); err != nil {
		s.Close()
		return nil, fmt.Errorf("start simulated cluster: %w", err)
	}
	s.store.view(s.seed)
	s.wait.Add(1)
	go s.play()
	s.api.serve(s.tracked(s), s.ctx)
	s.upload.serve(s.tracked(s.uploadProxy()), s.ctx)
	context.AfterFunc(s.ctx, func() { s.Close() })
	return s, nil
}

func (s *Server) prepare() error {
	var err error
	now := s.cfg.Now()
	identity := filepath.Join(s.cfg.Dir, "identity")
	if s.ca, err = loadAuthority(identity, "kubesim-ca", now); err != nil {
		return err
	}
	if s.uploadCA, err = loadAuthority(identity, "cdi-uploadproxy-signer", now); err != nil {
		return err
	}
	if s.tokenKey, err = loadSecret(identity, "token-key"); err != nil {
		return err
	}
	s.tokenSerial.Store(now.UnixNano()) // goes on counting after a restart
	names := sets.New[string]()
	for i, u := range s.cfg.Users {
		if u.Name == "" || strings.ContainsAny(u.Name, "/\\") || names.Has(u.Name) {
			return fmt.Errorf("user %d is called %q; users need names of their own, without slashes", i, u.Name)
		}
		names.Insert(u.Name)
		if u.Token == "" {
			if u.Token, err = loadSecret(identity, "user-"+u.Name); err != nil {
				return err
			}
		}
		s.users = append(s.users, u)
	}
	if err := s.store.open(filepath.Join(s.cfg.Dir, "journal")); err != nil {
		return err
	}
	cert, err := s.ca.issue(now, "kubernetes", "kubernetes.default.svc")
	if err != nil {
		return err
	}
	if s.api, err = openDoor(identity, "api", s.cfg.Address, cert); err != nil {
		return err
	}
	if cert, err = s.uploadCA.issue(now, uploadProxyName, uploadProxyName+"."+cdiNamespace+".svc"); err != nil {
		return err
	}
	s.upload, err = openDoor(identity, "upload", "", cert)
	return err
}

// tracked lets Close wait for the calls that are under way.
func (s *Server) tracked(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.closing.Lock()
		if s.closed {
			s.closing.Unlock()
			panic(http.ErrAbortHandler)
		}
		s.wait.Add(1)
		s.closing.Unlock()
		defer s.wait.Done()
		h.ServeHTTP(w, r)
	})
}

// URL is the address of the API.
func (s *Server) URL() string { return "https://" + s.api.addr() }

// UploadURL is the address of the upload proxy.
func (s *Server) UploadURL() string { return "https://" + s.upload.addr() }

// CA and UploadCA are the certificates, in PEM, that vouch for the API and for the upload proxy.
func (s *Server) CA() []byte       { return s.ca.pem }
func (s *Server) UploadCA() []byte { return s.uploadCA.pem }

// Close stops the cluster and waits for it. It may be called again. The error is what could not be kept.
func (s *Server) Close() error {
	s.stop()
	s.closing.Lock()
	s.closed = true
	s.closing.Unlock()
	for _, d := range []*door{s.api, s.upload} {
		if d != nil {
			d.close()
		}
	}
	s.wait.Wait()
	s.store.mu.Lock()
	defer s.store.mu.Unlock()
	j := s.store.journal
	if j == nil {
		return nil
	}
	s.store.journal = nil
	return errors.Join(j.err, j.file.Close())
}

// TrimHistory forgets all changes up to now: a watch that wants to go on from before gets 410 Expired.
func (s *Server) TrimHistory() {
	s.store.mu.Lock()
	defer s.store.mu.Unlock()
	s.store.trim(0)
}

// SetPace changes how fast the controllers go.
func (s *Server) SetPace(pace time.Duration) {
	s.store.mu.Lock()
	s.pacer.pace = pace
	s.store.mu.Unlock()
	s.wake()
}

// door is an HTTPS listener that comes back on its old port after a restart.
type door struct {
	listener net.Listener
	server   *http.Server
}

func openDoor(dir, name, address string, cert tls.Certificate) (*door, error) {
	memory := filepath.Join(dir, "port-"+name)
	try := []string{address}
	if address == "" {
		try = []string{"127.0.0.1:0"}
		if last, err := os.ReadFile(memory); err == nil {
			try = []string{string(last), "127.0.0.1:0"}
		}
	}
	var l net.Listener
	var err error
	for _, a := range try {
		if l, err = net.Listen("tcp", a); err == nil {
			break
		}
	}
	if err != nil {
		return nil, fmt.Errorf("listen for %s: %w", name, err)
	}
	if err := writeFile(memory, []byte(l.Addr().String())); err != nil {
		l.Close()
		return nil, fmt.Errorf("remember the port of %s: %w", name, err)
	}
	server := &http.Server{
		TLSConfig: &tls.Config{Certificates: []tls.Certificate{cert}, MinVersion: tls.VersionTLS12},
		ErrorLog:  log.New(io.Discard, "", 0),
	}
	return &door{l, server}, nil
}

func (d *door) serve(h http.Handler, ctx context.Context) {
	d.server.Handler = h
	d.server.BaseContext = func(net.Listener) context.Context { return ctx }
	go d.server.ServeTLS(d.listener, "", "")
}

func (d *door) addr() string { return d.listener.Addr().String() }

func (d *door) close() {
	d.server.Close()
	d.listener.Close()
}
