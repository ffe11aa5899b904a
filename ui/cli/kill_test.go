package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"landfall/engine"
	"landfall/engine/spec"
	"landfall/sources/esxsim"
	"landfall/targets/kubesim"
)

// lies are what the cluster does to a write besides doing it.
var lies = []kubesim.Fault{
	{},
	{Verb: "create", Resource: "datavolumes", Do: kubesim.Nothing},
	{Verb: "create", Resource: "datavolumes", Do: kubesim.Late, After: 200 * time.Millisecond},
	{Verb: "create", Resource: "virtualmachines", Do: kubesim.Nothing},
	{Verb: "create", Resource: "virtualmachines", Do: kubesim.Late, After: 200 * time.Millisecond},
	{Verb: "create", Resource: "virtualmachines", Do: kubesim.Twice},
	{Verb: "create", Resource: "datavolumes", Do: kubesim.Lost},
	{Verb: "patch", Resource: "virtualmachines", Do: kubesim.Nothing},
}

// TestKilledAtEveryBoundary kills the engine with SIGKILL at every write boundary of a cold migration, once more early in
// its recovery, and lets it go on; meanwhile the cluster lies about its writes. Every promise must hold each time.
func TestKilledAtEveryBoundary(t *testing.T) {
	w := newWorld(t, smallVM(t, "victim", 12<<20))
	boundaries := w.survive(0, 0, kubesim.Fault{})
	if len(boundaries) < 40 {
		t.Fatalf("only %d boundaries: %v", len(boundaries), boundaries)
	}
	kinds := map[string]int{}
	for _, b := range boundaries {
		_, kind, _ := strings.Cut(b, " ")
		kind, _, _ = strings.Cut(kind, ":")
		kinds[kind]++
	}
	for _, k := range []string{"store commit", "source act", "target act", "chunk write", "sync", "rename"} {
		if kinds[k] == 0 {
			t.Errorf("no boundary of kind %q among %v", k, kinds)
		}
	}
	t.Logf("%d boundaries: %v", len(boundaries), kinds)
	const worlds = 4
	for i := range worlds {
		t.Run(fmt.Sprintf("world %d", i), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, smallVM(t, "victim", 12<<20))
			for n := i; n < len(boundaries); n += worlds {
				t.Run(fmt.Sprintf("%03d", n+1), func(t *testing.T) {
					sub := *w
					sub.t = t
					sub.survive(n+1, n%7+1, lies[n%len(lies)])
				})
			}
		})
	}
}

// survive takes one migration through: killed at the n-th boundary, then at the m-th of its recovery, then not. It gives
// the boundaries that an engine crosses that is not killed.
func (w *testWorld) survive(n, m int, lie kubesim.Fault) []string {
	w.t.Helper()
	t := w.t
	name := fmt.Sprintf("victim-%d", n)
	w.fresh(fmt.Sprintf("workspace-%d", n))
	_ = w.host.SetPower("victim", esxsim.On) // refused where it is on: the run before ended early
	before, err := w.host.Digest("victim", 0)
	if err != nil {
		t.Fatal(err)
	}
	w.host.ResetCounters()
	w.cluster.ClearFaults()
	if lie.Do != "" {
		w.cluster.Inject(lie)
	}
	mig := w.apply("victim", func(d *spec.Document) {
		checked("victim")(d)
		d.Spec.Destination.VMName = name
		keep := false // the machines of the runs before have the address
		d.Spec.PreserveMACAddress = &keep
	})
	crossed := filepath.Join(w.workspace, "crossed")
	env := []string{envCount + "=" + crossed}
	for _, kill := range []int{n, m} {
		if kill == 0 {
			continue
		}
		p := w.engine(fmt.Sprintf("%s=%d", envKill, kill))
		w.until(mig.UID, "the engine's death", func(mig engine.Migration) bool { return p.ended() || mig.Status.Phase.Terminal() })
		p.kill()
	}
	p := w.engine(env...)
	done := w.phase(mig.UID, engine.Completed)
	p.stop(t)
	w.promises(done, name, before)
	b, err := os.ReadFile(crossed)
	if err != nil && n == 0 {
		t.Fatal(err)
	}
	return strings.Split(strings.TrimSpace(string(b)), "\n")
}

// promises looks at the world, not at what the engine says of it. Each promise is a test of its name.
func (w *testWorld) promises(m engine.Migration, name, before string) {
	c := w.host.Counters()
	check := func(promise string, f func(*testing.T, *testWorld)) {
		w.t.Run(promise, func(t *testing.T) {
			sub := *w
			sub.t = t
			f(t, &sub)
		})
	}
	check("the source disk is never written", func(t *testing.T, w *testWorld) {
		if after, err := w.host.Digest("victim", 0); err != nil || after != before {
			t.Errorf("%s before, %s after (%v)", before, after, err)
		}
	})
	check("killing the engine loses no finished work beyond the chunks in flight", func(t *testing.T, w *testWorld) {
		for _, f := range c.Extents(m.Status.Inventory.Ref.InstanceUUID) {
			if f.Twice() > 64<<20 {
				t.Errorf("%d bytes of %s were read twice", f.Twice(), f.Path)
			}
		}
	})
	check("what is made twice by nobody is there once", func(t *testing.T, w *testWorld) {
		volumes := 0
		for _, v := range w.cluster.Volumes() {
			if strings.HasPrefix(v.Claim, name+"-disk") {
				volumes++
			}
		}
		if volumes != 1 {
			t.Errorf("%d volumes of %s, want 1", volumes, name)
		}
	})
	check("Completed means that the checks passed", func(t *testing.T, w *testWorld) {
		if !m.Status.Has(engine.Ready) || !m.Status.Has(engine.GuestReady) || len(m.Status.Checks) == 0 || !m.Status.Checks[0].Passed {
			t.Errorf("%+v %+v", m.Status.Conditions, m.Status.Checks)
		}
		if g, ok := w.cluster.Guest("vms", name); !ok || !g.Up {
			t.Errorf("the guest is not up: %+v", g)
		}
	})
	check("nothing is left", func(t *testing.T, w *testWorld) {
		if _, err := os.Stat(filepath.Join(w.workspace, "staging", m.UID)); !os.IsNotExist(err) {
			t.Errorf("staging: %v", err)
		}
		held, err := w.store.Held(t.Context(), m.UID)
		if err != nil {
			t.Fatal(err)
		}
		for _, h := range held {
			if !h.Keep {
				t.Errorf("still held: %s", h)
			}
		}
	})
	check("the source is never powered on", func(t *testing.T, _ *testWorld) {
		if n := c.Calls["PowerOnVM_Task"]; n != 0 {
			t.Errorf("%d times", n)
		}
	})
	check("no silent difference between source and target", func(_ *testing.T, w *testWorld) { w.equal(m) })
}
