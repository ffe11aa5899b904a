package engine

import (
	"time"

	"landfall/engine/spec"
)

// Decision is a question to a person. It is answered once; the answer is recorded before it is acted on; no answer means
// that nothing is done.
type Decision struct {
	ID        string    `json:"id"`
	Migration string    `json:"migration"`
	Kind      string    `json:"kind"`    // "power-off", "accept", "foreign-vm" …
	Subject   string    `json:"subject"` // what it is about, such as a rule and its object
	Phase     Phase     `json:"phase"`
	Question  string    `json:"question"`
	Why       string    `json:"why"`
	Value     string    `json:"value,omitempty"` // the finding's value when it was asked
	Options   []Option  `json:"options"`
	Opened    time.Time `json:"opened"`
	// Version is raised by every change; an answer names the version that the person saw.
	Version    int64     `json:"version"`
	Answer     string    `json:"answer,omitempty"` // an option's ID
	By         string    `json:"by,omitempty"`
	From       string    `json:"from,omitempty"` // terminal or address of the person
	AnsweredAt time.Time `json:"answeredAt,omitzero"`
	// Closed is when the question was acted on or fell away.
	Closed time.Time `json:"closed,omitzero"`
}

// Open tells whether a person is waited for.
func (d Decision) Open() bool { return d.Answer == "" && d.Closed.IsZero() }

// Given tells whether the answer came with the document: nobody was asked.
func (d Decision) Given() bool { return d.Answer != "" && len(d.Options) == 0 }

// GivenAnswer is the decision that an answer of a document is; the store adds its ID, who gave it, from where and when.
func GivenAnswer(uid string, a spec.Answer) Decision {
	answer := a.Answer
	if a.Choice != "" {
		answer += " " + a.Choice
	}
	return Decision{Migration: uid, Kind: accept, Subject: a.Finding, Phase: Validated, Value: a.Value, Answer: answer,
		Question: a.Finding + ": " + a.Value, Why: "It was answered before the migration was made, with its document."}
}

// Option is one answer that can be given.
type Option struct {
	ID        string `json:"id"`
	Label     string `json:"label"`
	Effect    string `json:"effect"`              // what happens then, and to whom
	Dangerous bool   `json:"dangerous,omitempty"` // cannot be undone: the VM's name must be typed
}
