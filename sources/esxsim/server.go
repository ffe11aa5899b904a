package esxsim

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"log"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/types"
	"golang.org/x/time/rate"
)

// Server is a simulated host that answers.
type Server struct {
	cfg         Config
	dir         string
	temporary   bool
	svc         *simulator.Service
	vim         *simulator.Registry
	host        *simulator.HostSystem
	dc          *simulator.Datacenter
	stores      []*store
	networks    map[string]*network
	machines    []*machine // in the order of the configuration
	directories map[dsPath]bool
	taken       map[string]bool // configuration files and instance UUIDs

	mu      sync.Mutex
	byRef   map[types.ManagedObjectReference]*machine
	private map[types.ManagedObjectReference]map[*simulator.Registry]bool
	timers  map[*time.Timer]bool
	conns   map[net.Conn]bool
	leases  map[string]*lease
	hosts   map[string]*simulator.HostSystem // that VMs were moved to
	cert    *tls.Certificate
	tls     *tls.Config

	keeping  sync.Mutex // guards state
	ended    bool       // under keeping: nothing is written any more
	state    state
	script   script
	counters counting
	sessions sessions
	rate     atomic.Pointer[rate.Limiter]

	url     *url.URL
	front   *http.Server
	control *control
	nbd     net.Listener
	closing chan struct{}
	once    sync.Once
	serving sync.WaitGroup
}

// Start makes the host and serves it until Close, or until ctx ends.
func Start(ctx context.Context, cfg Config) (*Server, error) {
	cfg, err := cfg.withDefaults()
	if err != nil {
		return nil, fmt.Errorf("start simulated host: %w", err)
	}
	s := &Server{
		cfg: cfg, dir: cfg.Dir, directories: map[dsPath]bool{}, taken: map[string]bool{}, closing: make(chan struct{}),
		byRef:   map[types.ManagedObjectReference]*machine{},
		private: map[types.ManagedObjectReference]map[*simulator.Registry]bool{},
		timers:  map[*time.Timer]bool{}, conns: map[net.Conn]bool{}, leases: map[string]*lease{}, hosts: map[string]*simulator.HostSystem{},
		script: script{cleared: make(chan struct{})},
	}
	s.counters.reset()
	s.sessions = sessions{cfg: &s.cfg, now: time.Now, counters: &s.counters, byID: map[string]*session{}}
	s.SetRate(cfg.Rate)
	if err := s.start(); err != nil {
		s.Close()
		return nil, fmt.Errorf("start simulated host: %w", err)
	}
	context.AfterFunc(ctx, s.Close)
	return s, nil
}

func (s *Server) start() error {
	var err error
	if s.dir == "" {
		if s.dir, err = os.MkdirTemp("", "esxsim-"); err != nil {
			return err
		}
		s.temporary = true
	}
	if s.dir, err = filepath.Abs(s.dir); err != nil {
		return err
	}
	if err = os.MkdirAll(s.dir, 0o700); err != nil {
		return err
	}
	if s.state, err = loadState(s.dir); err != nil {
		return err
	}
	if s.cert, err = loadCertificate(s.certificateFile()); err != nil {
		return err
	}
	if err = s.inventory(); err != nil {
		return err
	}
	for _, v := range s.cfg.VMs {
		if err = s.place(v); err != nil {
			return err
		}
	}
	s.freeSpace()
	for _, m := range s.machines {
		if k := s.state.VMs[m.spec.InstanceUUID]; k != nil && k.Unregistered {
			s.withdraw(m)
			continue
		}
		for _, w := range m.spec.Writers {
			if err = s.SetWriter(m.spec.InstanceUUID, w); err != nil {
				return err
			}
		}
	}
	s.vim.SessionManager().ValidLogin = func(l *types.Login) bool { return s.sessions.check(l.UserName, l.Password) == nil }
	s.vim.Handler = s.handle
	if s.cfg.Control != "" {
		if s.control, err = s.startControl(s.cfg.Control); err != nil {
			return err
		}
	}
	if s.cfg.NBD != "" {
		if err = s.serveNBD(s.cfg.NBD); err != nil {
			return err
		}
	}
	return s.serve()
}

func (s *Server) serve() error {
	l, err := net.Listen("tcp", s.cfg.Listen)
	if err != nil {
		return err
	}
	s.url = &url.URL{Scheme: "https", User: url.UserPassword(s.cfg.User, s.cfg.Password), Host: l.Addr().String(), Path: "/sdk"}
	listen := *s.url
	s.svc.Listen = &listen
	protocols := []string{"http/1.1"}
	if s.cfg.HTTP2 {
		protocols = []string{"h2", "http/1.1"}
	}
	s.tls = &tls.Config{MinVersion: tls.VersionTLS12, NextProtos: protocols,
		GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) {
			s.mu.Lock()
			defer s.mu.Unlock()
			return s.cert, nil
		}}
	s.front = &http.Server{Handler: http.HandlerFunc(s.route), TLSConfig: s.tls, ErrorLog: log.New(s.cfg.Log, "", 0),
		ReadHeaderTimeout: time.Minute, ConnState: s.connState,
		ConnContext: func(ctx context.Context, c net.Conn) context.Context {
			if t, ok := c.(*tls.Conn); ok && !s.cfg.HTTP2 { // over HTTP/2 bodies share a connection
				if k, ok := t.NetConn().(*corked); ok {
					ctx = context.WithValue(ctx, corkKey{}, k)
				}
			}
			return ctx
		}}
	var p http.Protocols
	p.SetHTTP1(true)
	p.SetHTTP2(s.cfg.HTTP2)
	s.front.Protocols = &p
	s.serving.Go(func() { _ = s.front.Serve(tls.NewListener(corkListener{l}, s.tls)) })
	return nil
}

func (s *Server) route(w http.ResponseWriter, r *http.Request) {
	switch p := r.URL.Path; {
	case p == "/sdk", strings.HasPrefix(p, "/sdk/"):
		s.serveSDK(w, r)
	case p == "/folder", strings.HasPrefix(p, "/folder/"):
		s.serveFolder(w, r)
	case strings.HasPrefix(p, "/nfc/"):
		s.serveNFC(w, r)
	default:
		http.NotFound(w, r)
	}
}

func (s *Server) connState(c net.Conn, st http.ConnState) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch st {
	case http.StateNew:
		s.conns[c] = true
	case http.StateClosed, http.StateHijacked:
		delete(s.conns, c)
	}
}

// Close stops the host at once: connections break, delayed shutdowns of
// guests do not happen. Dir stays, unless it was a temporary one.
func (s *Server) Close() {
	s.once.Do(func() {
		close(s.closing)
		if s.front != nil {
			_ = s.front.Close()
		}
		s.control.close()
		s.closeNBD()
		s.mu.Lock()
		for t := range s.timers {
			t.Stop()
		}
		s.mu.Unlock()
		s.serving.Wait()
		s.keeping.Lock()
		s.ended = true
		s.keeping.Unlock()
		for _, m := range s.machines {
			if err := m.saveTracking(); err != nil {
				fmt.Fprintf(s.cfg.Log, "keep change tracking: %v\n", err)
			}
		}
		for _, st := range s.stores {
			_ = st.root.Close()
		}
		if s.temporary {
			_ = os.RemoveAll(s.dir)
		}
	})
}

// URL is the address of the API with user and password.
func (s *Server) URL() *url.URL {
	u := *s.url
	return &u
}

// Dir is where disks, certificate and state are.
func (s *Server) Dir() string { return s.dir }

// Certificate is the one that the host shows now.
func (s *Server) Certificate() *x509.Certificate {
	s.mu.Lock()
	der := s.cert.Certificate[0]
	s.mu.Unlock()
	c, err := x509.ParseCertificate(der)
	if err != nil {
		panic(err) // we made it
	}
	return c
}

// Fingerprint is the certificate's SHA-256, as AB:CD:….
func (s *Server) Fingerprint() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return fingerprint(s.cert.Certificate[0])
}

func (s *Server) certificateFile() string { return filepath.Join(s.dir, "tls.pem") }

// later runs f after d, unless the host is closed before.
func (s *Server) later(d time.Duration, f func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var t *time.Timer
	t = time.AfterFunc(d, func() {
		s.mu.Lock()
		delete(s.timers, t)
		s.mu.Unlock()
		select {
		case <-s.closing:
		default:
			f()
		}
	})
	s.timers[t] = true
}
