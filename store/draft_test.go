package store_test

import (
	"errors"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"landfall/engine"
	"landfall/engine/fault"
	"landfall/engine/machine"
	"landfall/engine/spec"
)

func thought(address, name, moref string) (d spec.Document) {
	d.Metadata.Name = name
	d.Spec.Source.Address, d.Spec.Source.VM = address, spec.VM{Name: name, Ref: machine.Ref{MoRef: moref}}
	return d
}

func TestDraftsComeBack(t *testing.T) {
	s := fresh(t)
	ctx := t.Context()
	full := fullDocument(t)
	if err := s.Look(ctx, []spec.Document{full, thought("esx1", "web", "vm-1"), thought("esx1", "web", "vm-2")}, ann); err != nil {
		t.Fatal(err)
	}
	if err := s.Look(ctx, []spec.Document{thought("https://ESX1:443/sdk", "web", "vm-1")}, ann); err != nil {
		t.Fatal(err)
	}
	ds, err := s.Drafts(ctx)
	if err != nil || len(ds) != 3 {
		t.Fatalf("%d drafts, %v: two VMs of one name are two, one VM by two spellings is one", len(ds), err)
	}
	i := slices.IndexFunc(ds, func(d engine.Draft) bool { return d.Key == engine.DraftKey(full.Spec.Source) })
	if i < 0 {
		t.Fatalf("keys: %+v", ds)
	}
	if diff := cmp.Diff(full, ds[i].Document); diff != "" {
		t.Errorf("the document came back otherwise (-put +got):\n%s", diff)
	}
	if ds[i].Preview != nil || ds[i].Asked.IsZero() || !ds[i].Stale(ds[i].Asked) {
		t.Errorf("not looked at yet: %+v", ds[i])
	}
	p := filled[engine.Preview](t)
	p.Asked = ds[i].Asked
	if err := s.PutPreview(ctx, ds[i].Key, p); err != nil {
		t.Fatal(err)
	}
	ds, err = s.Drafts(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(&p, ds[i].Preview); diff != "" {
		t.Errorf("the preview came back otherwise (-put +got):\n%s", diff)
	}
}

func TestPreviewOfAnOlderQuestionIsNotTaken(t *testing.T) {
	s := fresh(t)
	ctx := t.Context()
	d := thought("esx1", "web", "vm-1")
	asked := func() engine.Draft {
		t.Helper()
		if err := s.Look(ctx, []spec.Document{d}, ann); err != nil {
			t.Fatal(err)
		}
		ds, err := s.Drafts(ctx)
		if err != nil || len(ds) != 1 {
			t.Fatal(ds, err)
		}
		return ds[0]
	}
	first := asked()
	if err := s.PutPreview(ctx, first.Key, engine.Preview{Asked: first.Asked, Taken: first.Asked}); err != nil {
		t.Fatal(err)
	}
	second := asked()
	if !second.Asked.After(first.Asked) {
		t.Errorf("asked again at %s, after %s", second.Asked, first.Asked)
	}
	if second.Preview == nil || !second.Stale(second.Asked) {
		t.Errorf("the old answer is not shown as old: %+v", second)
	}
	if err := s.PutPreview(ctx, first.Key, engine.Preview{Asked: first.Asked}); !errors.Is(err, engine.ErrStale) {
		t.Errorf("an answer to the old question: %v", err)
	}
	if err := s.Forget(ctx, []string{first.Key, "nobody"}, ann); err != nil {
		t.Fatal(err)
	}
	if err := s.PutPreview(ctx, first.Key, engine.Preview{Asked: second.Asked}); !errors.Is(err, engine.ErrNotFound) {
		t.Errorf("an answer to a forgotten draft: %v", err)
	}
	if err := s.Look(ctx, []spec.Document{{}}, ann); !fault.Is(err, fault.Refused) {
		t.Errorf("a draft of no VM: %v", err)
	}
}

func TestRateOfAHost(t *testing.T) {
	s := fresh(t)
	m := applied(t, s, 1)
	is := func(low, high float64, copies int) {
		t.Helper()
		if r, n, err := s.Rate(t.Context(), "esx1"); r < low || r > high || n != copies || err != nil {
			t.Errorf("%v of %d copies, %v; want %v to %v of %d", r, n, err, low, high, copies)
		}
	}
	is(0, 0, 0)
	for range 8 {
		m = commit(t, s, engine.Checkpoint{Migration: m, Rates: []engine.Rate{{Host: "esx1", Bytes: 100, Seconds: 10}}})
	}
	is(9, 11, 8)
	commit(t, s, engine.Checkpoint{Migration: m, Rates: []engine.Rate{{Host: "esx1", Bytes: 1000, Seconds: 10}}})
	is(50, 100, 9) // what is new counts more
}

// TestAnswersOfADocumentAreDecisions holds that they are recorded once, with who gave them, and that a changed document adds
// its own.
func TestAnswersOfADocumentAreDecisions(t *testing.T) {
	s := fresh(t)
	ctx := t.Context()
	d := document(1)
	d.Spec.Answers = []spec.Answer{{Finding: "vm.tpm/vm", Value: "has a virtual TPM", Answer: spec.Accept}}
	m, err := s.Apply(ctx, d, ann)
	if err != nil {
		t.Fatal(err)
	}
	given := func(want int) []engine.Decision {
		t.Helper()
		ds, err := s.Decisions(ctx, m.UID)
		if err != nil || len(ds) != want {
			t.Fatalf("%d decisions, %v; want %d", len(ds), err, want)
		}
		for _, d := range ds {
			if !d.Given() || d.Open() || d.AnsweredAt.IsZero() || d.Kind != "accept" || !d.Closed.IsZero() {
				t.Errorf("recorded as %+v", d)
			}
		}
		return ds
	}
	if one := given(1)[0]; one.By != ann.Name || one.From != ann.From || one.Subject != "vm.tpm/vm" || one.Value != "has a virtual TPM" || one.Answer != "accept" {
		t.Errorf("recorded as %+v", one)
	}
	d.Spec.Answers = append(d.Spec.Answers, spec.Answer{Finding: "target.name.taken/target", Value: "virtualmachine web exists", Answer: spec.Fix, Choice: "web-2"})
	if err := s.Change(ctx, m.UID, m.Generation, d, bob); err != nil {
		t.Fatal(err)
	}
	ds := given(2)
	if ds[0].By != ann.Name || ds[1].By != bob.Name || ds[1].Answer != "fix web-2" {
		t.Errorf("recorded as %+v", ds)
	}
	notes, err := s.Notes(ctx, m.UID)
	if err != nil || len(notes) != 4 || notes[0].Who != ann || notes[2].Who != bob {
		t.Errorf("audit: %+v, %v", notes, err)
	}
	if ws, err := s.Waiting(ctx); err != nil || len(ws) > 0 {
		t.Errorf("somebody is waited for: %+v, %v", ws, err)
	}
}
