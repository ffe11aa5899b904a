package kubevirt_test

import (
	"context"
	"testing"
	"time"

	"landfall/engine/fault"
	"landfall/engine/spec"
	"landfall/targets/kubesim"
)

// A guest that drops what it is sent, as one does that is not up yet, fails its check and spends no attempt. An API server
// that is not there is another matter.
func TestGuestThatDoesNotAnswer(t *testing.T) {
	s := start(t, kubesim.Config{})
	k := dial(t, s, nil)
	p := plan(t, "web")
	if err := k.ApplyMachine(t.Context(), owner, p); err != nil {
		t.Fatal(err)
	}
	s.Inject(kubesim.Fault{Verb: "get", Resource: "services/proxy", Do: kubesim.Slow, After: 3 * time.Second, Times: -1})
	probe := func() (string, error) {
		ctx, stop := context.WithTimeout(t.Context(), time.Second)
		defer stop()
		r, err := k.Probe(ctx, owner, p, spec.Check{Type: "HTTP", Port: 80, Path: "/", ExpectStatus: 200})
		if r.Passed {
			t.Errorf("the check passes: %+v", r)
		}
		return r.Detail, err
	}
	if said, err := probe(); err != nil || said != "the guest does not answer in time" {
		t.Errorf("%q, %v", said, err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if said, err := probe(); fault.ClassOf(err) != fault.Transient || !fault.Is(err, fault.Unreachable) {
		t.Errorf("%q, %v", said, err)
	}
}
