package report

import (
	"fmt"
	"time"

	"landfall/engine"
	"landfall/engine/warm"
)

// Warm is the story of a migration whose source ran while it was copied.
type Warm struct {
	Phase    warm.CoordinatorPhase `json:"phase"`
	Word     string                `json:"word,omitempty"`     // on whose word, or by which window, the source was stopped
	Forecast string                `json:"forecast,omitempty"` // of the downtime, at that moment
	Known    bool                  `json:"known"`              // the forecast knew every part
	Parts    *warm.Forecast        `json:"parts,omitempty"`
	Failure  string                `json:"failure,omitempty"` // the first reason
	Disks    []Rounds              `json:"disks"`
	History  []warm.Change         `json:"history"`
}

// Rounds are the passes over one disk.
type Rounds struct {
	Disk   int              `json:"disk"`
	Phase  warm.WorkerPhase `json:"phase"`
	Reader string           `json:"reader"`
	Count  int              `json:"count"`
	Rounds []warm.Round     `json:"rounds"`
}

// online gives the story, or nil for a migration that is not warm.
func online(st engine.Status) *Warm {
	s := st.Warm
	if s == nil {
		return nil
	}
	w := &Warm{Phase: s.Phase, Word: s.Word, Parts: s.Promised, Failure: s.Failure, History: s.History}
	if s.Promised != nil {
		var total time.Duration
		total, w.Known = s.Promised.Total()
		w.Forecast = total.Round(time.Millisecond).String()
	}
	for _, d := range s.Workers {
		w.Disks = append(w.Disks, Rounds{d.Index, d.Phase, d.Reader, d.Count, d.Rounds})
	}
	return w
}

// forecast says what was forecast beside what was measured.
func (w *Warm) forecast() string {
	switch {
	case w == nil || w.Parts == nil:
		return ""
	case w.Known:
		return w.Forecast
	}
	text := "at least " + w.Forecast
	for _, p := range []struct {
		name string
		part warm.Part
	}{{"catch-up", w.Parts.CatchUp}, {"conversion", w.Parts.Conversion}, {"delivery", w.Parts.Delivery}, {"boot", w.Parts.Boot}} {
		if !p.part.Known {
			text += fmt.Sprintf("; %s: %s", p.name, p.part.From)
		}
	}
	return text
}

// rounds tells the passes over the disks, one line each.
func (w *Warm) rounds() (lines []string) {
	if w == nil {
		return nil
	}
	for _, d := range w.Disks {
		for _, r := range d.Rounds {
			line := fmt.Sprintf("disk %d, round %d (%s): %d bytes in %s", d.Disk, r.Number, r.Kind, r.Bytes, time.Duration(r.Seconds*float64(time.Second)).Round(time.Millisecond))
			if r.Rate > 0 {
				line += fmt.Sprintf(", %.0f bytes a second", r.Rate)
			}
			if r.Reason != "" {
				line += "; read whole again: " + r.Reason
			}
			lines = append(lines, line)
		}
	}
	return lines
}
