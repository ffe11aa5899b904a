package engine

import (
	"slices"
	"time"

	"landfall/engine/fault"
)

// fail records an error of a checkpoint and takes the migration where its class leads.
func (t *turn) fail(row Row, class fault.Class, err error) {
	st := &t.m.Status
	st.Attempt++
	f := Failure{Phase: row.Phase, Attempt: st.Attempt, Class: string(class), Reason: fault.ReasonOf(err),
		Message: err.Error(), Hint: fault.HintOf(err), Time: t.now}
	st.Errors = append(st.Errors, f)
	if n := len(st.Errors); n > maxErrors {
		st.Errors = slices.Delete(st.Errors, 0, n-maxErrors)
	}
	if st.FirstError == nil {
		st.FirstError = &f
	}
	t.event("error", f.Reason, "%s", f.Message)
	if row.Phase == Failing || row.Phase == Cancelling {
		return // tried again until its patience ends
	}
	switch {
	case class == fault.Permanent:
		t.enter(Failing, f.Reason)
	case class == fault.Blocked && row.Ask:
		t.restWith(ManualInterventionRequired, f)
	case !row.Retry:
		t.enter(Failing, f.Reason)
	case st.Attempt > t.options().Strategy.Retries():
		f.Message = "retry budget spent: " + f.Message
		t.restWith(ManualInterventionRequired, f)
	default:
		t.restWith(Retryable, f)
		st.NotUntil = t.now.Add(max(t.e.wait(st.Attempt), fault.AfterOf(err)))
	}
}

func (t *turn) restWith(p Phase, f Failure) {
	t.enter(p, f.Reason)
	st := &t.m.Status
	st.Reason, st.Message, st.Hint = f.Reason, f.Message, f.Hint
}

// maxBackoff bounds the wait between attempts.
const maxBackoff = 5 * time.Minute

// wait gives the backoff before an attempt: it doubles, and half of it is jitter.
func (e *Engine) wait(attempt int) time.Duration {
	d := min(e.Backoff<<min(attempt-1, 20), maxBackoff)
	return d/2 + time.Duration(e.Rand()*float64(d/2))
}
