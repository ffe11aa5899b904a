package esxsim

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/types"
)

// SOAPFault is one line of the fault script for the API.
type SOAPFault struct {
	Method string        `json:"method"`           // exact, as PowerOffVM_Task; "*" is every call, "write" every call that changes something
	Fault  string        `json:"fault,omitempty"`  // a vim type: NoPermission, InvalidState, TaskInProgress, NotAuthenticated, RestrictedVersion, …
	VM     string        `json:"vm,omitempty"`     // only calls on this VM (name, instance UUID or moref)
	Skip   int           `json:"skip,omitempty"`   // let the first so many pass
	Count  int           `json:"count,omitempty"`  // hit so many; 0 means until cleared
	InTask bool          `json:"inTask,omitempty"` // the call succeeds, its task fails (power, snapshots, rename)
	Delay  time.Duration `json:"delay,omitempty"`  // before the call is looked at, or until the script is cleared
	Lost   bool          `json:"lost,omitempty"`   // the call takes effect, its answer is cut off; Fault is not used
	Forget bool          `json:"forget,omitempty"` // the call takes effect, its task is forgotten as soon as it has ended; Fault is not used
}

// HTTPFault is one line of the fault script for /folder, or for /sdk.
type HTTPFault struct {
	Path       string        `json:"path,omitempty"`       // only requests whose decoded path has this in it; default /folder/
	Method     string        `json:"method,omitempty"`     // GET, HEAD; default both
	Skip       int           `json:"skip,omitempty"`       // let the first so many pass
	Count      int           `json:"count,omitempty"`      // hit so many; 0 means until cleared
	Delay      time.Duration `json:"delay,omitempty"`      // before anything is answered
	Status     int           `json:"status,omitempty"`     // answer this instead
	RetryAfter time.Duration `json:"retryAfter,omitempty"` // with Status
	// At most one of the next three is used, after After bytes of the body.
	Cut   bool  `json:"cut,omitempty"`   // the connection breaks
	End   bool  `json:"end,omitempty"`   // the body ends cleanly, too early
	Stall bool  `json:"stall,omitempty"` // nothing more comes until the client goes or the script is cleared
	After int64 `json:"after,omitempty"`
	Rate  int64 `json:"rate,omitempty"` // bytes per second of this body
	// IgnoreRange answers 200 with the whole file.
	IgnoreRange bool `json:"ignoreRange,omitempty"`
}

// script holds the faults to come.
type script struct {
	mu      sync.Mutex
	soaps   []*SOAPFault
	https   []*HTTPFault
	cleared chan struct{} // closed when the script is cleared
}

func (s *script) clear() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.soaps, s.https = nil, nil
	close(s.cleared)
	s.cleared = make(chan struct{})
}

// soap takes the next fault that fits the call. Delays are slept here.
func (s *script) soap(srv *Server, call *simulator.Method, inTask bool) types.BaseMethodFault {
	f := s.takeSOAP(func(f *SOAPFault) bool {
		return f.InTask == inTask && !f.Lost && !f.Forget && matchMethod(f.Method, call.Name) && srv.matchVM(f.VM, call.This)
	})
	if f == nil {
		return nil
	}
	s.sleep(srv, f.Delay)
	if f.Fault == "" {
		return nil
	}
	fault, err := newFault(f.Fault, call.This)
	if err != nil {
		return &types.SystemError{Reason: err.Error()}
	}
	return fault
}

// sleep waits, at most until the script is cleared or the host is closed.
func (s *script) sleep(srv *Server, d time.Duration) {
	if d <= 0 {
		return
	}
	s.mu.Lock()
	cleared := s.cleared
	s.mu.Unlock()
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-cleared:
	case <-srv.closing:
	}
}

// lost says whether the answer of this call is to be cut off.
func (s *script) lost(method string) bool {
	return s.takeSOAP(func(f *SOAPFault) bool { return f.Lost && matchMethod(f.Method, method) }) != nil
}

// forgets says whether the task of this call is forgotten once it has ended.
func (s *script) forgets(srv *Server, call *simulator.Method) bool {
	return s.takeSOAP(func(f *SOAPFault) bool {
		return f.Forget && matchMethod(f.Method, call.Name) && srv.matchVM(f.VM, call.This)
	}) != nil
}

func (s *script) takeSOAP(fits func(*SOAPFault) bool) *SOAPFault {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, f := range s.soaps {
		if !fits(f) {
			continue
		}
		if f.Skip > 0 {
			f.Skip--
			continue
		}
		hit := *f
		if f.Count--; f.Count == 0 {
			s.soaps = slices.Delete(s.soaps, i, i+1)
		}
		return &hit
	}
	return nil
}

// http takes the next fault that fits the request, and what ends a stall.
func (s *script) http(method, path string) (*HTTPFault, <-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, f := range s.https {
		want := f.Path
		def(&want, "/folder/")
		if !strings.Contains(path, want) || f.Method != "" && f.Method != method {
			continue
		}
		if f.Skip > 0 {
			f.Skip--
			continue
		}
		hit := *f
		if f.Count--; f.Count == 0 {
			s.https = slices.Delete(s.https, i, i+1)
		}
		return &hit, s.cleared
	}
	return nil, s.cleared
}

func matchMethod(want, method string) bool {
	return want == "*" || want == method || want == "write" && writes(method)
}

// writes says whether a method changes something on the host.
func writes(method string) bool {
	switch method {
	case "SearchDatastore_Task", "SearchDatastoreSubFolders_Task", "CreateCollectorForTasks":
		return false
	case "ShutdownGuest", "RebootGuest", "StandbyGuest", "UnregisterVM", "MarkAsTemplate", "MarkAsVirtualMachine",
		"SetCustomValue", "UpdateOptions", "MakeDirectory", "CreateFolder", "AddPortGroup", "RemovePortGroup", "AnswerVM":
		return true
	}
	return strings.HasSuffix(method, "_Task")
}

// newFault makes a fault from the name of its type.
func newFault(name string, on types.ManagedObjectReference) (types.BaseMethodFault, error) {
	switch name {
	case "NotAuthenticated":
		return notAuthenticated(on), nil
	case "NoPermission":
		return &types.NoPermission{Object: &on, PrivilegeId: "VirtualMachine.Interact.PowerOff"}, nil
	}
	t, ok := types.TypeFunc()(name)
	if !ok {
		return nil, fmt.Errorf("fault %q is no vim type", name)
	}
	f, ok := reflect.New(t).Interface().(types.BaseMethodFault)
	if !ok {
		return nil, fmt.Errorf("%q is no fault", name)
	}
	return f, nil
}

func notAuthenticated(on types.ManagedObjectReference) types.BaseMethodFault {
	return &types.NotAuthenticated{NoPermission: types.NoPermission{Object: &on, PrivilegeId: "System.View"}}
}
