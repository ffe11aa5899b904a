package engine

import (
	"context"
	"slices"
	"strings"

	"landfall/engine/fault"
	"landfall/engine/preflight"
	"landfall/engine/spec"
	"landfall/sources"
	"landfall/targets"
)

const (
	// accept is the kind of decision about a finding, and the answer by which a person takes it as it is.
	accept = spec.Accept
	// fixAnswer is the answer by which a person consents to the remedy; what was chosen follows after a space.
	fixAnswer = spec.Fix
)

// Kinds of held things that a consent left in the world and that are not taken back: others may use them by then.
const (
	heldNamespace = "namespace"
	heldTracking  = "change-tracking"
)

// fix is a remedy that a person consented to.
type fix struct {
	finding preflight.Finding
	choice  string
	by      *Decision
}

// act names the intent of a fix that changes the world.
func (x fix) act() string { return "fix: " + x.finding.Remedy.ID }

var fixActs = []string{"fix: " + preflight.CreateNamespace, "fix: " + preflight.EnableTracking, "fix: " + preflight.Consolidate, "fix: " + preflight.RemoveMedia}

// consented gives the fix of a finding that a person consented to, for the value that it has now. A fix that was done and did
// not help is not done again without being asked about; one that only changes the options is taken again when they were
// replaced.
func (t *turn) consented(f preflight.Finding) (fix, bool) {
	if f.Remedy == nil {
		return fix{}, false
	}
	for i := len(t.decided) - 1; i >= 0; i-- {
		d := &t.decided[i]
		answer, choice, _ := strings.Cut(d.Answer, " ")
		if d.Kind != accept || d.Subject != f.ID() || d.Value != f.Found || answer != fixAnswer {
			continue
		}
		if choice == "" && len(f.Remedy.Choices) > 0 {
			choice = f.Remedy.Choices[0]
		}
		if !d.Closed.IsZero() && (f.Remedy.Outside || t.chosen(f.Remedy.ID) == choice) {
			continue
		}
		return fix{f, choice, d}, true
	}
	return fix{}, false
}

// chosen is what the options have for a remedy that changes only them.
func (t *turn) chosen(remedy string) string {
	switch o := t.options(); remedy {
	case preflight.TakeName:
		return o.Destination.VMName
	case preflight.ChooseBoot:
		return o.Destination.BootDisk
	}
	return ""
}

// keepChoices carries what a person chose by a remedy into a changed document that does not say otherwise.
func (t *turn) keepChoices(old spec.Spec, next *spec.Spec) {
	st := &t.m.Status
	if r := st.Renamed; r != nil && st.Inventory != nil && targets.VMName(*st.Inventory, *next) == r.From {
		next.Destination.VMName = r.To
	}
	chosen := slices.ContainsFunc(t.decided, func(d Decision) bool { return d.Kind == accept && d.Answer == fixAnswer+" "+old.Destination.BootDisk })
	if next.Destination.BootDisk == "" && chosen {
		next.Destination.BootDisk = old.Destination.BootDisk
	}
}

// prepare writes down what a fix is going to change in the world; it is committed before the act.
func (t *turn) prepare(x fix) {
	if !x.finding.Remedy.Outside {
		return
	}
	t.intend(x.act(), "consented by "+x.by.By)
	o := t.options()
	switch x.finding.Remedy.ID {
	case preflight.CreateNamespace:
		t.hold = append(t.hold, Held{Migration: t.m.UID, Kind: heldNamespace, Name: o.Destination.Namespace, Since: t.now, Keep: true,
			Note: "made with the consent of " + x.by.By + "; remove it by hand when nobody uses it"})
	case preflight.EnableTracking:
		t.hold = append(t.hold, Held{Migration: t.m.UID, Kind: heldTracking, Where: o.Source.Address, Name: t.m.Status.Inventory.Ref.String(), Since: t.now, Keep: true,
			Note: "switched on with the consent of " + x.by.By + "; it may stay on"})
	}
}

// mend does what was consented to. Every fix may be done twice.
func (t *turn) mend(ctx context.Context, x fix) error {
	r, o := x.finding.Remedy, t.m.Status.Options
	t.event("warn", "Fix", "%s (%s: %s), consented by %s: %s", r.Label, x.finding.Rule, x.finding.Found, x.by.By, r.Effect)
	if !r.Outside {
		switch r.ID {
		case preflight.TakeName:
			if targets.Name(x.choice, "") != x.choice {
				return fault.Hint(fault.Newf(fault.Blocked, fault.Refused, "%q is not a name of at most 63 lower-case letters, digits and dashes", x.choice), "change the answer in the document")
			}
			t.m.Status.Renamed = &Renamed{From: t.candidate(*t.m.Status.Inventory).target(), To: x.choice}
			o.Destination.VMName = x.choice
		case preflight.ChooseBoot:
			o.Destination.BootDisk = x.choice
		}
		t.settle(x.by)
		return nil
	}
	err := t.mendOutside(ctx, x)
	if err == nil {
		t.settle(x.by)
	}
	return err
}

func (t *turn) mendOutside(ctx context.Context, x fix) error {
	if x.finding.Remedy.ID == preflight.CreateNamespace {
		target, err := t.target(ctx)
		if err != nil {
			return err
		}
		f, ok := target.(targets.Founder)
		if !ok {
			return cannotFix("the cluster's driver makes no namespaces")
		}
		return f.CreateNamespace(ctx, t.owner())
	}
	src, err := t.source(ctx)
	if err != nil {
		return err
	}
	ref := t.m.Status.Inventory.Ref
	switch x.finding.Remedy.ID {
	case preflight.EnableTracking:
		if live, ok := src.(sources.Live); ok {
			return live.SetChangeTracking(ctx, ref, true)
		}
	case preflight.Consolidate:
		if m, ok := src.(sources.Mender); ok {
			return m.Consolidate(ctx, ref)
		}
	case preflight.RemoveMedia:
		if m, ok := src.(sources.Mender); ok {
			return m.RemoveMedia(ctx, ref)
		}
	}
	return cannotFix("the source's driver does not offer it")
}

func cannotFix(why string) error {
	return fault.Hint(fault.Newf(fault.Blocked, fault.Unsupported, "%s", why), "mend it by hand as the finding says, then retry")
}
