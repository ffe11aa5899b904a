package engine

import (
	"slices"
	"testing"
	"time"

	"landfall/engine/fault"
	"landfall/engine/machine"
	"landfall/engine/preflight"
	"landfall/engine/spec"
)

func answered(subject, value, answer string) Decision {
	return Decision{ID: subject + "/" + value, Kind: accept, Subject: subject, Value: value, Answer: answer, By: "ana", Version: 2,
		Options: []Option{{ID: accept}}, Opened: time.Unix(1, 0), AnsweredAt: time.Unix(2, 0)}
}

func done(d Decision) Decision { d.Closed = time.Unix(3, 0); return d }

func given(d Decision) Decision { d.Options = nil; return d }

func TestWhatFollowsFromFindings(t *testing.T) {
	snapshot := preflight.Finding{Rule: "vm.snapshot", Subject: "vm", Level: preflight.Decide, Found: "1 snapshots: a"}
	warning := preflight.Finding{Rule: "nic.rename", Subject: "vm", Level: preflight.Warning, Found: "may lose its name"}
	blocker := preflight.Finding{Rule: "disk.shared", Subject: "disk 0", Level: preflight.Blocker, Found: "shared"}
	missing := preflight.Finding{Rule: "target.namespace", Subject: "target", Level: preflight.Blocker, Found: "namespace a does not exist",
		Remedy: &preflight.Remedy{ID: preflight.CreateNamespace, Label: "Create", Outside: true}}
	taken := preflight.Finding{Rule: "target.name.taken", Subject: "target", Level: preflight.Blocker, Found: "virtualmachine web exists",
		Remedy: &preflight.Remedy{ID: preflight.TakeName, Label: "Take", Choices: []string{"web-1a2b"}}}
	const snap, ns, name = "vm.snapshot/vm", "target.namespace/target", "target.name.taken/target"
	for _, c := range []struct {
		what     string
		findings []preflight.Finding
		decided  []Decision
		sight    Sight // "" where it is blocked
		asks     []string
		fixes    int
	}{
		{what: "nothing but warnings", findings: []preflight.Finding{warning}, sight: Complete},
		{what: "not answered", findings: []preflight.Finding{snapshot, warning}, sight: Foreign, asks: []string{snap}},
		{what: "accepted as it is", findings: []preflight.Finding{snapshot}, decided: []Decision{answered(snap, snapshot.Found, accept)}, sight: Complete},
		{what: "accepted before, looked at again", findings: []preflight.Finding{snapshot}, decided: []Decision{done(answered(snap, snapshot.Found, accept))}, sight: Complete},
		{what: "accepted with the document", findings: []preflight.Finding{snapshot}, decided: []Decision{given(answered(snap, snapshot.Found, accept))}, sight: Complete},
		{what: "the value changed since", findings: []preflight.Finding{snapshot}, decided: []Decision{answered(snap, "2 snapshots: a, b", accept)}, sight: Foreign, asks: []string{snap}},
		{what: "the document's value is another", findings: []preflight.Finding{snapshot}, decided: []Decision{given(answered(snap, "has snapshots", accept))}, sight: Foreign, asks: []string{snap}},
		{what: "a blocker cannot be accepted", findings: []preflight.Finding{blocker}, decided: []Decision{given(answered("disk.shared/disk 0", "shared", accept))}},
		{what: "a blocker with a remedy is asked about", findings: []preflight.Finding{missing}, sight: Foreign, asks: []string{ns}},
		{what: "consented", findings: []preflight.Finding{missing}, decided: []Decision{answered(ns, missing.Found, fixAnswer)}, sight: Partial, fixes: 1},
		{what: "consented with the document", findings: []preflight.Finding{missing}, decided: []Decision{given(answered(ns, missing.Found, fixAnswer))}, sight: Partial, fixes: 1},
		{what: "consented, but for another namespace", findings: []preflight.Finding{missing}, decided: []Decision{answered(ns, "namespace b does not exist", fixAnswer)}, sight: Foreign, asks: []string{ns}},
		{what: "a fix that did not help is asked about", findings: []preflight.Finding{missing}, decided: []Decision{done(answered(ns, missing.Found, fixAnswer))}, sight: Foreign, asks: []string{ns}},
		{what: "nothing is mended while something blocks", findings: []preflight.Finding{missing, blocker}, decided: []Decision{answered(ns, missing.Found, fixAnswer)}},
		{what: "nor while something is asked", findings: []preflight.Finding{missing, snapshot}, decided: []Decision{answered(ns, missing.Found, fixAnswer)}, sight: Foreign, asks: []string{snap}},
		{what: "look again", findings: []preflight.Finding{missing}, decided: []Decision{answered(ns, missing.Found, "again")}, sight: Foreign, asks: []string{ns}},
		{what: "a name is chosen", findings: []preflight.Finding{taken}, decided: []Decision{answered(name, taken.Found, "fix web-7")}, sight: Partial, fixes: 1},
		{what: "a fix of what has none", findings: []preflight.Finding{snapshot}, decided: []Decision{given(answered(snap, snapshot.Found, fixAnswer))}, sight: Foreign, asks: []string{snap}},
	} {
		t.Run(c.what, func(t *testing.T) {
			e := New(Config{})
			o := spec.Spec{Destination: spec.Destination{Namespace: "a"}}.Default()
			now := time.Unix(10, 0)
			turn := turn{e: e, r: &runner{e: e}, now: now, decided: c.decided, m: Migration{UID: "u", Status: Status{
				Phase: Validated, Options: &o, Inventory: &machine.VM{}, Findings: c.findings}}}
			got, err := turn.judge()
			if c.sight == "" {
				if fault.ClassOf(err) != fault.Blocked {
					t.Fatalf("not blocked: %+v, %v", got, err)
				}
				if len(turn.m.Status.Intents)+len(turn.hold) > 0 {
					t.Errorf("something was prepared all the same: %+v", turn.m.Status.Intents)
				}
				return
			}
			if err != nil || got.Sight != c.sight {
				t.Fatalf("sight %s, %v; want %s", got.Sight, err, c.sight)
			}
			var asks []string
			for _, q := range got.Questions {
				asks = append(asks, q.Subject)
				if len(q.Options) < 2 {
					t.Errorf("%s leaves no choice: %+v", q.Subject, q.Options)
				}
			}
			if !slices.Equal(asks, c.asks) {
				t.Errorf("asks %v, want %v", asks, c.asks)
			}
			fixes, _ := got.next.([]fix)
			if len(fixes) != c.fixes {
				t.Errorf("%d fixes, want %d", len(fixes), c.fixes)
			}
			for _, x := range fixes {
				if outside := x.finding.Remedy.Outside; outside != (turn.intent(x.act()) != nil) || outside != (len(turn.hold) > 0) {
					t.Errorf("intents %+v and held %+v before a fix with outside=%t", turn.m.Status.Intents, turn.hold, outside)
				}
				if x.finding.Remedy.ID == preflight.TakeName && x.choice != "web-7" {
					t.Errorf("chose %q", x.choice)
				}
			}
			// What is asked is posed anew, and not taken for what was answered.
			for _, q := range got.Questions {
				if !turn.pose(q) {
					t.Errorf("%s is not asked", q.Subject)
				}
			}
		})
	}
}

// TestFixesOfTheOptions holds that a chosen name and disk are taken into the options, and only what is a name.
func TestFixesOfTheOptions(t *testing.T) {
	for _, c := range []struct {
		what, remedy, choice string
		ok                   bool
	}{
		{"a name", preflight.TakeName, "web-7", true},
		{"no name", preflight.TakeName, "Web 7", false},
		{"a disk", preflight.ChooseBoot, "scsi0:1", true},
	} {
		t.Run(c.what, func(t *testing.T) {
			e := New(Config{})
			o := spec.Spec{}.Default()
			turn := turn{e: e, r: &runner{e: e}, now: time.Unix(10, 0), m: Migration{Status: Status{Phase: Validated, Options: &o, Inventory: &machine.VM{Summary: machine.Summary{Name: "Web"}}}}}
			d := answered("s", "v", "fix "+c.choice)
			err := turn.mend(t.Context(), fix{finding: preflight.Finding{Remedy: &preflight.Remedy{ID: c.remedy}}, choice: c.choice, by: &d})
			if (err == nil) != c.ok || c.ok != (turn.chosen(c.remedy) == c.choice) || c.ok == d.Closed.IsZero() {
				t.Errorf("%v, options %+v, decision %+v", err, o.Destination, d)
			}
		})
	}
}

// TestChosenNameOutlivesAChangeOfTheDocument changes the document after another name was taken: the name stays, unless the
// document now names one itself.
func TestChosenNameOutlivesAChangeOfTheDocument(t *testing.T) {
	for _, c := range []struct{ what, asked, want string }{
		{"it says nothing of the name", "", "web-7"},
		{"it says the taken one still", "web", "web-7"},
		{"it names another", "shop", "shop"},
	} {
		t.Run(c.what, func(t *testing.T) {
			e := New(Config{})
			o := spec.Spec{}.Default()
			turn := turn{e: e, r: &runner{e: e}, now: time.Unix(10, 0), m: Migration{Generation: 1, Status: Status{Phase: Validated, Options: &o, Inventory: &machine.VM{Summary: machine.Summary{Name: "Web"}}}}}
			d := answered("s", "v", "fix web-7")
			if err := turn.mend(t.Context(), fix{finding: preflight.Finding{Remedy: &preflight.Remedy{ID: preflight.TakeName}}, choice: "web-7", by: &d}); err != nil {
				t.Fatal(err)
			}
			turn.m.Generation, turn.m.Document.Spec.Destination.VMName = 2, c.asked
			turn.m.Document.Spec.Strategy.Throttle = 7
			turn.refreeze()
			if got := turn.options(); got.Destination.VMName != c.want || got.Strategy.Throttle != 7 {
				t.Errorf("name %q, throttle %d; want %q", got.Destination.VMName, got.Strategy.Throttle, c.want)
			}
		})
	}
}
