package engine

import (
	"context"
	"fmt"
	"time"

	"landfall/engine/fault"
	"landfall/engine/spec"
	"landfall/targets"
)

// validating has every check of the spec passed, and then staging cleaned.
type validating struct{}

// checkTimeout bounds one run of one check.
const checkTimeout = 20 * time.Second

func (validating) observe(ctx context.Context, t *turn) (Observation, error) {
	st := &t.m.Status
	target, err := t.target(ctx)
	if err != nil {
		return Observation{}, err
	}
	i, err := target.Instance(ctx, t.owner(), *st.Plan)
	if err != nil {
		return Observation{}, err
	}
	st.Instance = orAbsent(i.Phase)
	if i.Phase == "Failed" || i.Failure != "" {
		return Observation{}, fault.Hint(fault.Newf(fault.Blocked, "InstanceFailed", "the instance is %s: %s", i.Phase, i.Failure), "look at the guest's console")
	}
	checks := t.checks()
	results := make([]targets.Result, 0, len(checks))
	passed := 0
	for _, c := range checks {
		r, err := probe(ctx, target, t, c)
		if err != nil {
			return Observation{}, fmt.Errorf("check %s: %w", c.Type, err)
		}
		results = append(results, r)
		if r.Passed {
			passed++
		}
	}
	st.Checks = settled(st.Checks, results)
	if passed < len(checks) {
		t.condition(GuestReady, false, "Checking", fmt.Sprintf("%d of %d checks pass", passed, len(checks)))
		return t.notYet(results, passed)
	}
	t.condition(GuestReady, true, "ChecksPassed", fmt.Sprintf("%d checks pass", passed))
	held, err := t.e.Store.Held(ctx, t.m.UID)
	if err != nil {
		return Observation{}, err
	}
	for _, h := range held {
		if !t.result(h) {
			return Observation{Sight: Partial, Seen: "every check passes; cleaning up", next: true}, nil
		}
	}
	t.condition(Ready, true, "Completed", fmt.Sprintf("%d checks pass", passed))
	return Observation{Sight: Complete, Seen: fmt.Sprintf("all of %d checks pass", passed)}, nil
}

// act cleans up what is not a result of the migration.
func (validating) act(ctx context.Context, t *turn, _ Observation) error {
	t.e.jobs.stop(t.m.UID)
	_, err := t.cleanUp(ctx, t.result)
	return err
}

// result tells whether a held thing is what the migration was for, or what the policy keeps.
func (t *turn) result(h Held) bool {
	return h.Keep || h.Kind == heldPower || (h.Kind == heldFile && t.options().CleanupPolicy == "KeepStaging")
}

// checks are those of the spec, and the guest agent where it is required.
func (t *turn) checks() []spec.Check {
	v := t.options().Validation
	if v.RequireGuestAgent {
		return append([]spec.Check{{Type: "GuestAgent"}}, v.Checks...)
	}
	return v.Checks
}

func probe(ctx context.Context, target targets.Target, t *turn, c spec.Check) (targets.Result, error) {
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	return target.Probe(ctx, t.owner(), *t.m.Status.Plan, c)
}

// notYet says what follows from checks that do not pass: wait, try again later, or a person.
func (t *turn) notYet(results []targets.Result, passed int) (Observation, error) {
	seen := fmt.Sprintf("%d of %d checks pass", passed, len(results))
	for _, r := range results {
		if r.Passed {
			continue
		}
		seen += fmt.Sprintf("; %s: %s", r.Check.Type, r.Detail)
		if t.late(actStart) {
			class, reason := fault.Transient, "NotReady"
			if r.Wrong {
				class, reason = fault.Blocked, "WrongContent"
			}
			return Observation{}, fault.Hint(fault.Newf(class, reason, "check %s after %s: %s", r.Check.Type, t.options().Validation.BootTimeout(), r.Detail),
				"look at the guest's console; the source is still there, untouched")
		}
	}
	return Observation{Sight: Running, Seen: seen}, nil
}

// settled keeps the older of two equal results, so that a check that is repeated with the same answer changes nothing.
func settled(old, now []targets.Result) []targets.Result {
	for i := range now {
		if i < len(old) && old[i].Check == now[i].Check && old[i].Passed == now[i].Passed && old[i].Detail == now[i].Detail {
			now[i].When = old[i].When
		}
	}
	return now
}
