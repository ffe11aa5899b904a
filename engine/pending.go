package engine

import (
	"context"
	"reflect"

	"landfall/engine/fault"
)

// pending freezes the options: from here on a migration does not change because a default did.
type pending struct{}

func (pending) observe(_ context.Context, t *turn) (Observation, error) {
	st := &t.m.Status
	if err := t.m.Document.Validate(); err != nil {
		return Observation{}, fault.Hint(fault.New(fault.Blocked, "InvalidSpec", err), "mend the document and apply it again")
	}
	o := t.m.Document.Spec.Default()
	st.Options, st.ObservedGeneration, st.ObservedRetry = &o, t.m.Generation, t.m.Retry
	once(&st.Times.Created, t.m.Created)
	once(&st.Times.Started, t.now)
	return Observation{Sight: Complete, Seen: "options are frozen"}, nil
}

func (pending) act(context.Context, *turn, Observation) error { return nil }

// refreeze takes a changed document into the options, and tells whether anything was taken. Once the source was
// touched, only what cannot make done work wrong is taken.
func (t *turn) refreeze() bool {
	st := &t.m.Status
	st.ObservedGeneration = t.m.Generation
	if st.Options == nil {
		return true
	}
	old, next := *st.Options, t.m.Document.Spec.Default()
	t.keepChoices(old, &next)
	if t.touched() {
		kept := old
		kept.Strategy.Throttle, kept.Strategy.Paused, kept.Strategy.RetryLimit = next.Strategy.Throttle, next.Strategy.Paused, next.Strategy.RetryLimit
		kept.Strategy.Warm = next.Strategy.Warm
		kept.Validation, kept.CleanupPolicy = next.Validation, next.CleanupPolicy
		kept.Source.PowerOffPolicy, kept.Source.ShutdownSeconds = next.Source.PowerOffPolicy, next.Source.ShutdownSeconds
		kept.Source.Password, kept.Source.TLS, kept.Source.Username = next.Source.Password, next.Source.TLS, next.Source.Username
		kept.Destination.UploadProxy, kept.Destination.ServeAddress = next.Destination.UploadProxy, next.Destination.ServeAddress
		if st.Plan == nil || len(t.volumesMade()) == 0 {
			kept.Destination, kept.Storage, kept.Network, kept.PreserveMACAddress = next.Destination, next.Storage, next.Network, next.PreserveMACAddress
			st.Plan = nil
		}
		if !reflect.DeepEqual(kept, next) {
			t.event("warn", "SpecChange", "a part of the changed document is not taken: the migration has gone too far for it")
		}
		next = kept
	}
	if reflect.DeepEqual(old, next) {
		return true
	}
	st.Options = &next
	t.event("info", "SpecChange", "the changed document is taken (generation %d)", t.m.Generation)
	return true
}

// touched tells whether the migration has gone beyond looking.
func (t *turn) touched() bool {
	p := t.m.Status.Phase
	if p.Rest() {
		p = t.m.Status.Resume
	}
	return p != Pending && p != Discovering && p != Validated
}

// volumesMade gives the names of the volumes that were made, or may have been.
func (t *turn) volumesMade() (names []string) {
	for _, d := range t.m.Status.Disks {
		if d.Volume != "" {
			names = append(names, d.Volume)
		}
	}
	return names
}
