package engine

import (
	"context"
	"fmt"
	"strings"

	"landfall/engine/fault"
	"landfall/engine/machine"
	"landfall/engine/preflight"
	"landfall/targets"
)

// validated runs the rules before anything is touched.
type validated struct{}

func (validated) observe(ctx context.Context, t *turn) (Observation, error) {
	st := &t.m.Status
	src, err := t.source(ctx)
	if err != nil {
		return Observation{}, err
	}
	vm, err := src.Inspect(ctx, st.Inventory.Ref)
	if err != nil {
		return Observation{}, err
	}
	t.inventory(vm)
	facts, err := t.e.facts(ctx, t.e.outside(), t.candidate(vm))
	if err != nil {
		return Observation{}, err
	}
	if facts.Target != nil {
		st.Target = &facts.Target.About
	}
	st.Findings = preflight.Evaluate(facts)
	return t.judge()
}

// judge says what follows from the findings: what blocks comes before what is asked, and that before what is mended.
func (t *turn) judge() (Observation, error) {
	st := &t.m.Status
	var blockers []string
	var questions []Question
	var fixes []fix
	for _, f := range st.Findings {
		x, consented := t.consented(f)
		switch {
		case consented:
			fixes = append(fixes, x)
		case f.Level == preflight.Blocker && f.Remedy == nil:
			blockers = append(blockers, fmt.Sprintf("%s (%s: %s)", f.Found, f.Rule, f.Subject))
		case f.Level == preflight.Blocker, f.Level == preflight.Decide && !t.accepted(f):
			questions = append(questions, finding(f))
		}
	}
	t.keepOnly(accept, questions)
	if len(blockers) > 0 {
		t.condition(RulesPassed, false, "Blocked", strings.Join(blockers, "; "))
		return Observation{}, fault.Hint(fault.Newf(fault.Blocked, "Blocked", "%s", strings.Join(blockers, "; ")),
			"mend what is named, then retry; the findings say how")
	}
	if len(questions) > 0 {
		t.condition(RulesPassed, false, "Decision", fmt.Sprintf("%d findings wait for a person", len(questions)))
		return Observation{Sight: Foreign, Seen: fmt.Sprintf("%d findings wait for a person", len(questions)), Questions: questions}, nil
	}
	if len(fixes) > 0 {
		names := make([]string, len(fixes))
		for i, x := range fixes {
			names[i] = x.finding.Remedy.Label
			t.prepare(x)
		}
		return Observation{Sight: Partial, Seen: "consented and not yet seen: " + strings.Join(names, ", "), next: fixes}, nil
	}
	for _, a := range fixActs {
		t.achieved(a)
	}
	t.condition(RulesPassed, true, "Passed", fmt.Sprintf("%d warnings", preflight.Count(st.Findings, preflight.Warning)))
	return Observation{Sight: Complete, Seen: fmt.Sprintf("%d findings, none blocks", len(st.Findings))}, nil
}

func (validated) act(ctx context.Context, t *turn, o Observation) error {
	for _, x := range o.next.([]fix) {
		if err := t.mend(ctx, x); err != nil {
			return fmt.Errorf("%s: %w", x.finding.Remedy.Label, err)
		}
	}
	return nil
}

func (t *turn) candidate(vm machine.VM) candidate {
	return candidate{uid: t.m.UID, name: t.m.Name(), options: t.options(), vm: vm}
}

// accepted tells whether a person accepted a finding as it is now. An answer to another value does not count.
func (t *turn) accepted(f preflight.Finding) bool {
	for i := range t.decided {
		if d := &t.decided[i]; d.Kind == accept && d.Subject == f.ID() && d.Value == f.Found && d.Answer == accept {
			t.settle(d)
			return true
		}
	}
	return false
}

// finding is the question that a finding asks.
func finding(f preflight.Finding) Question {
	q := Question{Kind: accept, Subject: f.ID(), Value: f.Found, Why: f.Why, Question: fmt.Sprintf("%s: %s. Accept?", f.Subject, f.Found)}
	if f.Level == preflight.Blocker {
		q.Question = fmt.Sprintf("%s: %s. What now?", f.Subject, f.Found)
	} else {
		q.Options = append(q.Options, Option{ID: accept, Label: "Accept", Effect: "the migration goes on as it is; the acceptance is recorded with your name"})
	}
	if r := f.Remedy; r != nil && len(r.Choices) == 0 {
		q.Options = append(q.Options, Option{ID: fixAnswer, Label: r.Label, Effect: r.Effect})
	} else if r != nil {
		for _, c := range r.Choices {
			q.Options = append(q.Options, Option{ID: fixAnswer + " " + c, Label: r.Label + ": " + c, Effect: r.Effect})
		}
	}
	if f.Level == preflight.Blocker {
		q.Options = append(q.Options, Option{ID: "again", Label: "Look again", Effect: "after you have mended it yourself: " + f.Fix})
	}
	q.Options = append(q.Options, Option{ID: cancelAnswer, Label: "Cancel the migration", Effect: "nothing was touched; " + f.Fix, Dangerous: true})
	return q
}

func (t *turn) target(ctx context.Context) (targets.Target, error) {
	return t.e.targets.get(ctx, t.options().Destination)
}

func (t *turn) owner() targets.Owner {
	return targets.Owner{UID: t.m.UID, Name: t.m.Name(), Namespace: t.options().Destination.Namespace}
}
