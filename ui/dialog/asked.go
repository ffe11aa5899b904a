package dialog

import (
	"time"

	"landfall/engine"
	"landfall/engine/plaintext"
	"landfall/ui/feed"
	"landfall/ui/pages"
	"landfall/ui/widget"
)

// asked is a decision that an open dialog is about: another person may take it meanwhile.
type asked struct {
	decision engine.Decision
	gone     string // why it cannot be answered any more
}

// follow compares the decision with what waits now. changed tells that it is still asked, but not as it was read.
func (a *asked) follow(s *feed.Snapshot) (act pages.Action, changed bool) {
	if a.gone != "" || s.Failure != "" {
		return nil, false
	}
	for _, d := range s.Waiting {
		if d.ID != a.decision.ID {
			continue
		}
		if d.Version != a.decision.Version {
			a.decision = d
			return nil, true
		}
		return nil, false
	}
	a.gone = "this question is not asked any more"
	return LookUp{Decision: a.decision}, false
}

// taken tells who took it.
func (a *asked) taken(t Taken, now time.Time) {
	if t.Decision.ID == a.decision.ID {
		a.gone = TakenText(t.Decision, now)
	}
}

// TakenText says how a decision ended that one could not answer.
func TakenText(d engine.Decision, now time.Time) string {
	switch {
	case d.Open():
		return "the question changed since you read it: nothing was decided, read it again"
	case d.Answer == "":
		return "this question is not asked any more: nothing needs to be decided"
	}
	answer := d.Answer
	for _, o := range d.Options {
		if o.ID == d.Answer {
			answer = o.Label
		}
	}
	s := "taken already: " + answer + ", by " + d.By
	if d.From != "" {
		s += " from " + d.From
	}
	if !d.AnsweredAt.IsZero() {
		s += " at " + widget.Clock(d.AnsweredAt, now)
	}
	return plaintext.Label(s)
}
