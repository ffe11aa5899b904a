package kubesim

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"syscall"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	virtv1 "kubevirt.io/api/core/v1"
)

var (
	errRefused error = syscall.ECONNREFUSED
	errNoRoute error = syscall.EHOSTUNREACH
)

// serveTunnel is the way of the API server to pods: its proxy for services and pods, and port forwarding.
func (s *Server) serveTunnel(w http.ResponseWriter, r *request) {
	if r.sub == "portforward" && r.kind == &pods {
		s.portForward(w, r)
		return
	}
	scheme, n, port, ok := splitTarget(r.name)
	if !ok || r.sub != "proxy" {
		notServed(w)
		return
	}
	var ip string
	var number int
	var err error
	switch r.kind {
	case &services:
		ip, number, err = s.serviceAddress(r.namespace, n, port)
	case &pods:
		ip, number, err = s.podAddress(r.namespace, n, port)
	default:
		notServed(w)
		return
	}
	if err != nil {
		writeError(w, err)
		return
	}
	target := &url.URL{Scheme: scheme, Host: net.JoinHostPort(ip, strconv.Itoa(number)), Path: "/"}
	path, err := url.PathUnescape(r.rest)
	if err != nil {
		writeError(w, apierrors.NewBadRequest(err.Error()))
		return
	}
	proxy := &httputil.ReverseProxy{
		Rewrite: func(p *httputil.ProxyRequest) {
			p.Out.URL.Scheme, p.Out.URL.Host, p.Out.Host = target.Scheme, target.Host, target.Host
			p.Out.URL.Path, p.Out.URL.RawPath = path, ""
			p.SetXForwarded()
		},
		Transport: &http.Transport{DialContext: s.dialPod, DisableKeepAlives: true, TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}, // as the API server does
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, err error) {
			writeError(w, apierrors.NewServiceUnavailable(fmt.Sprintf("error trying to reach service: %v", err)))
		},
	}
	proxy.ServeHTTP(w, r.Request)
}

// splitTarget reads [scheme:]name[:port].
func splitTarget(text string) (scheme, name, port string, ok bool) {
	parts := strings.Split(text, ":")
	switch len(parts) {
	case 1:
		return "http", parts[0], "", true
	case 2:
		return "http", parts[0], parts[1], true
	case 3:
		if parts[0] == "" {
			parts[0] = "http"
		}
		return parts[0], parts[1], parts[2], parts[0] == "http" || parts[0] == "https"
	}
	return "", "", "", false
}

// serviceAddress finds a ready endpoint of a service, by the rules of the API server: the port is a name, or a number
// that the service declares.
func (s *Server) serviceAddress(ns, n, port string) (ip string, number int, err error) {
	err = s.store.do(func(t tx) error {
		svc := t.get(&services, ns, n)
		if svc == nil {
			return apierrors.NewNotFound(services.gr(), n)
		}
		if want, err := strconv.Atoi(port); err == nil {
			found := false
			for _, p := range objects(at(svc, "spec", "ports")) {
				if p["port"] == int64(want) {
					port, found = str(p, "name"), true
				}
			}
			if !found {
				return apierrors.NewServiceUnavailable(fmt.Sprintf("no service port %d found for service %q", want, n))
			}
		}
		for _, subset := range objects(at(t.get(&endpoints, ns, n), "subsets")) {
			addresses := objects(subset["addresses"])
			for _, p := range objects(subset["ports"]) {
				if str(p, "name") == port && len(addresses) > 0 {
					v, _ := p["port"].(int64)
					ip, number = str(addresses[0], "ip"), int(v)
					return nil
				}
			}
		}
		return apierrors.NewServiceUnavailable(fmt.Sprintf("no endpoints available for service %q", n))
	})
	return ip, number, err
}

func (s *Server) podAddress(ns, n, port string) (ip string, number int, err error) {
	err = s.store.do(func(t tx) error {
		p := t.get(&pods, ns, n)
		if p == nil {
			return apierrors.NewNotFound(pods.gr(), n)
		}
		if ip = str(p, "status", "podIP"); ip == "" {
			return apierrors.NewBadRequest("address not allowed")
		}
		return nil
	})
	if port == "" {
		return ip, 80, err
	}
	number, perr := strconv.Atoi(port)
	if perr != nil && err == nil {
		err = apierrors.NewBadRequest(fmt.Sprintf("invalid port %q", port))
	}
	return ip, number, err
}

// dialPod is the pod network.
func (s *Server) dialPod(ctx context.Context, _, address string) (net.Conn, error) {
	host, text, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	port, err := strconv.Atoi(text)
	if err != nil {
		return nil, err
	}
	conn, err := s.connect(ctx, host, port)
	if err != nil {
		return nil, &net.OpError{Op: "dial", Net: "tcp", Addr: &net.TCPAddr{IP: net.ParseIP(host), Port: port}, Err: err}
	}
	return conn, nil
}

func (s *Server) connect(ctx context.Context, ip string, port int) (net.Conn, error) {
	var backend string
	var page http.Handler
	err := s.store.do(func(t tx) error {
		for _, p := range t.list(&pods, "") {
			if str(p, "status", "podIP") != ip || str(p, "status", "phase") != "Running" {
				continue
			}
			if labels(p)["cdi.kubevirt.io"] == uploadProxyName {
				if port != uploadPort {
					return errRefused
				}
				backend = s.upload.addr()
				return nil
			}
			o := t.get(&instances, namespace(p), labels(p)[virtv1.DeprecatedVirtualMachineNameLabel])
			if o == nil || str(o, "status", "phase") != "Running" {
				return errRefused
			}
			if backend = s.guests.backend(place{namespace(o), name(o)}); backend != "" {
				return nil
			}
			vmi, err := typed[virtv1.VirtualMachineInstance](o)
			if err != nil {
				return err
			}
			g := s.guests.of(uid(o))
			if g == nil {
				return errRefused
			}
			if err := g.answers(vmi, port); err != nil {
				return err
			}
			page = g.disk
			return nil
		}
		return errNoRoute
	})
	switch {
	case err != nil:
		return nil, err
	case backend != "":
		return new(net.Dialer).DialContext(ctx, "tcp", backend)
	}
	return serveOne(page), nil
}

// serveOne is a connection to a handler that is in this process.
func serveOne(h http.Handler) net.Conn {
	near, far := net.Pipe()
	l := &oneListener{conns: make(chan net.Conn, 1), over: make(chan struct{})}
	l.conns <- far
	go http.Serve(l, h)
	return &tied{Conn: near, l: l}
}

// oneListener hands out one connection and then waits to be closed.
type oneListener struct {
	conns chan net.Conn
	over  chan struct{}
	once  sync.Once
}

func (l *oneListener) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.over:
		return nil, net.ErrClosed
	}
}

func (l *oneListener) Close() error {
	l.once.Do(func() { close(l.over) })
	return nil
}

func (l *oneListener) Addr() net.Addr { return &net.TCPAddr{} }

// tied closes the listener with the connection.
type tied struct {
	net.Conn
	l *oneListener
}

func (t *tied) Close() error {
	t.l.Close()
	return t.Conn.Close()
}

func (g *guests) backend(p place) string {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.backends[p]
}
