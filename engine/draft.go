package engine

import (
	"time"

	"landfall/engine/preflight"
	"landfall/engine/spec"
)

// Draft is a migration that is thought about: a document that is looked at by the engine as Validated would, before
// anything is made of it.
type Draft struct {
	Key      string        `json:"key"` // of the document's source, by DraftKey
	Document spec.Document `json:"document"`
	Asked    time.Time     `json:"asked"`
	Preview  *Preview      `json:"preview,omitempty"` // of the document as it was at Preview.Asked; nil: not looked yet
}

// Stale tells whether the preview is of an older question, or older than its facts may be.
func (d Draft) Stale(now time.Time) bool {
	return d.Preview == nil || d.Preview.Asked.Before(d.Asked) || now.Sub(d.Preview.Taken) > FactsAge
}

// DraftKey names the draft of a VM: the endpoint in one spelling and the VM's identity there, or its name where it has none.
func DraftKey(s spec.Source) string {
	id := s.VM.Ref.String()
	if id == "" {
		id = "name " + s.VM.Name
	}
	return spec.Spelt(s.Address) + " " + id
}

// FactsAge is how long a look at source and target is taken for what is.
const FactsAge = 10 * time.Minute

// Preview is what a migration of a document would meet and make. Nothing was touched for it.
type Preview struct {
	Asked    time.Time            `json:"asked"` // the Draft's Asked that it answers
	Taken    time.Time            `json:"taken"`
	Findings []preflight.Finding  `json:"findings,omitempty"`
	Looked   map[string]time.Time `json:"looked,omitempty"`   // what was looked at ("source", "target", "host") and when
	Manifest string               `json:"manifest,omitempty"` // everything that would be created, as YAML documents
	Notes    []string             `json:"notes,omitempty"`
	Estimate *Estimate            `json:"estimate,omitempty"`
	// Rehearsed: the cluster was asked, by a dry run, and would take all of the manifest.
	Rehearsed bool   `json:"rehearsed,omitempty"`
	Failure   string `json:"failure,omitempty"` // why there is nothing more, ""
	Hint      string `json:"hint,omitempty"`
}

// Estimate is what a migration will cost, as far as it can be known before. Durations in seconds.
type Estimate struct {
	Capacity int64   `json:"capacity"` // bytes of all disks
	Read     int64   `json:"read"`     // bytes to read from the source at most
	Rate     float64 `json:"rate"`     // bytes per second that is reckoned with
	RateFrom string  `json:"rateFrom"` // where the rate is from, in words: measured, or assumed
	Shutdown float64 `json:"shutdown"` // until the guest must be off, before the downtime begins; 0: it is off
	Copy     float64 `json:"copy"`
	Deliver  float64 `json:"deliver"`
	Boot     float64 `json:"boot"`
	Downtime float64 `json:"downtime"` // source off to instance running: copy, delivery and boot
}
