package warm

import "time"

// Row is one phase of a coordinator or a worker. Reading a table from top to bottom is reading the successful path.
type Row[P ~string] struct {
	Phase    P
	Next     P      // "" where the phase is terminal or an interrupt
	Goal     string // what must be true to leave, as the operator reads it
	Patience time.Duration
	Stuck    string // the first things to check
}

// Table is the phases of one machine, with its two interrupts: cancelling and failing.
type Table[P ~string] struct {
	Rows                                   []Row[P]
	Cancelling, Cancelled, Failing, Failed P
}

// Row gives the row of a phase.
func (t Table[P]) Row(p P) (Row[P], bool) {
	for _, r := range t.Rows {
		if r.Phase == p {
			return r, true
		}
	}
	return Row[P]{}, false
}

// Terminal tells whether a phase is never left.
func (t Table[P]) Terminal(p P) bool {
	r, ok := t.Row(p)
	return ok && r.Next == ""
}

// Allowed tells whether the machine may go from one phase to another: along the rows; from every phase that is not
// terminal to cancelling and failing; failing beats cancelling and is beaten by nothing.
func (t Table[P]) Allowed(from, to P) bool {
	r, ok := t.Row(from)
	if !ok || r.Next == "" || from == to {
		return false
	}
	switch {
	case to == r.Next:
		return true
	case to == t.Failing:
		return true
	case to == t.Cancelling:
		return from != t.Failing
	}
	return false
}
