// Package feed reads the desk for the console: it looks at one cheap number a few times a second and reads anew only
// what changed. It knows nothing of pages or terminals.
package feed

import (
	"time"

	"landfall/engine"
)

// Snapshot is everything that the console shows, as it was at one moment. It is never changed after it was delivered.
type Snapshot struct {
	Taken     time.Time
	Change    int64
	Lines     []engine.Line     // newest first
	Waiting   []engine.Decision // oldest first
	Endpoints []engine.Endpoint
	// Drafts are what is thought about, by their keys.
	Drafts map[string]*engine.Draft
	// Inventory is shared between snapshots as long as it is the same; Listing counts its versions.
	Inventory []engine.Listed
	Listing   int
	Beat      engine.Heartbeat // zero when there never was one
	Alive     bool             // an engine holds the workspace
	Detail    *Detail          // of the migration that is watched
	// Failure says why the desk could not be read; the rest is then of the last time that it could.
	Failure string
}

// Detail is one migration in full.
type Detail struct {
	Migration engine.Migration
	Decisions []engine.Decision
	Events    []engine.Event // oldest first, the newest few thousand
	Held      []engine.Held
	Notes     []engine.Note
}

// Line gives the line of a migration.
func (s *Snapshot) Line(uid string) (engine.Line, bool) {
	for _, l := range s.Lines {
		if l.UID == uid {
			return l, true
		}
	}
	return engine.Line{}, false
}

// Questions gives the open decisions of a migration, oldest first.
func (s *Snapshot) Questions(uid string) []engine.Decision {
	var out []engine.Decision
	for _, d := range s.Waiting {
		if d.Migration == uid {
			out = append(out, d)
		}
	}
	return out
}

// Moving tells whether something goes on by itself, so that clocks are worth drawing every second.
func (s *Snapshot) Moving() bool {
	if !s.Alive {
		return false
	}
	for _, l := range s.Lines {
		if !l.Phase.Terminal() && l.Phase != engine.ManualInterventionRequired {
			return true
		}
	}
	return false
}
