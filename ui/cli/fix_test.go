package cli

import (
	"slices"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	v1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"landfall/engine"
	"landfall/engine/preflight"
	"landfall/engine/spec"
)

// namespace tells whether the cluster has it.
func (w *testWorld) namespace(name string) bool {
	w.t.Helper()
	c, err := kubernetes.NewForConfig(w.cluster.RESTConfig("operator"))
	if err != nil {
		w.t.Fatal(err)
	}
	_, err = c.CoreV1().Namespaces().Get(w.t.Context(), name, v1.GetOptions{})
	if err != nil && !apierrors.IsNotFound(err) {
		w.t.Fatal(err)
	}
	return err == nil
}

func TestNamespaceIsMadeOnlyWithConsent(t *testing.T) {
	w := newWorld(t, smallVM(t, "vm", 8<<20))
	m := w.apply("vm", func(d *spec.Document) { checked("vm")(d); d.Spec.Destination.Namespace = "fresh" })
	w.engine()
	w.rests(m.UID, "Decision", "namespace fresh does not exist")
	if w.namespace("fresh") {
		t.Fatal("made without an answer")
	}
	asked := w.question(m.UID, "accept", engine.Decision.Open)
	if !slices.ContainsFunc(asked.Options, func(o engine.Option) bool {
		return o.ID == "fix" && strings.Contains(o.Effect, "makes namespace fresh")
	}) || slices.ContainsFunc(asked.Options, func(o engine.Option) bool { return o.ID == "accept" }) {
		t.Errorf("a blocker with a remedy is offered as %+v", asked.Options)
	}
	w.answer(m.UID, "accept", "fix")
	m = w.phase(m.UID, engine.Completed)
	if !w.namespace("fresh") || m.Status.Machine.Namespace != "fresh" {
		t.Errorf("the VM is in %+v", m.Status.Machine)
	}
	var intent *engine.Intent
	for i := range m.Status.Intents {
		if m.Status.Intents[i].Act == "fix: create-namespace" {
			intent = &m.Status.Intents[i]
		}
	}
	if intent == nil || !strings.Contains(intent.Why, tester.Name) || intent.Done.IsZero() || intent.Time.Before(asked.Opened) {
		t.Errorf("the intent: %+v", intent)
	}
	held, err := w.store.Held(t.Context(), m.UID)
	if err != nil || !slices.ContainsFunc(held, func(h engine.Held) bool {
		return h.Kind == "namespace" && h.Name == "fresh" && h.Keep && h.Note != ""
	}) {
		t.Errorf("held: %+v, %v", held, err)
	}
}

func TestNamespaceStaysWhenTheMigrationIsCancelled(t *testing.T) {
	w := newWorld(t, smallVM(t, "vm", 48<<20))
	w.host.SetRate(4 << 20)
	m := w.apply("vm", func(d *spec.Document) {
		d.Spec.Destination.Namespace = "fresh"
		d.Spec.Answers = []spec.Answer{{Finding: "target.namespace/target", Value: "namespace fresh does not exist", Answer: spec.Fix}}
	})
	w.engine()
	w.until(m.UID, "the copy", func(m engine.Migration) bool { return len(m.Status.Disks) > 0 && m.Status.Disks[0].Copied > 0 })
	if err := w.store.Cancel(t.Context(), m.UID, tester); err != nil {
		t.Fatal(err)
	}
	m = w.until(m.UID, "the end", func(m engine.Migration) bool { return m.Status.Phase.Terminal() })
	if !w.namespace("fresh") || !slices.ContainsFunc(m.Status.Left, func(h engine.Held) bool { return h.Kind == "namespace" && h.Name == "fresh" }) {
		t.Errorf("left: %+v", m.Status.Left)
	}
}

func TestAnotherNameIsTakenWithConsent(t *testing.T) {
	w := newWorld(t, smallVM(t, "vm", 8<<20))
	if err := makeForeign(t.Context(), w, "taken"); err != nil {
		t.Fatal(err)
	}
	m := w.apply("vm", func(d *spec.Document) { checked("vm")(d); d.Spec.Destination.VMName = "taken" })
	w.engine()
	w.rests(m.UID, "Decision", "virtualmachine taken exists")
	asked := w.question(m.UID, "accept", engine.Decision.Open)
	i := slices.IndexFunc(asked.Options, func(o engine.Option) bool { return strings.HasPrefix(o.ID, "fix taken-") })
	if i < 0 {
		t.Fatalf("no other name is offered: %+v", asked.Options)
	}
	w.answer(m.UID, "accept", asked.Options[i].ID)
	m = w.phase(m.UID, engine.Completed)
	if want := strings.TrimPrefix(asked.Options[i].ID, "fix "); m.Status.Machine.Name != want || m.Status.Disks[0].Volume != want+"-disk-0" {
		t.Errorf("made %s with %s, want %s", m.Status.Machine.Name, m.Status.Disks[0].Volume, want)
	}
	if err := makeForeign(t.Context(), w, "taken"); err != nil {
		t.Errorf("the foreign VM was touched: %v", err)
	}
}

func TestNameOfAMigrationUnderWayIsNotTakenTwice(t *testing.T) {
	first, second := smallVM(t, "Web_01", 48<<20), smallVM(t, "WEB-01", 8<<20)
	w := newWorld(t, first, second)
	w.host.SetRate(4 << 20)
	a := w.apply("Web_01", nil)
	w.engine()
	w.until(a.UID, "the copy", func(m engine.Migration) bool { return m.Status.Phase == engine.Preparing })
	b := w.apply("WEB-01", nil)
	w.rests(b.UID, "Decision", "also becomes web-01")
}

func TestAnswersOfTheDocumentHoldForTheirValueOnly(t *testing.T) {
	vm := smallVM(t, "vm", 8<<20)
	withTPM(&vm)
	w := newWorld(t, vm)
	accepted := func(value string) func(*spec.Document) {
		return func(d *spec.Document) {
			checked("vm")(d)
			d.Spec.Answers = []spec.Answer{{Finding: "vm.tpm/vm", Value: value, Answer: spec.Accept}}
		}
	}
	m := w.apply("vm", accepted("has two virtual TPMs"))
	w.engine()
	w.rests(m.UID, "Decision", "has a virtual TPM")
	m, err := w.store.Migration(t.Context(), m.UID)
	if err != nil {
		t.Fatal(err)
	}
	d := m.Document
	accepted("has a virtual TPM")(&d)
	if err := w.store.Change(t.Context(), m.UID, m.Generation, d, engine.Person{Name: "ana", From: "pts/7"}); err != nil {
		t.Fatal(err)
	}
	w.until(m.UID, "the change to be taken", func(n engine.Migration) bool { return n.Status.ObservedGeneration > m.Generation })
	w.phase(m.UID, engine.Completed)
	ds, err := w.store.Decisions(t.Context(), m.UID)
	if err != nil {
		t.Fatal(err)
	}
	byAna := slices.ContainsFunc(ds, func(d engine.Decision) bool {
		return d.Given() && d.By == "ana" && d.From == "pts/7" && d.Value == "has a virtual TPM" && !d.AnsweredAt.IsZero() && !d.Closed.IsZero()
	})
	open := slices.ContainsFunc(ds, engine.Decision.Open)
	if !byAna || open {
		t.Errorf("decisions: %+v", ds)
	}
}

// TestSourceIsMendedWithConsent consolidates what a removed snapshot left behind, and empties the CD drive, both by answers of
// the document.
func TestSourceIsMendedWithConsent(t *testing.T) {
	vm := smallVM(t, "vm", 8<<20)
	vm.ISO = "[datastore1] iso/tools.iso"
	w := newWorld(t, vm)
	for _, do := range []error{w.host.TakeSnapshot("vm", "a"), w.host.KeepDeltas("vm", 1), w.host.RemoveSnapshots("vm", "a")} {
		if do != nil {
			t.Fatal(do)
		}
	}
	m := w.apply("vm", checked("vm"))
	w.engine()
	m = w.rests(m.UID, "Decision", "")
	if c := w.host.Counters().Calls; c["ConsolidateVMDisks_Task"]+c["ReconfigVM_Task"] > 0 {
		t.Fatal("the source was changed without consent")
	}
	var answers []spec.Answer
	for _, f := range m.Status.Findings {
		if f.Remedy != nil {
			answers = append(answers, spec.Answer{Finding: f.ID(), Value: f.Found, Answer: spec.Fix})
		}
	}
	if len(answers) != 3 {
		t.Fatalf("offered for %+v", answers)
	}
	d := m.Document
	d.Spec.Answers = answers
	if err := w.store.Change(t.Context(), m.UID, m.Generation, d, tester); err != nil {
		t.Fatal(err)
	}
	w.until(m.UID, "the change to be taken", func(n engine.Migration) bool { return n.Status.ObservedGeneration > m.Generation })
	m = w.phase(m.UID, engine.Completed)
	w.equal(m)
	if c := w.host.Counters().Calls; c["ConsolidateVMDisks_Task"] != 1 || c["ReconfigVM_Task"] != 1 {
		t.Errorf("consolidated %d times, changed %d times, want once each", c["ConsolidateVMDisks_Task"], c["ReconfigVM_Task"])
	}
	if slices.ContainsFunc(m.Status.Findings, func(f preflight.Finding) bool { return f.Rule == "vm.consolidation" || f.Rule == "source.reader" }) {
		t.Errorf("still found: %+v", m.Status.Findings)
	}
}
