package engine

import (
	"context"
	"encoding/json"
	"fmt"
	"runtime/debug"
	"time"

	"landfall/engine/fault"
	"landfall/engine/spec"
)

// step is one checkpoint's code.
type step interface {
	// observe looks at the world and records in t what it saw, never the phase. An error means that it could not look.
	observe(ctx context.Context, t *turn) (Observation, error)
	// act does the next thing towards the goal; it is given for Start, Resume and Redo, and is safe to repeat.
	act(ctx context.Context, t *turn, o Observation) error
}

// Observation is what a step saw.
type Observation struct {
	Sight Sight
	Seen  string // in words, for the operator
	// Questions are what a person is asked when the sight is Foreign.
	Questions []Question
	// again is when to look again at the latest, 0 for the engine's choice.
	again time.Duration
	// next is what act is to do; only the step itself reads it.
	next any
}

// turn is one round of observe, decide, act, record on one migration.
type turn struct {
	e   *Engine
	r   *runner
	m   Migration // working copy; Status is written at the end
	now time.Time

	before  []byte // status as it was read
	events  []Event
	hold    []Held
	gone    []Held
	ask     []Decision
	closed  []string
	rates   []Rate
	decided []Decision // of this migration, as read
}

type result struct {
	done    bool // terminal
	changed bool
	wait    time.Duration
}

var steps = map[Phase]step{
	Pending: pending{}, Discovering: discovering{}, Validated: validated{}, Preparing: preparing{}, Converting: converting{},
	Importing: importing{}, CreatingVM: creatingVM{}, Starting: starting{}, Validating: validating{},
	Failing: ending{Failed}, Cancelling: ending{Cancelled},
}

// turn takes one turn. A panic in it is an error of this turn alone.
func (r *runner) turn(ctx context.Context) (res result, err error) {
	err = guarded(func() (err error) { res, err = r.take(ctx); return err })
	return res, err
}

func (r *runner) take(ctx context.Context) (result, error) {
	m, err := r.e.Store.Migration(ctx, r.uid)
	if err != nil {
		return result{}, err
	}
	t := &turn{e: r.e, r: r, m: m, now: r.e.Now()}
	if t.before, err = json.Marshal(m.Status); err != nil {
		return result{}, fmt.Errorf("migration %s: encode status: %w", m.UID, err)
	}
	if m.Status.Phase.Terminal() {
		r.e.jobs.stop(m.UID)
		return result{done: true}, nil
	}
	if t.decided, err = r.e.Store.Decisions(ctx, m.UID); err != nil {
		return result{}, err
	}
	if m.Status.Phase == "" {
		t.m.Status.Phase = Pending
	}
	if t.interrupt() {
		return t.commit(ctx, 0)
	}
	if t.m.Status.Phase.Rest() {
		wait := t.rest()
		return t.commit(ctx, wait)
	}
	t.follow()
	return t.work(ctx)
}

// work observes the checkpoint's goal and does what follows.
func (t *turn) work(ctx context.Context) (res result, err error) {
	row, _ := RowOf(t.m.Status.Phase)
	s := steps[row.Phase]
	var o Observation
	err = guarded(func() (err error) { o, err = s.observe(ctx, t); return err })
	if err != nil {
		return t.failed(ctx, row, err)
	}
	t.m.Status.Sight, t.m.Status.Seen = o.Sight, o.Seen
	switch decide(o.Sight) {
	case Advance:
		t.enter(row.Next, "")
		res, err := t.commit(ctx, 0)
		if fault.Is(err, fault.Conflict) {
			return t.taken(ctx, row, err)
		}
		return res, err
	case Ask:
		t.restFor(o.Questions)
		return t.commit(ctx, 0)
	case Wait:
		return t.commit(ctx, o.again)
	}
	if t.wasted(row.Phase, o.Seen) {
		return t.failed(ctx, row, fault.Newf(fault.Transient, "NoEffect", "%s: asked %d times and nothing came of it: %s", row.Phase, maxFruitless, o.Seen))
	}
	// What was seen is recorded before anything is done about it: an intent is on disk before its act.
	if res, err = t.commit(ctx, 0); err != nil {
		return res, err
	}
	if err = guarded(func() error { return s.act(ctx, t, o) }); err != nil {
		return t.failed(ctx, row, err)
	}
	again, err := t.commit(ctx, o.again)
	again.changed = again.changed || res.changed
	return again, err
}

// taken is when the VM that was found turns out to belong to another migration: the store refuses to record it here.
func (t *turn) taken(ctx context.Context, row Row, err error) (result, error) {
	var before Status
	if err := json.Unmarshal(t.before, &before); err != nil {
		return result{}, err
	}
	t.m.Status, t.events = before, nil
	return t.failed(ctx, row, fault.Hint(err, "cancel this migration, or the other one"))
}

// maxFruitless is how often the same act is repeated while the same is seen: the other side accepts and does nothing.
const maxFruitless = 4

func (t *turn) wasted(p Phase, seen string) bool {
	f := &t.r.fruitless
	if f.phase != p || f.seen != seen {
		*f = fruitless{phase: p, seen: seen}
	}
	f.acts++
	if f.acts <= maxFruitless {
		return false
	}
	f.acts = 0
	return true
}

// guarded turns a panic in a step into an error that lets this migration rest and the others go on.
func guarded(f func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fault.Hint(fault.Newf(fault.Blocked, "Panic", "internal error: %v\n%s", p, debug.Stack()),
				"this is a fault of Landfall: keep the engine log, then retry or cancel the migration")
		}
	}()
	return f()
}

// interrupt takes the durable want to cancel, and tells whether the phase changed.
func (t *turn) interrupt() bool {
	st := &t.m.Status
	if st.Phase == Cancelling || st.Phase == Failing || !t.cancelled() {
		return false
	}
	if t.started() {
		if !t.m.Status.CancelRefused {
			t.m.Status.CancelRefused = true
			t.event("warn", "CancelRefused", "cancel is refused: the target has been started; stop it by hand before the source is started again")
		}
		return false
	}
	t.enter(Cancelling, "a person cancelled")
	return true
}

// cancelled tells whether a person wants the end, by the verb or as the answer to a question. An answer counts also when its
// question fell away while it was given.
func (t *turn) cancelled() bool {
	for i := range t.decided {
		if d := &t.decided[i]; d.Answer == cancelAnswer {
			t.settle(d)
			return true
		}
	}
	return t.m.Want == WantCancel
}

// started tells whether the target runs or may run: from then on the source must stay off. An instance that was asked for and
// last seen not to run yet has not started.
func (t *turn) started() bool {
	st := &t.m.Status
	if t.intent(actStart) == nil {
		return false
	}
	waits := st.Instance == "Pending" || st.Instance == "Scheduling" || st.Instance == noInstance
	return !st.Times.VMStarted.IsZero() || !waits
}

// rest looks whether a rest is over, and gives how long it lasts if not.
func (t *turn) rest() time.Duration {
	st := &t.m.Status
	poked := t.m.Retry != st.ObservedRetry || (t.m.Generation != st.ObservedGeneration && t.refreeze())
	answered, open := 0, 0
	for _, d := range t.decided {
		switch {
		case d.Open():
			open++
		case d.Answer != "" && d.Closed.IsZero() && !d.Given():
			answered++
		}
	}
	switch {
	case poked:
		st.ObservedRetry, st.Attempt = t.m.Retry, 0
		t.e.sources.retry(t.options().Source)
		t.resume("a person asked to go on")
	case st.Phase == Retryable:
		// A clock that was set back must not make a rest longer.
		if entered := st.History[len(st.History)-1].Time; !t.now.Before(st.NotUntil) || t.now.Before(entered) {
			t.resume("")
			return 0
		}
		return min(st.NotUntil.Sub(t.now), t.e.Poll)
	case answered > 0 && open == 0:
		st.Attempt = 0
		t.resume("a person decided")
	default:
		return t.e.Poll
	}
	return 0
}

// follow takes live changes of the document into a migration that works.
func (t *turn) follow() {
	if t.m.Status.Options != nil && t.m.Generation != t.m.Status.ObservedGeneration {
		t.refreeze()
	}
	if t.m.Status.Phase != Pending {
		t.m.Status.ObservedRetry = t.m.Retry
	}
}

// options are the resolved options; frozen in Pending.
func (t *turn) options() spec.Spec { return t.m.options() }

// failed records an error and lets the migration rest, or end, as its class says.
func (t *turn) failed(ctx context.Context, row Row, err error) (result, error) {
	if ctx.Err() != nil || fault.Is(err, fault.Interrupted) {
		return t.commit(context.WithoutCancel(ctx), 0) // being interrupted costs no attempt
	}
	class := fault.ClassOf(err)
	if class == "" {
		class = fault.Transient
		if row.Once && t.irreversible() {
			class = fault.Blocked
		}
	}
	t.e.Log.Warn("checkpoint", "migration", t.m.UID, "phase", row.Phase, "class", class, "reason", fault.ReasonOf(err), "error", err)
	t.fail(row, class, err)
	return t.commit(ctx, t.afterFailure())
}

func (t *turn) afterFailure() time.Duration {
	if p := t.m.Status.Phase; p == Failing || p == Cancelling {
		return t.e.Poll
	}
	return 0
}

// irreversible tells whether an act that cannot be undone is under way: then an unknown error is for a person.
func (t *turn) irreversible() bool {
	for _, i := range t.m.Status.Intents {
		if i.Done.IsZero() && (i.Act == actPowerOff || i.Act == actStart) {
			return true
		}
	}
	return false
}
