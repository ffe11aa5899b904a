package kubesim

import (
	"net/http"
	"net/http/httptest"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

var apierrorsGroup = schema.GroupResource{}

type deletionPropagation = metav1.DeletionPropagation

// ServeHTTP is the API server.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch path := r.URL.Path; {
	case path == "/readyz" || path == "/livez" || path == "/healthz":
		w.Write([]byte("ok"))
		return
	case path == "/version":
		writeJSON(w, http.StatusOK, serverVersion)
		return
	}
	user, ok := s.authenticate(r.Header.Get("Authorization"))
	if !ok {
		writeError(w, apierrors.NewUnauthorized("Unauthorized"))
		return
	}
	r.Header.Del("Authorization") // what is proxied must not see it
	if s.discover(w, r) {
		return
	}
	req, err := s.parse(r)
	if err != nil {
		writeError(w, err)
		return
	}
	if req == nil {
		notServed(w)
		return
	}
	req.user = user
	s.counters.call(req.attrs.verb, req.attrs.full())
	if !s.allowed(user, req.attrs) {
		writeError(w, forbidden(user, req.attrs))
		return
	}
	if req.sub == "proxy" || req.sub == "portforward" {
		if s.faults.answer(s, w, req) {
			return
		}
		s.serveTunnel(w, req)
		return
	}
	if err := req.readBody(w); err != nil {
		writeError(w, err)
		return
	}
	if s.faults.answer(s, w, req) {
		return
	}
	s.serve(w, req)
}

func notServed(w http.ResponseWriter) {
	writeError(w, &apierrors.StatusError{ErrStatus: metav1.Status{
		Code: http.StatusNotFound, Reason: metav1.StatusReasonNotFound, Message: "the server could not find the requested resource",
		Details: &metav1.StatusDetails{},
	}})
}

// serve carries a call out.
func (s *Server) serve(w http.ResponseWriter, r *request) {
	if r.attrs.verb == "watch" {
		s.watch(w, r)
		return
	}
	code, answer, err := s.act(r)
	if err != nil {
		writeError(w, err)
		return
	}
	if answer == nil {
		w.WriteHeader(code)
		return
	}
	writeJSON(w, code, answer)
}

func (s *Server) act(r *request) (int, any, error) {
	if r.attrs.group == groupSubres {
		return s.virtSubresource(r)
	}
	if r.kind.createOnly {
		if r.attrs.verb != "create" {
			return 0, nil, apierrors.NewMethodNotSupported(r.kind.gr(), r.attrs.verb)
		}
		return s.review(r)
	}
	switch {
	case r.sub == "" && r.attrs.verb == "get":
		return s.get(r)
	case r.sub == "" && r.attrs.verb == "list":
		return s.listing(r)
	case r.sub == "" && r.attrs.verb == "create" && r.name == "":
		return s.create(r)
	case r.sub == "" && r.attrs.verb == "update":
		return s.update(r, false)
	case r.sub == "" && r.attrs.verb == "patch":
		return s.patch(r, false)
	case r.sub == "" && r.attrs.verb == "delete":
		return s.remove(r)
	case r.sub == "" && r.attrs.verb == "deletecollection":
		return s.removeAll(r)
	case r.sub == "status" && r.kind.status && r.attrs.verb == "get":
		return s.get(r)
	case r.sub == "status" && r.kind.status && r.attrs.verb == "update":
		return s.update(r, true)
	case r.sub == "status" && r.kind.status && r.attrs.verb == "patch":
		return s.patch(r, true)
	case r.sub != "" && !(r.sub == "status" && r.kind.status):
		return 0, nil, apierrors.NewGenericServerResponse(http.StatusNotFound, r.attrs.verb, r.kind.gr(), r.name, "", 0, false)
	}
	return 0, nil, apierrors.NewMethodNotSupported(r.kind.gr(), r.attrs.verb)
}

// unheard carries a call out without an answer to anybody.
func (s *Server) unheard(r *request) {
	s.serve(httptest.NewRecorder(), r)
}

// later carries a call out after a while, unless the server has stopped by then.
func (s *Server) later(r *request, after time.Duration) {
	s.wait.Add(1)
	go func() {
		defer s.wait.Done()
		select {
		case <-time.After(after):
			s.unheard(r)
		case <-s.ctx.Done():
		}
	}()
}

func (s *Server) get(r *request) (int, any, error) {
	var o object
	s.store.view(func(t tx) { o = t.get(r.kind, r.namespace, r.name) })
	if o == nil {
		return 0, nil, apierrors.NewNotFound(r.kind.gr(), r.name)
	}
	return http.StatusOK, o, nil
}
