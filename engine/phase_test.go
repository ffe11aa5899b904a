package engine

import (
	"strings"
	"testing"
)

// The transitions of a migration, written out by hand: from, then every phase that may follow. A rest goes back to the
// checkpoint that it came from, and to no other.
const transitions = `
Pending: Discovering ManualInterventionRequired
Discovering: Validated Retryable ManualInterventionRequired
Validated: Preparing Retryable ManualInterventionRequired
Preparing: Converting Retryable ManualInterventionRequired
Converting: Importing Retryable ManualInterventionRequired
Importing: CreatingVM Retryable ManualInterventionRequired
CreatingVM: Starting Retryable ManualInterventionRequired
Starting: Validating Retryable ManualInterventionRequired
Validating: Completed Retryable ManualInterventionRequired
Completed:
Failing: Failed
Failed:
Cancelling: Cancelled
Cancelled:`

var everyPhase = []Phase{Pending, Discovering, Validated, Preparing, Converting, Importing, CreatingVM, Starting, Validating, Completed,
	Retryable, ManualInterventionRequired, Failing, Failed, Cancelling, Cancelled}

func TestTransitions(t *testing.T) {
	want := map[string]bool{}
	for line := range strings.Lines(strings.TrimSpace(transitions)) {
		from, tos, _ := strings.Cut(strings.TrimSpace(line), ":")
		for _, to := range strings.Fields(tos) {
			want[from+" "+to] = true
		}
		if p := Phase(from); !p.Terminal() {
			want[from+" Failing"] = p != Failing
			want[from+" Cancelling"] = p != Failing && p != Cancelling
		}
	}
	for _, from := range everyPhase {
		for _, to := range everyPhase {
			if from.Rest() {
				continue
			}
			pair := string(from) + " " + string(to)
			if got := allowed(from, to, ""); got != want[pair] {
				t.Errorf("%s: allowed %v, want %v", pair, got, want[pair])
			}
		}
	}
}

func TestARestGoesBackToItsCheckpointOnly(t *testing.T) {
	for _, rest := range []Phase{Retryable, ManualInterventionRequired} {
		for _, resume := range Steps() {
			for _, to := range everyPhase {
				want := to == resume.Phase || to == Failing || to == Cancelling || (rest == Retryable && to == ManualInterventionRequired)
				if rest == to {
					want = false
				}
				if got := allowed(rest, to, resume.Phase); got != want {
					t.Errorf("%s, resting from %s, to %s: allowed %v, want %v", rest, resume.Phase, to, got, want)
				}
			}
		}
	}
}

func TestEveryRowCanBeReadByAnOperator(t *testing.T) {
	for _, r := range Table {
		switch {
		case r.Goal == "":
			t.Errorf("%s has no goal", r.Phase)
		case r.Phase.Terminal() && r.Next != "":
			t.Errorf("%s is terminal and leads to %s", r.Phase, r.Next)
		case !r.Phase.Terminal() && (r.Next == "" || r.Patience == 0 || r.Stuck == "" || steps[r.Phase] == nil):
			t.Errorf("%s lacks its next phase, patience, first checks or step", r.Phase)
		}
	}
}

func TestDecide(t *testing.T) {
	want := map[Sight]Move{Absent: Start, Partial: Resume, Running: Wait, Complete: Advance, Broken: Redo, Foreign: Ask, Unclear: Wait, "nonsense": Wait}
	for s, m := range want {
		if got := decide(s); got != m {
			t.Errorf("%s: %s, want %s", s, got, m)
		}
	}
}
