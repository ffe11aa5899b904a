package engine

import (
	"context"
	"fmt"
	"time"

	"landfall/engine/fault"
	"landfall/engine/machine"
	"landfall/engine/spec"
)

// powerKind is the kind of decision about the source's power.
const powerKind = "power-off"

// powerMove is what is done next about the power of the source.
type powerMove string

const (
	shutdown powerMove = "shutdown"
	hardOff  powerMove = "hard off"
)

// seePower says what follows from a source that is not off. Whatever was copied before is worth nothing when the VM ran
// in between, so it is forgotten first.
func (t *turn) seePower() (Observation, error) {
	st := &t.m.Status
	policy := t.options().Source.PowerOffPolicy
	if st.Inventory.Power == machine.Off {
		t.condition(SourcePoweredOff, false, "PoweredOn", "the source was powered on again")
		t.forgetCopies("the source was powered on again")
		st.Inventory.Power, st.Times.SourcePoweredOff, st.Shutdown = st.Power, time.Time{}, nil
		return Observation{}, fault.Hint(fault.Newf(fault.Blocked, "PoweredOnAgain", "%s was powered on again after it had been seen off; the disks will be copied anew", st.Inventory.Ref),
			"find out who started it; then retry to shut it down again, or cancel")
	}
	if d := t.answer(powerKind, "source"); d != nil {
		return t.powerAnswer(d), nil
	}
	if i := t.intent(actPowerOff); i != nil && i.Done.IsZero() {
		return Observation{Sight: Partial, Seen: "hard power-off was decided, the source is still on", next: hardOff}, nil
	}
	s := st.Shutdown
	switch {
	case policy == spec.Never:
		return Observation{}, fault.Hint(fault.Newf(fault.Blocked, "PowerPolicy", "%s is on and powerOffPolicy is Never", st.Inventory.Ref), "shut it down by hand; then retry")
	case s != nil && s.HandOver:
		return Observation{Sight: Running, Seen: "waiting for a person to shut the source down", again: t.e.Poll}, nil
	case s != nil && s.Sent.IsZero() && st.Inventory.Tools == machine.ToolsRunning:
		return Observation{Sight: Partial, Seen: "the guest is to be asked to shut down", next: shutdown}, nil
	case s != nil && t.patient(s):
		return Observation{Sight: Running, Seen: "the guest is shutting down", again: min(watchEvery, t.e.Poll, s.Deadline.Sub(t.now))}, nil
	case s == nil && st.Inventory.Tools == machine.ToolsRunning && st.Power == machine.On:
		deadline := t.now.Add(t.options().Source.ShutdownTimeout())
		st.Shutdown = &Shutdown{Asked: t.now, Deadline: deadline}
		t.intend(actShutdown, "powerOffPolicy "+string(policy))
		return Observation{Sight: Absent, Seen: "the source is on", next: shutdown}, nil
	}
	why := "its tools do not run, so the guest cannot be asked"
	switch {
	case st.Power == machine.Suspended:
		why = "it is suspended: powered off, it loses what its memory holds"
	case s != nil:
		why = fmt.Sprintf("it did not shut down in %s", s.Deadline.Sub(s.Asked).Round(time.Second))
	}
	switch policy {
	case spec.GracefulThenForce:
		t.intend(actPowerOff, "powerOffPolicy GracefulThenForce: "+why)
		return Observation{Sight: Absent, Seen: "the source is still on", next: hardOff}, nil
	case spec.Graceful:
		return Observation{}, fault.Hint(fault.Newf(fault.Blocked, "NoGracefulShutdown", "%s is on: %s, and powerOffPolicy Graceful forbids a hard power-off", st.Inventory.Ref, why),
			"shut the guest down by hand, then retry; or change powerOffPolicy")
	}
	return Observation{Sight: Foreign, Seen: "the source is on: " + why, Questions: []Question{t.powerQuestion(why)}}, nil
}

// patient tells whether the guest still has time, and keeps the deadline that people see in step with the time that counts.
func (t *turn) patient(s *Shutdown) bool {
	if s.Deadline.Equal(s.Sent) {
		return false // it cannot be asked any more
	}
	if p := &t.r.guest; !p.asked.Equal(s.Asked) {
		*p = patience{asked: s.Asked, since: t.now}
		if left := t.options().Source.ShutdownTimeout(); s.Deadline.Sub(t.now) < left-time.Second || s.Deadline.Sub(t.now) > left {
			s.Deadline = t.now.Add(left)
		}
	}
	return t.now.Sub(t.r.guest.since) < t.options().Source.ShutdownTimeout()
}

func (t *turn) powerQuestion(why string) Question {
	name := t.m.VMName()
	return Question{Kind: powerKind, Subject: "source",
		Question: fmt.Sprintf("%s is still on. Power it off hard?", name),
		Why:      "The disks can only be copied when the VM is off, and " + why + ".",
		Options: []Option{
			{ID: "wait", Label: "Wait on", Effect: fmt.Sprintf("ask the guest again and wait another %s", t.options().Source.ShutdownTimeout())},
			{ID: "hard", Label: "Hard power-off", Effect: "pulls the plug of " + name + ": what the guest has not written is lost, as in a power cut", Dangerous: true},
			{ID: "handover", Label: "I shut it down", Effect: "Landfall waits, without end, until the VM is off"},
			{ID: cancelAnswer, Label: "Cancel the migration", Effect: "the VM goes on running; nothing was copied", Dangerous: true},
		}}
}

// powerAnswer turns a person's answer into the next move; the answer was recorded by the store before it came here.
func (t *turn) powerAnswer(d *Decision) Observation {
	st := &t.m.Status
	t.settle(d)
	switch d.Answer {
	case "hard":
		t.intend(actPowerOff, "decided by "+d.By)
		return Observation{Sight: Partial, Seen: "hard power-off was decided by " + d.By, next: hardOff}
	case "handover":
		st.Shutdown = &Shutdown{Asked: t.now, Deadline: t.now, HandOver: true}
		return Observation{Sight: Running, Seen: d.By + " shuts the source down"}
	}
	st.Shutdown = &Shutdown{Asked: t.now, Deadline: t.now.Add(t.options().Source.ShutdownTimeout())}
	if st.Inventory.Tools != machine.ToolsRunning {
		return Observation{Sight: Running, Seen: "waiting for the source to be off"}
	}
	return Observation{Sight: Partial, Seen: "asking the guest once more", next: shutdown}
}

// power acts on the source. Its state is looked at right before, so that a VM that went off meanwhile is left alone; the
// intent has been committed.
func (t *turn) power(ctx context.Context, move powerMove) error {
	src, err := t.source(ctx)
	if err != nil {
		return err
	}
	ref := t.m.Status.Inventory.Ref
	now, err := src.Power(ctx, ref)
	if err != nil || now == machine.Off {
		return err
	}
	if move == hardOff {
		t.event("warn", "PowerOff", "hard power-off of %s", ref)
		return src.PowerOff(ctx, ref)
	}
	t.event("info", "Shutdown", "the guest of %s is asked to shut down", ref)
	err = src.Shutdown(ctx, ref)
	s := t.m.Status.Shutdown
	switch {
	case fault.Is(err, fault.ToolsUnavailable):
		// The tools have stopped since they were looked at: the time for a graceful shutdown is over.
		s.Sent, s.Deadline = t.now, t.now
		t.event("warn", "Shutdown", "%s", err)
		return nil
	case err == nil:
		s.Sent, s.Deadline = t.now, t.now.Add(t.options().Source.ShutdownTimeout())
	}
	return err
}
