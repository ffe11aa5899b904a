package kubesim

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// What a Fault makes of a call.
const (
	Conflict    = "conflict"    // 409
	Invalid     = "invalid"     // 422
	Throttle    = "throttle"    // 429 with RetryAfter
	Internal    = "internal"    // 500
	Unavailable = "unavailable" // 503
	Forbidden   = "forbidden"   // 403
	Unauth      = "unauthorized"
	Slow        = "slow"    // answered after After
	Cut         = "cut"     // connection cut before anything was done; a watch after Events events, an upload after Bytes bytes
	Lost        = "lost"    // done, then the connection is cut before the answer
	Nothing     = "nothing" // answered as if done, but not done
	Twice       = "twice"   // done twice; the client sees the second answer
	Late        = "late"    // answered as if done, and done After later
	Expire      = "expire"  // a watch ends with 410 Expired
)

// Fault makes the next calls that it matches go wrong. Empty fields match anything. Resource is the plural, with
// "/subresource" where there is one; for uploads Verb and Resource are both "upload" and Name is the claim.
type Fault struct {
	Verb      string `json:"verb,omitempty"`
	Resource  string `json:"resource,omitempty"`
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name,omitempty"`

	Do         string        `json:"do"`
	Skip       int           `json:"skip,omitempty"`  // that many matching calls are left alone first
	Times      int           `json:"times,omitempty"` // 0 is once, below 0 is for good
	After      time.Duration `json:"after,omitempty"` // nanoseconds in JSON
	RetryAfter int           `json:"retryAfter,omitempty"`
	Bytes      int64         `json:"bytes,omitempty"`
	Events     int           `json:"events,omitempty"`
	Message    string        `json:"message,omitempty"`
}

// faults is the script of what goes wrong.
type faults struct {
	mu     sync.Mutex
	list   []*Fault
	forced map[place]string
	news   chan struct{}
}

func newFaults() *faults {
	return &faults{forced: map[place]string{}, news: make(chan struct{})}
}

// Inject adds faults to the script; the first that matches a call is the one that acts.
func (s *Server) Inject(list ...Fault) {
	f := s.faults
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, one := range list {
		if one.Times == 0 {
			one.Times = 1
		}
		f.list = append(f.list, &one)
	}
	f.shout()
}

// ClearFaults forgets the script and releases every DataVolume.
func (s *Server) ClearFaults() {
	f := s.faults
	f.mu.Lock()
	defer f.mu.Unlock()
	f.list, f.forced = nil, map[place]string{}
	f.shout()
}

// Faults lists what of the script is still to come.
func (s *Server) Faults() []Fault {
	f := s.faults
	f.mu.Lock()
	defer f.mu.Unlock()
	out := make([]Fault, len(f.list))
	for i, one := range f.list {
		out[i] = *one
	}
	return out
}

// What Force can do to a DataVolume, besides any phase that CDI has (Failed, Paused, Unknown …).
const (
	ScratchPending = "ScratchPending" // its scratch claim does not bind: the phase stays where it is
	RestartLoop    = "RestartLoop"    // its importer dies again and again
)

// Force holds a DataVolume in a phase; "" lets it go on.
func (s *Server) Force(namespace, name, phase string) {
	f := s.faults
	f.mu.Lock()
	defer f.mu.Unlock()
	if phase == "" {
		delete(f.forced, place{namespace, name})
	} else {
		f.forced[place{namespace, name}] = phase
	}
	f.shout()
}

func (f *faults) forcedPhase(ns, n string) string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.forced[place{ns, n}]
}

func (f *faults) shout() {
	close(f.news)
	f.news = make(chan struct{})
}

func (f *faults) changed() <-chan struct{} {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.news
}

// take finds the fault for a call and uses it up.
func (f *faults) take(verb, resource, ns, n string, only func(*Fault) bool) *Fault {
	f.mu.Lock()
	defer f.mu.Unlock()
	fits := func(want, have string) bool { return want == "" || want == "*" || want == have }
	for i, one := range f.list {
		if !fits(one.Verb, verb) || !fits(one.Resource, resource) || !fits(one.Namespace, ns) || !fits(one.Name, n) || !only(one) {
			continue
		}
		if one.Skip > 0 {
			one.Skip--
			return nil
		}
		if one.Times > 0 {
			if one.Times--; one.Times == 0 {
				f.list = slices.Delete(slices.Clone(f.list), i, i+1)
			}
		}
		c := *one
		return &c
	}
	return nil
}

func (f *faults) watchExpired(r *request) bool {
	a := r.attrs
	return f.take(a.verb, a.full(), a.namespace, a.name, func(one *Fault) bool { return one.Do == Expire }) != nil
}

func (f *faults) watchCut(r *request, sent int) bool {
	a := r.attrs
	return f.take(a.verb, a.full(), a.namespace, a.name, func(one *Fault) bool { return one.Do == Cut && sent >= one.Events }) != nil
}

// answer plays the fault that is due for a call; false means that the call is to be carried out as usual.
func (f *faults) answer(s *Server, w http.ResponseWriter, r *request) bool {
	a := r.attrs
	watch := a.verb == "watch"
	fault := f.take(a.verb, a.full(), a.namespace, a.name, func(one *Fault) bool {
		return !watch || one.Do != Cut && one.Do != Expire // those act while the watch runs
	})
	if fault == nil {
		return false
	}
	if err := fault.failure(r); err != nil {
		writeError(w, err)
		return true
	}
	if tunnel := r.sub == "proxy" || r.sub == "portforward"; tunnel && fault.Do != Slow {
		panic(http.ErrAbortHandler) // nothing is stored by these: whatever else goes wrong with them is a lost connection
	}
	switch fault.Do {
	case Slow:
		select {
		case <-time.After(fault.After):
		case <-r.Context().Done():
		}
		return false
	case Cut:
		panic(http.ErrAbortHandler)
	case Lost:
		s.unheard(r)
		panic(http.ErrAbortHandler)
	case Twice:
		s.unheard(r)
		return false
	case Nothing, Late:
		dry := *r
		dry.dryRun = true
		answer := httptest.NewRecorder()
		s.serve(answer, &dry)
		if fault.Do == Late && answer.Code < 300 {
			s.later(r, fault.After)
		}
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(answer.Code)
		w.Write(answer.Body.Bytes())
		return true
	}
	return false
}

// failure is the error that a fault answers with, nil for the other kinds.
func (f *Fault) failure(r *request) error {
	gr, n := r.kind.gr(), r.name
	text := func(usual string) string {
		if f.Message != "" {
			return f.Message
		}
		return usual
	}
	switch f.Do {
	case Conflict:
		return apierrors.NewConflict(gr, n, errors.New(text("the object has been modified; please apply your changes to the latest version and try again")))
	case Invalid:
		return invalid(r.kind, n, field.Invalid(field.NewPath("spec"), "", text("refused by the fault script")))
	case Throttle:
		err := apierrors.NewTooManyRequests(text("too many requests, please try again later"), f.RetryAfter)
		return err
	case Internal:
		return apierrors.NewInternalError(errors.New(text("etcdserver: request timed out")))
	case Unavailable:
		err := apierrors.NewServiceUnavailable(text("apiserver is shutting down"))
		if f.RetryAfter > 0 {
			err.ErrStatus.Details = retryDetails(f.RetryAfter)
		}
		return err
	case Forbidden:
		if f.Message != "" {
			return apierrors.NewForbidden(gr, n, errors.New(f.Message))
		}
		return forbidden(r.user, r.attrs)
	case Unauth:
		return apierrors.NewUnauthorized(text("Unauthorized"))
	}
	return nil
}
