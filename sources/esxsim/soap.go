package esxsim

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"regexp"

	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"
)

const maxCall = 16 << 20

var methodName = regexp.MustCompile(`<(?:\w+:)?Body[^>]*>\s*<(?:\w+:)?(\w+)`)

// serveSDK hands a call to the simulator and answers as the host would when
// the session ends meanwhile.
func (s *Server) serveSDK(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodGet {
		s.svc.ServiceVersions(w, r)
		return
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxCall))
	if err != nil {
		http.Error(w, "request too long", http.StatusRequestEntityTooLarge)
		return
	}
	method := ""
	if m := methodName.FindSubmatch(body); m != nil {
		method = string(m[1])
	}
	if s.httpFault(w, r) {
		return
	}
	alive, id := s.apiSession(r)
	if method == "Login" && alive == nil && s.sessions.full() {
		http.Error(w, "too many sessions", http.StatusServiceUnavailable)
		return
	}
	lost := s.script.lost(method)
	call := r.Clone(r.Context())
	call.Body = io.NopCloser(bytes.NewReader(body))
	answer := &buffered{header: http.Header{}, status: http.StatusOK}
	done := make(chan any, 1)
	go func() {
		defer func() { done <- recover() }()
		s.svc.ServeSDK(answer, call)
	}()
	var ended chan struct{}
	if alive != nil {
		ended = alive.ended
	}
	select {
	case p := <-done:
		if p != nil {
			fmt.Fprintf(s.cfg.Log, "%s: %v\n", method, p)
			http.Error(w, "the simulated host failed", http.StatusInternalServerError)
			return
		}
	case <-ended:
		if method != "Logout" {
			writeNotAuthenticated(w)
			return
		}
		<-done
	case <-r.Context().Done():
		return
	case <-s.closing:
		panic(http.ErrAbortHandler)
	}
	if method == "Logout" && answer.status == http.StatusOK {
		s.sessions.end(id)
	}
	for _, c := range (&http.Response{Header: answer.header}).Cookies() {
		if c.Name == soap.SessionCookieName {
			s.sessions.add(c.Value, true)
			c.Secure, c.HttpOnly, c.Path = true, true, "/"
			answer.header.Set("Set-Cookie", c.String())
		}
	}
	if lost {
		panic(http.ErrAbortHandler)
	}
	for k, v := range answer.header {
		w.Header()[k] = v
	}
	w.Header().Set("Content-Type", "text/xml; charset=utf-8")
	w.WriteHeader(answer.status)
	_, _ = w.Write(answer.body.Bytes())
}

// apiSession finds the caller's session, and ends it in the simulator too if
// it has idled out.
func (s *Server) apiSession(r *http.Request) (*session, string) {
	c, err := r.Cookie(soap.SessionCookieName)
	if err != nil {
		return nil, ""
	}
	alive, expired := s.sessions.use(c.Value)
	if expired != nil {
		s.terminate(expired)
	}
	return alive, c.Value
}

func (s *Server) terminate(gone ...*session) {
	m := s.vim.SessionManager()
	for _, n := range gone {
		if n.api {
			_ = m.TerminateSession(s.context(), &types.TerminateSession{SessionId: []string{n.id}})
		}
	}
}

func writeNotAuthenticated(w http.ResponseWriter) {
	w.Header().Set("Content-Type", "text/xml; charset=utf-8")
	w.WriteHeader(http.StatusInternalServerError)
	_, _ = io.WriteString(w, `<?xml version="1.0" encoding="UTF-8"?>
<soapenv:Envelope xmlns:soapenv="http://schemas.xmlsoap.org/soap/envelope/" xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance"><soapenv:Body><soapenv:Fault><faultcode>ServerFaultCode</faultcode><faultstring>The session is not authenticated.</faultstring><detail><NotAuthenticatedFault xmlns="urn:vim25" xsi:type="NotAuthenticated"><object type="Folder">ha-folder-root</object><privilegeId>System.View</privilegeId></NotAuthenticatedFault></detail></soapenv:Fault></soapenv:Body></soapenv:Envelope>`)
}

// buffered keeps an answer until it is known whether it will be sent.
type buffered struct {
	header http.Header
	status int
	body   bytes.Buffer
}

func (b *buffered) Header() http.Header         { return b.header }
func (b *buffered) WriteHeader(status int)      { b.status = status }
func (b *buffered) Write(p []byte) (int, error) { return b.body.Write(p) }
