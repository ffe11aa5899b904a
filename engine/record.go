package engine

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"
)

const (
	maxErrors  = 50
	maxHistory = 200
)

// commit writes what the turn recorded, in one transaction, if anything changed.
func (t *turn) commit(ctx context.Context, wait time.Duration) (result, error) {
	st := &t.m.Status
	after, err := json.Marshal(*st)
	if err != nil {
		return result{}, fmt.Errorf("migration %s: encode status: %w", t.m.UID, err)
	}
	if bytes.Equal(after, t.before) && len(t.events)+len(t.hold)+len(t.gone)+len(t.ask)+len(t.closed)+len(t.rates) == 0 {
		return result{wait: wait}, nil
	}
	if !bytes.Equal(after, t.before) {
		st.Progress = t.now
	}
	version, err := t.e.Store.Commit(ctx, Checkpoint{Migration: t.m, Events: t.events, Hold: t.hold, Gone: t.gone, Ask: t.ask, Close: t.closed, Rates: t.rates})
	if err != nil {
		return result{}, err
	}
	t.m.Version = version
	t.events, t.hold, t.gone, t.ask, t.closed, t.rates = nil, nil, nil, nil, nil, nil
	if t.before, err = json.Marshal(*st); err != nil {
		return result{}, err
	}
	return result{changed: true, wait: wait, done: st.Phase.Terminal()}, nil
}

// enter goes to a phase. Going where the table does not lead is a fault of the engine and panics.
func (t *turn) enter(to Phase, reason string) {
	st := &t.m.Status
	from := st.Phase
	if !allowed(from, to, st.Resume) {
		panic(fmt.Sprintf("no way from %s to %s", from, to))
	}
	st.History = append(st.History, Transition{From: from, To: to, Time: t.now, Reason: reason})
	if n := len(st.History); n > maxHistory {
		st.History = slices.Delete(st.History, 1, n-maxHistory+1)
	}
	st.Phase, st.Sight, st.Seen, st.NotUntil = to, "", "", time.Time{}
	switch {
	case !to.Rest():
		st.Resume, st.Reason, st.Message, st.Hint = "", "", "", ""
		if !from.Rest() {
			st.Attempt = 0 // a checkpoint's budget is its own
		}
	case !from.Rest():
		st.Resume = from
	}
	if to != from && !to.Rest() && !from.Rest() || to.Rest() {
		st.Queue = 0
		t.e.permits.leave(t.m.UID, t.e.jobs.running)
	}
	if to.Terminal() && st.Times.Completed.IsZero() {
		st.Times.Completed = t.now
	}
	message := fmt.Sprintf("%s → %s", from, to)
	if reason != "" {
		message += ": " + reason
	}
	t.event("info", "Phase", "%s", message)
}

// resume goes back from a rest to its checkpoint.
func (t *turn) resume(why string) { t.enter(t.m.Status.Resume, why) }

func (t *turn) event(level, reason, format string, args ...any) {
	msg := format
	if len(args) > 0 {
		msg = fmt.Sprintf(format, args...)
	}
	t.events = append(t.events, Event{Migration: t.m.UID, Time: t.now, Level: level, Phase: t.m.Status.Phase, Reason: reason, Message: msg})
}

// condition sets a fact beside the phase; its time changes only with its status.
func (t *turn) condition(typ string, ok bool, reason, message string) {
	status := "False"
	if ok {
		status = "True"
	}
	c := Condition{Type: typ, Status: status, Reason: reason, Message: message, LastTransitionTime: t.now, ObservedGeneration: t.m.Generation}
	cs := t.m.Status.Conditions
	for i, old := range cs {
		if old.Type == typ {
			if old.Status == status {
				c.LastTransitionTime = old.LastTransitionTime
			}
			if c != old {
				cs[i] = c
			}
			return
		}
	}
	t.m.Status.Conditions = append(cs, c)
}

// Has tells whether a condition is True.
func (s Status) Has(typ string) bool {
	return slices.ContainsFunc(s.Conditions, func(c Condition) bool { return c.Type == typ && c.Status == "True" })
}

// intend writes down an act that must not be decided twice; the caller returns so that it is committed before the act.
func (t *turn) intend(act, why string) {
	if i := t.intent(act); i == nil || !i.Done.IsZero() {
		t.m.Status.Intents = append(t.m.Status.Intents, Intent{Act: act, Time: t.now, Why: why})
		t.event("warn", "Intent", "%s: %s", act, why)
	}
}

// intent gives the newest intent of an act, or nil.
func (t *turn) intent(act string) *Intent {
	for i := len(t.m.Status.Intents) - 1; i >= 0; i-- {
		if t.m.Status.Intents[i].Act == act {
			return &t.m.Status.Intents[i]
		}
	}
	return nil
}

// achieved marks the newest intent of an act as seen done.
func (t *turn) achieved(act string) {
	if i := t.intent(act); i != nil && i.Done.IsZero() {
		i.Done = t.now
	}
}

func once(p *time.Time, now time.Time) {
	if p.IsZero() {
		*p = now
	}
}
