package cli

import (
	"slices"
	"strings"
	"testing"

	"landfall/engine"
	"landfall/engine/spec"
	"landfall/sources/esxsim"
	"landfall/targets/kubesim"
)

// cause is a fault of a checkpoint, with where it must lead and what a person can do then.
type cause struct {
	vm      func(*esxsim.VM)
	cluster func(*kubesim.Config)
	spec    func(*spec.Document)
	before  func(*testWorld)
	// rest is the phase that the fault leads to, from is the checkpoint that it is resumed at, reason is that of the error.
	rest, from engine.Phase
	reason     string
	// mend is what a person does; nil where it passes by itself or where the migration is cancelled.
	mend   func(*testWorld, engine.Migration)
	cancel bool
}

func checkFor(text string, port int) func(*spec.Document) {
	return func(d *spec.Document) {
		d.Spec.Validation = spec.Validation{BootTimeoutSeconds: 1, Checks: []spec.Check{{Type: "HTTP", Port: port, ExpectBodyContains: text}}}
	}
}

func refuses(vm *esxsim.VM) { vm.Shutdown.Answer = esxsim.Refuses }

func policy(p spec.PowerPolicy) func(*spec.Document) {
	return func(d *spec.Document) {
		if d.Spec.Source.PowerOffPolicy = p; p == spec.Never {
			d.Spec.Source.ShutdownSeconds = 0
		}
	}
}

func inject(f kubesim.Fault) func(*testWorld) {
	return func(w *testWorld) { w.cluster.Inject(f) }
}

var causes = map[string]cause{
	"Discovering: the host is busy": {
		before: func(w *testWorld) {
			_ = w.host.FailHTTP(esxsim.HTTPFault{Path: "/sdk", Status: 503, Count: 2})
		},
		rest: engine.Retryable, from: engine.Discovering},
	"Preparing: the guest does not shut down and the policy forbids a hard power-off": {
		vm: refuses, spec: policy(spec.Graceful), rest: engine.ManualInterventionRequired, from: engine.Preparing, reason: "NoGracefulShutdown",
		mend: func(w *testWorld, m engine.Migration) {
			if err := w.host.SetPower("vm", esxsim.Off); err != nil {
				w.t.Fatal(err)
			}
			w.retry(m.UID)
		}},
	"Validated: the source is on and the policy forbids every power-off": {
		spec: policy(spec.Never), rest: engine.ManualInterventionRequired, from: engine.Validated, reason: "Blocked", cancel: true},
	"Validated: a NIC has no mapping": {
		vm: func(vm *esxsim.VM) { vm.NICs = []esxsim.NIC{{Network: "DMZ"}} }, rest: engine.ManualInterventionRequired, from: engine.Validated, reason: "Blocked", cancel: true},
	"Validated: the VM has a snapshot": {
		vm:   func(vm *esxsim.VM) { vm.Snapshots = []esxsim.Snapshot{{Name: "old"}} },
		rest: engine.ManualInterventionRequired, from: engine.Validated, reason: "Blocked", cancel: true},
	"Importing: the DataVolume fails": {
		before: func(w *testWorld) { w.cluster.Force("vms", "cause-disk-0", "Failed") },
		rest:   engine.Retryable, from: engine.Importing, reason: "VolumeFailed",
		mend: func(w *testWorld, _ engine.Migration) { w.cluster.Force("vms", "cause-disk-0", "") }},
	"CreatingVM: a conflict": {
		before: inject(kubesim.Fault{Verb: "create", Resource: "virtualmachines", Do: kubesim.Conflict, Times: 4}), rest: engine.Retryable, from: engine.CreatingVM, reason: "Conflict"},
	"CreatingVM: a webhook that does not answer": {
		before: inject(kubesim.Fault{Verb: "create", Resource: "virtualmachines", Do: kubesim.Internal, Message: "failed calling webhook: context deadline exceeded"}),
		rest:   engine.Retryable, from: engine.CreatingVM},
	"Starting: no capacity": {
		vm: func(vm *esxsim.VM) { vm.MemoryMiB = 6 << 20 }, spec: checkFor("hello", 80),
		rest: engine.Retryable, from: engine.Starting, reason: "Capacity", cancel: true},
	"Starting: no node with KVM": {
		cluster: func(c *kubesim.Config) { c.Nodes[0].NoKVM = true },
		mend:    func(w *testWorld, m engine.Migration) { w.answer(m.UID, "accept", "accept") },
		rest:    engine.ManualInterventionRequired, from: engine.Starting, reason: "NoKVM", cancel: true},
	"Validating: the application is not ready within the timeout": {
		spec: checkFor("hello", 81), rest: engine.Retryable, from: engine.Validating, reason: "NotReady",
		mend: right},
	"Validating: the application answers with the wrong content": {
		spec: checkFor("another page", 80), rest: engine.ManualInterventionRequired, from: engine.Validating, reason: "WrongContent",
		mend: right},
}

// right changes the document so that the check asks for what is there.
func right(w *testWorld, m engine.Migration) {
	m, err := w.store.Migration(w.t.Context(), m.UID)
	if err != nil {
		w.t.Fatal(err)
	}
	d := m.Document
	d.Spec.Validation = spec.Validation{Checks: []spec.Check{{Type: "HTTP", Port: 80, ExpectBodyContains: "hello from vm"}}}
	if err := w.store.Change(w.t.Context(), m.UID, m.Generation, d, tester); err != nil {
		w.t.Fatal(err)
	}
	w.until(m.UID, "the change to be taken", func(n engine.Migration) bool { return n.Status.ObservedGeneration > m.Generation })
}

// TestEveryCauseLeadsWhereItMust takes each cause of a rest to its rest, and from there to the end.
func TestEveryCauseLeadsWhereItMust(t *testing.T) {
	for name, c := range causes {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			vm := smallVM(t, "vm", 8<<20)
			if c.vm != nil {
				c.vm(&vm)
			}
			w := newWorldWith(t, c.cluster, vm)
			if c.before != nil {
				c.before(w)
			}
			m := w.apply("vm", func(d *spec.Document) {
				checked("vm")(d)
				d.Spec.Destination.VMName = "cause"
				if c.spec != nil {
					c.spec(d)
				}
			})
			w.engine()
			if c.mend != nil && c.cancel { // the way to the rest leads over a question
				c.mend(w, m)
			}
			m = w.until(m.UID, "the rest", func(m engine.Migration) bool {
				return m.Status.Phase.Terminal() || slices.ContainsFunc(m.Status.History, func(h engine.Transition) bool { return h.To == c.rest && h.From == c.from })
			})
			i := slices.IndexFunc(m.Status.Errors, func(f engine.Failure) bool { return f.Phase == c.from && (c.reason == "" || f.Reason == c.reason) })
			if i < 0 {
				t.Fatalf("no error of %s with reason %q: %+v", c.from, c.reason, m.Status.Errors)
			}
			if f := m.Status.Errors[i]; f.Attempt < 1 || f.Message == "" || strings.Contains(f.Message, testPassword) {
				t.Errorf("%+v", f)
			}
			if c.cancel {
				w.cancelled(m)
				return
			}
			if c.mend != nil {
				c.mend(w, m)
			}
			w.equal(w.phase(m.UID, engine.Completed))
		})
	}
}

func TestGracefulThenForcePowersOffOnce(t *testing.T) {
	vm := smallVM(t, "vm", 8<<20)
	refuses(&vm)
	w := newWorld(t, vm)
	m := w.apply("vm", policy(spec.GracefulThenForce))
	w.engine()
	w.equal(w.phase(m.UID, engine.Completed))
	if c := w.host.Counters().Calls; c["PowerOffVM_Task"] != 1 || c["ShutdownGuest"] != 1 {
		t.Errorf("%d hard power-offs after %d graceful ones, want one each", c["PowerOffVM_Task"], c["ShutdownGuest"])
	}
}
