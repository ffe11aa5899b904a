package kubesim

import (
	"context"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"
)

// Control is how another process steers the cluster: plain HTTP on loopback, with a token of its own. Remote is its client.
type Control struct {
	s        *Server
	token    string
	listener net.Listener
	server   *http.Server
}

// Control opens the control endpoint; it closes with the server.
func (s *Server) Control() (*Control, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("open control endpoint: %w", err)
	}
	c := &Control{s: s, token: randomText(), listener: l}
	c.server = &http.Server{Handler: c}
	go c.server.Serve(l)
	context.AfterFunc(s.ctx, func() { c.server.Close() })
	return c, nil
}

// URL and Token are what Dial needs.
func (c *Control) URL() string   { return "http://" + c.listener.Addr().String() }
func (c *Control) Token() string { return c.token }

type (
	forceBody   struct{ Namespace, Name, Phase string }
	backendBody struct{ Namespace, VMI, Address string }
	paceBody    struct{ Pace time.Duration }
	guestBody   struct {
		GuestState
		Running bool `json:"running"`
	}
)

func (c *Control) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if subtle.ConstantTimeCompare([]byte(r.Header.Get("Authorization")), []byte("Bearer "+c.token)) != 1 {
		http.Error(w, "the control token is missing or wrong", http.StatusUnauthorized)
		return
	}
	answer, err := c.act(r)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	writeJSON(w, http.StatusOK, answer)
}

var errNoSuchControl = errors.New("no such control; there are PUT and GET faults, DELETE faults, PUT force, PUT deny, PUT backend, PUT pace, POST tokens/expire, POST history/trim, GET counters, GET volumes, GET guest")

func (c *Control) act(r *http.Request) (any, error) {
	s, q := c.s, r.URL.Query()
	nothing := struct{}{}
	switch r.Method + " " + r.URL.Path {
	case "PUT /faults":
		var list []Fault
		err := read(r, &list)
		if err == nil {
			s.Inject(list...)
		}
		return nothing, err
	case "GET /faults":
		return s.Faults(), nil
	case "DELETE /faults":
		s.ClearFaults()
		return nothing, nil
	case "PUT /force":
		var b forceBody
		err := read(r, &b)
		if err == nil {
			s.Force(b.Namespace, b.Name, b.Phase)
		}
		return nothing, err
	case "PUT /deny":
		var rules []Rule
		err := read(r, &rules)
		if err == nil {
			s.Deny(rules...)
		}
		return nothing, err
	case "PUT /backend":
		var b backendBody
		err := read(r, &b)
		if err == nil {
			s.SetBackend(b.Namespace, b.VMI, b.Address)
		}
		return nothing, err
	case "PUT /pace":
		var b paceBody
		err := read(r, &b)
		if err == nil {
			s.SetPace(b.Pace)
		}
		return nothing, err
	case "POST /tokens/expire":
		s.ExpireTokens()
		return nothing, nil
	case "POST /history/trim":
		s.TrimHistory()
		return nothing, nil
	case "GET /counters":
		return s.Counters(), nil
	case "GET /volumes":
		return s.Volumes(), nil
	case "GET /guest":
		state, running := s.Guest(q.Get("namespace"), q.Get("vmi"))
		return guestBody{state, running}, nil
	}
	return nil, errNoSuchControl
}

func read(r *http.Request, v any) error {
	raw, err := io.ReadAll(io.LimitReader(r.Body, maxBody))
	if err != nil {
		return err
	}
	return json.Unmarshal(raw, v)
}
