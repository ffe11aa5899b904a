package cli

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"

	"landfall/engine"
	"landfall/engine/preflight"
	"landfall/engine/spec"
	"landfall/sources/esxsim"
	"landfall/targets/kubesim"
)

// untouched fails when anything was made or changed in the world since.
func (w *testWorld) untouched() func() {
	w.t.Helper()
	return func() {
		w.t.Helper()
		if vs := w.cluster.Volumes(); len(vs) > 0 {
			w.t.Errorf("volumes were made: %+v", vs)
		}
		if ls, err := w.store.Lines(w.t.Context()); err != nil || len(ls) > 0 {
			w.t.Errorf("migrations were made: %+v, %v", ls, err)
		}
		if ds, err := w.store.Drafts(w.t.Context()); err != nil || len(ds) > 0 {
			w.t.Errorf("drafts were kept: %+v, %v", ds, err)
		}
	}
}

// withTPM gives the VM a virtual TPM, whose contents do not move.
func withTPM(vm *esxsim.VM) {
	vm.Adjust = func(m *mo.VirtualMachine) {
		m.Config.Hardware.Device = append(m.Config.Hardware.Device, &types.VirtualTPM{VirtualDevice: types.VirtualDevice{Key: 11000}})
	}
}

// plan writes a document of several VMs.
func (w *testWorld) plan(change func(i int, d *spec.Document), vms ...string) string {
	w.t.Helper()
	var docs []spec.Document
	for i, vm := range vms {
		d := document(w.endpoint, "move-"+vm)
		d.Spec.Source.VM = spec.VM{Name: vm}
		if change != nil {
			change(i, &d)
		}
		docs = append(docs, d)
	}
	text, err := spec.WriteAll(docs)
	if err != nil {
		w.t.Fatal(err)
	}
	path := filepath.Join(w.t.TempDir(), "plan.yaml")
	if err := os.WriteFile(path, text, 0o600); err != nil {
		w.t.Fatal(err)
	}
	return path
}

func TestCheckSaysWhatStandsInTheWayAndChangesNothing(t *testing.T) {
	snap := smallVM(t, "with a snapshot", 8<<20)
	tpm := smallVM(t, "tpm", 8<<20)
	withTPM(&tpm)
	w := newWorld(t, smallVM(t, "plain", 8<<20), snap, tpm, smallVM(t, "Web_01", 8<<20), smallVM(t, "WEB-01", 8<<20))
	if err := w.host.TakeSnapshot("with a snapshot", "before the change"); err != nil {
		t.Fatal(err)
	}
	if err := w.store.PutEndpoint(t.Context(), w.endpoint, tester); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { w.say("engine", "stop") })
	looked := w.untouched()
	for _, c := range []struct {
		what  string
		args  []string
		code  int
		words []string
	}{
		{"ready", []string{"check", "plain"}, 0, []string{"plain", "warning", "nic.rename"}},
		{"a decision", []string{"check", "tpm"}, exitDecision, []string{"vm.tpm", "BitLocker"}},
		{"a blocker", []string{"check", "with a snapshot"}, exitBlocked, []string{"source.reader", "1 snapshots: before the change"}},
		{"two that become one", []string{"check", "Web_01", "WEB-01"}, exitBlocked, []string{"target.name.collision", `"WEB-01"`, `"Web_01"`, "Take another name"}},
		{"one of the two", []string{"check", "Web_01"}, 0, []string{"target.name.changed", `"Web_01" becomes "web-01"`}},
		{"all", []string{"check", "--all"}, exitBlocked, []string{"plain", "tpm", "WEB-01"}},
		{"no such VM", []string{"check", "nobody"}, 1, nil},
		{"nothing named", []string{"check"}, 2, nil},
		{"two ways at once", []string{"check", "--all", "plain"}, 2, nil},
		{"a class that is not there", []string{"check", "plain", "--storage-class", "nosuch"}, exitBlocked, []string{"storage.class.missing", "nosuch"}},
	} {
		out, errs, code := w.say(c.args...)
		if strings.Contains(out, "⟨U+") {
			t.Errorf("%s: our own text is shown escaped:\n%s", c.what, out)
		}
		if code != c.code {
			t.Errorf("%s: exit %d, want %d\n%s%s", c.what, code, c.code, out, errs)
		}
		for _, word := range c.words {
			if !strings.Contains(out, word) {
				t.Errorf("%s: %q is not in\n%s%s", c.what, word, out, errs)
			}
		}
		looked()
	}
	out, errs, code := w.say("check", "tpm", "--json")
	var js []judged
	if err := json.Unmarshal([]byte(out), &js); err != nil || code != exitDecision || len(js) != 1 || js[0].Verdict != "decision" {
		t.Fatalf("exit %d, %v, %+v\n%s", code, err, js, errs)
	}
	p := js[0].Preview
	if p.Failure != "" || p.Taken.IsZero() || p.Looked["source"].IsZero() || p.Looked["target"].IsZero() || p.Estimate == nil || p.Estimate.Capacity != 8<<20 {
		t.Errorf("the preview lacks something: %+v", p)
	}
}

func TestRenderPrintsAllThatIsMadeAndNothingElse(t *testing.T) {
	two := smallVM(t, "two disks", 8<<20)
	two.Disks = append(two.Disks, esxsim.Disk{Size: 4 << 20})
	w := newWorld(t, two)
	looked := w.untouched()
	file := w.plan(nil, "two disks")
	out, errs, code := w.say("render", "-f", file)
	if code != 0 {
		t.Fatalf("exit %d\n%s%s", code, out, errs)
	}
	for word, n := range map[string]int{"kind: DataVolume": 2, "kind: VirtualMachine": 1, "name: two-disks-disk-1": 2, "runStrategy: Halted": 1, "upload: {}": 2} {
		if got := strings.Count(out, word+"\n"); got != n {
			t.Errorf("%q stands there %d times, want %d:\n%s", word, got, n, out)
		}
	}
	looked()
}

func TestDryRunShowsFindingsDocumentsAndEstimate(t *testing.T) {
	w := newWorld(t, smallVM(t, "web", 8<<20), smallVM(t, "db", 8<<20))
	looked := w.untouched()
	file := w.plan(nil, "web", "db")
	out, errs, code := w.say("apply", "--dry-run", "-f", file)
	if code != 0 {
		t.Fatalf("exit %d\n%s%s", code, out, errs)
	}
	for _, word := range []string{"nic.rename", "kind: VirtualMachine", "name: db", "estimate: at most", "downtime about", "would take all of this", "nothing was changed"} {
		if !strings.Contains(out, word) {
			t.Errorf("%q is not in\n%s", word, out)
		}
	}
	looked()
	w.cluster.Inject(kubesim.Fault{Verb: "create", Resource: "virtualmachines", Do: kubesim.Forbidden, Times: -1, Message: `admission webhook "policy.example.com" denied the request: no such thing here`})
	out, errs, code = w.say("apply", "--dry-run", "-f", file)
	if code != 1 || !strings.Contains(out, "no such thing here") {
		t.Errorf("refused by the cluster: exit %d\n%s%s", code, out, errs)
	}
	looked()
}

// TestPlanIsOneDocument holds that a plan of several VMs is written, read and applied as one file.
func TestPlanIsOneDocument(t *testing.T) {
	w := newWorld(t, smallVM(t, "web", 8<<20), smallVM(t, "db", 8<<20))
	t.Cleanup(func() { w.say("engine", "stop") })
	file := w.plan(func(_ int, d *spec.Document) {
		d.Spec.Answers = []spec.Answer{{Finding: "vm.tpm/vm", Value: "has a virtual TPM", Answer: spec.Accept}}
	}, "web", "db")
	out, errs, code := w.say("apply", "-f", file)
	if code != 0 || strings.Count(out, "is pending") != 2 {
		t.Fatalf("exit %d\n%s%s", code, out, errs)
	}
	lines, err := w.store.Lines(t.Context())
	if err != nil || len(lines) != 2 {
		t.Fatal(lines, err)
	}
	for _, l := range lines {
		w.phase(l.UID, engine.Completed)
		ds, err := w.store.Decisions(t.Context(), l.UID)
		if err != nil || len(ds) != 1 || !ds[0].Given() || ds[0].By == "" || ds[0].From == "" || ds[0].AnsweredAt.IsZero() || ds[0].Value != "has a virtual TPM" {
			t.Errorf("what the document answered is not recorded: %+v, %v", ds, err)
		}
		notes, err := w.store.Notes(t.Context(), l.UID)
		if err != nil || !strings.Contains(notes[0].What, "vm.tpm/vm") {
			t.Errorf("audit: %+v, %v", notes, err)
		}
	}
}

// TestDraftIsLookedAt holds that the engine answers a draft as Validated would, anew when it is asked anew, and that a
// migration made of it forgets it.
func TestDraftIsLookedAt(t *testing.T) {
	tpm := smallVM(t, "tpm", 8<<20)
	withTPM(&tpm)
	w := newWorld(t, tpm)
	w.engine()
	d := document(w.endpoint, "thought")
	d.Spec.Source.VM = spec.VM{Name: "tpm"}
	ask := func() engine.Draft {
		t.Helper()
		if err := w.store.Look(t.Context(), []spec.Document{d}, tester); err != nil {
			t.Fatal(err)
		}
		var got engine.Draft
		w.eventually("a preview", func() bool {
			ds, err := w.store.Drafts(t.Context())
			if err != nil || len(ds) != 1 {
				t.Fatal(ds, err)
			}
			got = ds[0]
			return got.Preview != nil && got.Preview.Asked.Equal(got.Asked)
		})
		return got
	}
	first := ask()
	has := func(d engine.Draft, rule string) bool {
		for _, f := range d.Preview.Findings {
			if f.Rule == rule && f.Level != preflight.Info {
				return true
			}
		}
		return false
	}
	if first.Preview.Failure != "" || !has(first, "vm.tpm") || !strings.Contains(first.Preview.Manifest, "kind: DataVolume") || first.Stale(first.Preview.Taken) {
		t.Errorf("preview: %+v", first.Preview)
	}
	d.Spec.Destination.Namespace = "nowhere"
	if second := ask(); !has(second, "target.namespace") {
		t.Errorf("the change was not looked at: %+v", second.Preview.Findings)
	}
	if !first.Stale(first.Preview.Taken.Add(engine.FactsAge + 1)) {
		t.Error("an old look passes for a new one")
	}
	d.Spec.Destination.Namespace = "vms"
	if _, err := w.store.Apply(t.Context(), d, tester); err != nil {
		t.Fatal(err)
	}
	if ds, err := w.store.Drafts(t.Context()); err != nil || len(ds) != 0 {
		t.Errorf("the draft outlives its migration: %+v, %v", ds, err)
	}
}
