package engine

import (
	"fmt"
	"slices"
)

// Question is what a step asks a person.
type Question struct {
	Kind     string
	Subject  string
	Question string
	Why      string
	Value    string
	Options  []Option
}

// id is stable, so that a question that is asked again after a kill is the same one. A question whose value has changed,
// or that was acted on before, is a new one.
func (t *turn) id(q Question) string {
	base := fmt.Sprintf("%s/%s/%s", t.m.UID, q.Kind, q.Subject)
	n := 0
	for _, d := range t.decided {
		if d.Kind == q.Kind && d.Subject == q.Subject && (!d.Closed.IsZero() || d.Value != q.Value) {
			n++
		}
	}
	return fmt.Sprintf("%s/%d", base, n)
}

// pose opens a question, and tells whether it is new.
func (t *turn) pose(q Question) bool {
	id := t.id(q)
	if slices.ContainsFunc(t.decided, func(d Decision) bool { return d.ID == id }) {
		return false
	}
	t.ask = append(t.ask, Decision{ID: id, Migration: t.m.UID, Kind: q.Kind, Subject: q.Subject, Phase: t.m.Status.Phase,
		Question: q.Question, Why: q.Why, Value: q.Value, Options: q.Options, Opened: t.now, Version: 1})
	t.event("warn", "Decision", "%s", q.Question)
	return true
}

// restFor opens questions and rests until they are answered.
func (t *turn) restFor(qs []Question) {
	for _, q := range qs {
		t.pose(q)
	}
	t.enter(ManualInterventionRequired, qs[0].Kind)
	st := &t.m.Status
	st.Reason, st.Message, st.Hint = "Decision", qs[0].Question, "answer it on the page Decisions, or with landfall decide"
	if n := len(qs); n > 1 {
		st.Message = fmt.Sprintf("%s (and %d more)", st.Message, n-1)
	}
}

// cancelAnswer is the option, of any question, that cancels the migration.
const cancelAnswer = "cancel"

// answer gives the answered decision of a kind and subject that was not acted on yet, or nil.
func (t *turn) answer(kind, subject string) *Decision {
	for i := len(t.decided) - 1; i >= 0; i-- {
		if d := &t.decided[i]; d.Kind == kind && d.Subject == subject && d.Answer != "" && d.Closed.IsZero() {
			return d
		}
	}
	return nil
}

// settle marks a decision as acted on, or as fallen away.
func (t *turn) settle(d *Decision) {
	if d.Closed.IsZero() {
		d.Closed = t.now
		t.closed = append(t.closed, d.ID)
	}
}

// keepOnly closes the open questions of a kind that are not asked any more: what they asked has settled itself.
func (t *turn) keepOnly(kind string, asked []Question) {
	for i := range t.decided {
		d := &t.decided[i]
		if d.Kind == kind && d.Open() && !slices.ContainsFunc(asked, func(q Question) bool { return q.Subject == d.Subject && q.Value == d.Value }) {
			t.settle(d)
		}
	}
}
