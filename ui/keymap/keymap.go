// Package keymap holds every key of the console in one place, so that no two can clash and the help and the documents
// are what really works. It knows no page.
package keymap

import (
	"charm.land/bubbles/v2/key"
	tea "charm.land/bubbletea/v2"
)

// Binding is a key with what it does. Changes marks those that a read-only console hides.
type Binding struct {
	key.Binding
	Changes bool
}

// Hit tells whether msg is one of the binding's keys.
func (b Binding) Hit(msg tea.KeyPressMsg) bool { return key.Matches(msg, b.Binding) }

// Group is the bindings of one place.
type Group struct {
	Name     string
	Bindings []Binding
}

func bind(shown, does string, keys ...string) Binding {
	return Binding{Binding: key.NewBinding(key.WithKeys(keys...), key.WithHelp(shown, does))}
}

func changes(shown, does string, keys ...string) Binding {
	b := bind(shown, does, keys...)
	b.Changes = true
	return b
}

// Everywhere.
var (
	Inventory   = bind("1", "inventory", "1")
	Migrations  = bind("2", "migrations", "2")
	Decisions   = bind("3", "decisions", "3")
	Help        = bind("?", "help", "?")
	Back        = bind("esc", "back", "esc")
	Quit        = bind("q", "detach; the engine goes on", "q")
	StartEngine = changes("E", "start the engine", "E")
	Copy        = bind("y", "copy what is selected", "y")
	Redraw      = bind("ctrl+l", "draw anew", "ctrl+l")
	Suspend     = bind("ctrl+z", "suspend to the shell", "ctrl+z")
	Leave       = bind("ctrl+c ctrl+c", "leave at once", "ctrl+c")
)

// In lists.
var (
	Up       = bind("k/up", "up", "k", "up")
	Down     = bind("j/down", "down", "j", "down")
	PageUp   = bind("pgup/ctrl+b", "a page up", "pgup", "ctrl+b")
	PageDown = bind("pgdn/ctrl+f", "a page down", "pgdown", "ctrl+f")
	Top      = bind("g/home", "to the top", "g", "home")
	Bottom   = bind("G/end", "to the bottom", "G", "end")
	Open     = bind("enter", "open", "enter")
	Filter   = bind("/", "filter", "/")
	Sort     = bind("s", "sort by the next column", "s")
	Reverse  = bind("S", "turn the order round", "S")
)

// On the inventory.
var (
	Mark    = bind("space", "mark", "space")
	Range   = bind("v", "mark from the last mark to here", "v")
	MarkAll = bind("a", "mark all that are listed, or none", "a")
	Migrate = changes("m", "migrate", "m")
	Refresh = changes("r", "refresh", "r")
	Check   = bind("p", "pre-flight", "p")
)

// On the pre-flight and the plan.
var (
	NextVM    = bind("tab/l/right", "next VM", "tab", "l", "right")
	PrevVM    = bind("shift+tab/h/left", "VM before", "shift+tab", "h", "left")
	Decide    = changes("d/enter", "decide", "d", "enter")
	Fix       = changes("x", "let the engine fix it", "x")
	LookAgain = changes("r", "look again", "r")
	ToPlan    = changes("m", "plan", "m")
	Edit      = changes("enter", "change, or start", "enter")
	Begin     = changes("m", "start", "m")
	Save      = changes("s", "save as a document", "s")
	Side      = bind("tab/l/right", "form, estimate, YAML", "tab", "l", "right")
)

// On migrations, one or all.
var (
	Answer = changes("d", "decide", "d")
	Cancel = changes("x", "cancel", "x")
	Retry  = changes("r", "retry now", "r")
)

// On one migration.
var (
	NextPart = bind("tab/l/right", "next part", "tab", "l", "right")
	PrevPart = bind("shift+tab/h/left", "part before", "shift+tab", "h", "left")
	Search   = bind("/", "search", "/")
	Next     = bind("n", "next match", "n")
	Previous = bind("N", "match before", "N")
	Follow   = bind("f", "follow the newest", "f")
	Wrap     = bind("w", "wrap long lines", "w")
	CutOver  = changes("c", "cut over", "c")
	Hold     = changes("o", "hold, unhold", "o")
	Throttle = changes("t", "throttle", "t")
	Pause    = changes("z", "pause, resume", "z")
)

// In dialogs.
var (
	Accept     = bind("enter", "take the choice", "enter")
	NextChoice = bind("tab/right/down", "next", "tab", "right", "down")
	PrevChoice = bind("shift+tab/left/up", "before", "shift+tab", "left", "up")
)

var moving = []Binding{Up, Down, PageUp, PageDown, Top, Bottom}

// The groups, as the help shows them.
var (
	Global      = Group{"Everywhere", []Binding{Inventory, Migrations, Decisions, Help, Back, Copy, StartEngine, Redraw, Suspend, Quit, Leave}}
	Moving      = Group{"Lists and texts", moving}
	OnInventory = Group{"Inventory", []Binding{Open, Filter, Mark, Range, MarkAll, Sort, Reverse, Check, Migrate, Refresh}}
	OnPreflight = Group{"Pre-flight", []Binding{Decide, Fix, LookAgain, NextVM, PrevVM, ToPlan}}
	OnPlan      = Group{"Plan", []Binding{Edit, Begin, Side, Save, Check, LookAgain}}
	OnList      = Group{"Migrations", []Binding{Open, Filter, Sort, Reverse, Answer, Cancel, Retry}}
	OnMigration = Group{"Migration", []Binding{NextPart, PrevPart, Answer, Cancel, Retry, CutOver, Hold, Throttle, Pause, Search, Next, Previous, Follow, Wrap}}
	OnDecisions = Group{"Decisions", []Binding{withHelp(Open, "see the migration"), Answer, Filter}}
	InDialog    = Group{"Dialogs", []Binding{NextChoice, Accept, withHelp(Back, "go back; never approves"), PrevChoice}}
)

// Groups are all groups in the order of the help.
func Groups() []Group {
	return []Group{Global, Moving, OnInventory, OnPreflight, OnPlan, OnList, OnMigration, OnDecisions, InDialog}
}

func withHelp(b Binding, does string) Binding {
	b.SetHelp(b.Help().Key, does)
	return b
}

// Allowed leaves out what a read-only console hides.
func Allowed(bindings []Binding, readOnly bool) []Binding {
	if !readOnly {
		return bindings
	}
	var out []Binding
	for _, b := range bindings {
		if !b.Changes {
			out = append(out, b)
		}
	}
	return out
}
