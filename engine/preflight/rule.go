package preflight

import (
	"slices"

	"landfall/engine/machine"
	"landfall/engine/plaintext"
	"landfall/engine/spec"
)

// Rule is one row: what is judged, how it weighs, why it matters and how it is mended.
type Rule struct {
	ID    string
	Level Level
	Why   string
	Fix   string
	check func(Facts) []hit
}

// hit is one thing that a rule found. The subjects of one rule's hits differ: a decision is known by rule and subject.
type hit struct {
	subject   string
	found     string
	level     Level // "" for the rule's own
	unchecked bool
	remedy    *Remedy
}

// Rules are all rules, in the order in which they are shown.
func Rules() []Rule {
	return slices.Concat(vmRules, diskRules, nicRules, deviceRules, sourceRules, targetRules, planRules, storageRules, hostRules)
}

// Evaluate judges the facts by every rule. A rule that panics counts as one that could not be evaluated.
func Evaluate(f Facts) []Finding { return evaluate(Rules(), f) }

// Inventory judges what a VM and its spec tell by themselves, without a look at the source, the target or this machine.
// It is a first view only: nothing is started on its word.
func Inventory(vm machine.VM, s spec.Spec) []Finding {
	return evaluate(slices.Concat(vmRules, diskRules, nicRules, deviceRules, storageRules), Facts{VM: vm, Spec: s})
}

func evaluate(rules []Rule, f Facts) []Finding {
	var out []Finding
	for _, r := range rules {
		for _, h := range safely(r, f) {
			level := r.Level
			if h.level != "" {
				level = h.level
			}
			if h.unchecked {
				level = Decide
			}
			if h.remedy != nil && h.remedy.Outside && !f.Offers[h.remedy.ID] {
				h.remedy = nil
			}
			if h.remedy != nil {
				h.remedy.Effect = plaintext.Label(h.remedy.Effect)
			}
			// Cleaned once, so that a value stays the same on its way through the store and an acceptance of it holds.
			out = append(out, Finding{Rule: r.ID, Level: level, Subject: plaintext.Label(h.subject), Found: plaintext.Label(h.found), Why: r.Why, Fix: r.Fix, Unchecked: h.unchecked, Remedy: h.remedy})
		}
	}
	return out
}

func safely(r Rule, f Facts) (hits []hit) {
	defer func() {
		if p := recover(); p != nil {
			hits = cannot("vm", "the rule failed")
		}
	}()
	return r.check(f)
}

// Worst gives the level that decides about the findings, or "" where there are none above Info.
func Worst(fs []Finding) Level {
	for _, l := range []Level{Blocker, Decide, Warning} {
		if slices.ContainsFunc(fs, func(f Finding) bool { return f.Level == l }) {
			return l
		}
	}
	return ""
}

// Count gives how many findings have the level.
func Count(fs []Finding, l Level) (n int) {
	for _, f := range fs {
		if f.Level == l {
			n++
		}
	}
	return n
}

func one(cond bool, subject, found string) []hit {
	if !cond {
		return nil
	}
	return []hit{{subject: subject, found: found}}
}

func cannot(subject, why string) []hit {
	return []hit{{subject: subject, found: "could not check: " + why, unchecked: true}}
}

// Open gives how many findings of a level the answers do not answer: an answer holds for its value only, and what blocks
// cannot be accepted.
func Open(fs []Finding, l Level, answers []spec.Answer) (n int) {
	for _, f := range fs {
		if f.Level == l && !slices.ContainsFunc(answers, func(a spec.Answer) bool {
			return a.Finding == f.ID() && a.Value == f.Found && (a.Answer == spec.Accept && l != Blocker || a.Answer == spec.Fix && f.Remedy != nil)
		}) {
			n++
		}
	}
	return n
}
