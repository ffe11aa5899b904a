// Package pages says what the pages of the console have in common: they are given keys and snapshots, draw themselves
// into a size, and answer with an action that the root carries out. A page never does any I/O and never imports a driver.
package pages

import (
	tea "charm.land/bubbletea/v2"

	"landfall/engine"
	"landfall/engine/preflight"
	"landfall/engine/spec"
	"landfall/ui/feed"
	"landfall/ui/keymap"
	"landfall/ui/theme"
)

// Page is one screen.
type Page interface {
	// Set gives the page the newest snapshot and may answer with work to be done aside.
	Set(s *feed.Snapshot) Action
	// Update takes a key, a paste, or the result of work that the page asked for.
	Update(msg tea.Msg) Action
	// View draws the page.
	View(width, height int) string
	// Back tells whether esc meant something on the page itself.
	Back() bool
	// Typing tells whether keys are text.
	Typing() bool
	// Keys are the page's own keys, the most wanted first.
	Keys() []keymap.Binding
	// Selected is what a copy takes, "" for nothing.
	Selected() string
	// Theme changes the look.
	Theme(th theme.Theme)
}

// Action is what a page or a dialog wants done: one of the types below, or nil.
type Action any

// What is shown.
type (
	// Open shows a migration.
	Open struct{ UID string }
	// AskDecision opens a decision's dialog.
	AskDecision struct{ Decision engine.Decision }
	// AskCancel opens the dialog that cancels a migration.
	AskCancel struct{ UID string }
	// AskCutOver opens the dialog that gives the word to stop a source; Effect says what happens then.
	AskCutOver struct{ UID, Effect string }
	// AskPlan shows the plan of VMs; none: of those that are planned already.
	AskPlan struct{ VMs []engine.Listed }
	// AskPreflight shows what stands in the way of VMs; none: of those that are planned already.
	AskPreflight struct{ VMs []engine.Listed }
	// AskOne offers choices in a dialog that starts on going back.
	AskOne struct {
		Title, Text string
		Choices     []Choice
	}
	// AskText asks for one line of text.
	AskText struct {
		Title, Text, Value string
		Take               func(text string) Action
	}
	// Say shows a line until the next key.
	Say struct{ Text string }
	// Aside runs work on a goroutine of its own; its result comes back to the page.
	Aside struct{ Work tea.Cmd }
)

// Choice is one that a dialog offers.
type Choice struct {
	Label  string
	Effect string // what happens then
	// Take gives what is to be done. It runs in the console's own loop and may change the page that asked.
	Take func() Action
}

// What is done.
type (
	// GiveAnswer answers a decision.
	GiveAnswer struct {
		Decision engine.Decision
		Option   engine.Option
	}
	// CancelMigration makes cancelling a durable want.
	CancelMigration struct{ UID, Name string }
	// CutOver gives the word to stop the source of a warm migration.
	CutOver struct{ UID, Name string }
	// Adjust changes how a running migration copies or waits; Change may be called again where another changed it meanwhile.
	Adjust struct {
		UID, Name, Said string
		Change          func(*spec.Strategy)
	}
	// RetryNow ends a rest.
	RetryNow struct{ UID, Name string }
	// Start makes migrations of documents.
	Start struct{ Documents []spec.Document }
	// Look asks the engine to look at documents, before anything is made of them.
	Look struct{ Documents []spec.Document }
	// Save writes documents into a file that only its owner reads; it replaces one only where Replace says so.
	Save struct {
		Path      string
		Documents []spec.Document
		Replace   bool
	}
	// Refresh lists all sources anew.
	Refresh struct{}
)

// Changes tells whether an action changes anything, which a read-only console refuses.
func Changes(a Action) bool {
	switch a.(type) {
	case AskDecision, AskCancel, AskCutOver, AskPlan, Look, Save, GiveAnswer, CancelMigration, CutOver, Adjust, RetryNow, Start, Refresh:
		return true
	}
	return false
}

// Verdict judges a VM for the inventory: a short label and the weight of its worst finding, "" for none. It is pure and
// may be called from any goroutine.
type Verdict func(engine.Listed) (label string, level preflight.Level)
