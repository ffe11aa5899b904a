package pages

import (
	"time"

	"charm.land/lipgloss/v2"

	"landfall/engine"
	"landfall/engine/plaintext"
	"landfall/ui/theme"
	"landfall/ui/widget"
)

// State is how a migration stands, in the order in which lists show it.
type State int

// The states.
const (
	Waits  State = iota // for a person
	Runs                // works
	Rests               // tries again by itself later
	Queued              // for a permit
	Done                // has ended
)

// StateOf tells how a migration stands.
func StateOf(l engine.Line) State {
	switch {
	case l.Phase.Terminal():
		return Done
	case l.Questions > 0 || l.Phase == engine.ManualInterventionRequired:
		return Waits
	case l.Phase == engine.Retryable:
		return Rests
	case l.Queue > 0:
		return Queued
	}
	return Runs
}

// Word says a phase as lists show it.
func Word(p engine.Phase) string {
	if p == engine.ManualInterventionRequired {
		return "NeedsPerson"
	}
	return string(p)
}

// Sign gives the glyph and the colour of a migration's state.
func Sign(th theme.Theme, l engine.Line) (string, lipgloss.Style) {
	switch StateOf(l) {
	case Waits:
		return th.Glyph.Ask, th.Warn
	case Rests:
		return th.Glyph.Rest, th.Warn
	case Queued:
		return th.Glyph.Todo, th.Muted
	case Done:
		if l.Phase == engine.Completed {
			return th.Glyph.Done, th.Good
		}
		if l.Phase == engine.Failed {
			return th.Glyph.Bad, th.Bad
		}
		return th.Glyph.Bad, th.Muted
	case Runs:
	}
	return th.Glyph.Current, th.Active
}

// Downtime says how long the source has been off so far, or was; "" while it is not.
func Downtime(t engine.Times, now time.Time) string {
	d, _, ok := t.Downtime(now)
	if !ok {
		return ""
	}
	return widget.Span(d)
}

// Short is the beginning of a UID that people use; verbs take it as well.
func Short(uid string) string {
	if n := len("01234567"); len(uid) > n {
		uid = uid[:n]
	}
	return plaintext.Label(uid)
}

// Target names where a migration goes.
func Target(l engine.Line) string {
	if l.Target == "" {
		return plaintext.Label(l.Namespace)
	}
	return plaintext.Label(l.Namespace + "/" + l.Target)
}
