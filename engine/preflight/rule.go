package preflight

import "slices"

// Rule is one row: what is judged, how it weighs, why it matters and how it is mended.
type Rule struct {
	ID    string
	Level Level
	Why   string
	Fix   string
	check func(Facts) []hit
}

// hit is one thing that a rule found.
type hit struct {
	subject   string
	found     string
	level     Level // "" for the rule's own
	unchecked bool
}

// Rules are all rules, in the order in which they are shown.
func Rules() []Rule {
	return slices.Concat(vmRules, diskRules, nicRules, deviceRules, sourceRules, targetRules, storageRules, hostRules)
}

// Evaluate judges the facts by every rule. A rule that panics counts as one that could not be evaluated.
func Evaluate(f Facts) []Finding {
	var out []Finding
	for _, r := range Rules() {
		for _, h := range safely(r, f) {
			level := r.Level
			if h.level != "" {
				level = h.level
			}
			if h.unchecked && level != Warning && level != Info {
				level = Decide
			}
			out = append(out, Finding{Rule: r.ID, Level: level, Subject: h.subject, Found: h.found, Why: r.Why, Fix: r.Fix, Unchecked: h.unchecked})
		}
	}
	return out
}

func safely(r Rule, f Facts) (hits []hit) {
	defer func() {
		if p := recover(); p != nil {
			hits = []hit{{subject: "vm", found: "could not check: the rule failed", level: Decide, unchecked: true}}
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
