package engine

import (
	"context"
	"fmt"
	"strings"

	"landfall/engine/fault"
	"landfall/engine/machine"
	"landfall/engine/preflight"
	"landfall/engine/spec"
	"landfall/targets"
)

// validated runs the rules before anything is touched.
type validated struct{}

// accept is the kind of decision by which a person accepts a finding.
const accept = "accept"

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
	facts, err := t.facts(ctx, vm)
	if err != nil {
		return Observation{}, err
	}
	st.Findings = preflight.Evaluate(facts)
	var blockers []string
	var questions []Question
	for _, f := range st.Findings {
		switch {
		case f.Level == preflight.Blocker:
			blockers = append(blockers, fmt.Sprintf("%s (%s: %s)", f.Found, f.Rule, f.Subject))
		case f.Level == preflight.Decide && !t.accepted(f):
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
	t.condition(RulesPassed, true, "Passed", fmt.Sprintf("%d warnings", preflight.Count(st.Findings, preflight.Warning)))
	return Observation{Sight: Complete, Seen: fmt.Sprintf("%d findings, none blocks", len(st.Findings))}, nil
}

func (validated) act(context.Context, *turn, Observation) error { return nil }

// facts gathers what the rules judge.
func (t *turn) facts(ctx context.Context, vm machine.VM) (preflight.Facts, error) {
	o := t.options()
	f := preflight.Facts{VM: vm, Spec: o, Name: t.targetName(vm), Source: t.m.Status.Source}
	host := t.e.Host(ctx, o)
	for _, d := range vm.DiskList {
		host.Needed += d.Capacity
	}
	if c := vm.Committed; c > 0 && c < host.Needed {
		host.Needed = c
	}
	if o.Strategy.Conversion != spec.ConvertNone {
		host.Needed *= 2 // the raw image and the converted one
	}
	f.Host = &host
	target, err := t.target(ctx)
	if err == nil {
		var facts targets.Facts
		if facts, err = target.Facts(ctx, t.question(vm, f.Name)); err == nil {
			f.Target, t.m.Status.Target = &facts, &facts.About
		}
	}
	if err != nil {
		if fault.ClassOf(err) != fault.Blocked {
			return f, err // may pass: look again, do not judge without the cluster
		}
		f.TargetFailure = err.Error()
	}
	return f, nil
}

func (t *turn) question(vm machine.VM, name string) targets.Question {
	o := t.options()
	q := targets.Question{Namespace: o.Destination.Namespace, VMName: name, Owner: t.owner(), Delivery: o.Strategy.Delivery}
	for _, d := range vm.DiskList {
		if m, ok := o.StorageFor(d.Datastore); ok {
			q.StorageClasses = append(q.StorageClasses, m.StorageClass)
		}
	}
	for _, n := range vm.NICs {
		if m, ok := o.NetworkFor(n); ok && m.Type == "Multus" {
			q.Networks = append(q.Networks, preflight.AttachmentName(m.Name, o.Destination.Namespace))
		}
		if o.KeepMAC() && n.MAC != "" {
			q.MACs = append(q.MACs, strings.ToLower(n.MAC))
		}
	}
	return q
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

func finding(f preflight.Finding) Question {
	return Question{Kind: accept, Subject: f.ID(), Value: f.Found, Why: f.Why,
		Question: fmt.Sprintf("%s: %s. Accept?", f.Subject, f.Found),
		Options: []Option{
			{ID: accept, Label: "Accept", Effect: "the migration goes on as it is; the acceptance is recorded with your name"},
			{ID: cancelAnswer, Label: "Cancel the migration", Effect: "nothing was touched; " + f.Fix, Dangerous: true},
		}}
}

func (t *turn) target(ctx context.Context) (targets.Target, error) {
	return t.e.targets.get(ctx, t.options().Destination)
}

func (t *turn) owner() targets.Owner {
	return targets.Owner{UID: t.m.UID, Name: t.m.Name(), Namespace: t.options().Destination.Namespace}
}

// targetName is the name that the virtual machine gets.
func (t *turn) targetName(vm machine.VM) string {
	if n := t.options().Destination.VMName; n != "" {
		return n
	}
	return targets.Name(vm.Name, vm.Ref.InstanceUUID)
}
