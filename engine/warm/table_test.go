package warm

import (
	"strings"
	"testing"
)

// The exact transitions, written out by hand: "FROM TO".
const coordinatorTransitions = `
INITIALIZING ACTIVE
ACTIVE PREPARING_TARGET
PREPARING_TARGET CUTTING_OVER
CUTTING_OVER CATCHING_UP
CATCHING_UP COMPLETING
COMPLETING COMPLETED
INITIALIZING CANCELLING
ACTIVE CANCELLING
PREPARING_TARGET CANCELLING
CUTTING_OVER CANCELLING
CATCHING_UP CANCELLING
COMPLETING CANCELLING
CANCELLING CANCELLED
INITIALIZING FAILING
ACTIVE FAILING
PREPARING_TARGET FAILING
CUTTING_OVER FAILING
CATCHING_UP FAILING
COMPLETING FAILING
CANCELLING FAILING
FAILING FAILED`

const workerTransitions = `
PENDING ACQUIRING_LEASE
ACQUIRING_LEASE BACKFILLING
BACKFILLING REPLAYING
REPLAYING CONVERGING
CONVERGING CONVERGED
CONVERGED CATCHING_UP
CATCHING_UP COMPLETING
COMPLETING COMPLETED
PENDING CANCELLING
ACQUIRING_LEASE CANCELLING
BACKFILLING CANCELLING
REPLAYING CANCELLING
CONVERGING CANCELLING
CONVERGED CANCELLING
CATCHING_UP CANCELLING
COMPLETING CANCELLING
CANCELLING CANCELLED
PENDING FAILING
ACQUIRING_LEASE FAILING
BACKFILLING FAILING
REPLAYING FAILING
CONVERGING FAILING
CONVERGED FAILING
CATCHING_UP FAILING
COMPLETING FAILING
CANCELLING FAILING
FAILING FAILED`

func TestTransitions(t *testing.T) {
	t.Run("coordinator", func(t *testing.T) { exactly(t, Coordinator, coordinatorTransitions, "COMPLETED CANCELLED FAILED", 11) })
	t.Run("worker", func(t *testing.T) { exactly(t, Worker, workerTransitions, "COMPLETED CANCELLED FAILED", 13) })
}

// exactly tries every pair of phases.
func exactly[P ~string](t *testing.T, table Table[P], want, terminal string, phases int) {
	t.Helper()
	if len(table.Rows) != phases {
		t.Errorf("%d phases, want %d", len(table.Rows), phases)
	}
	allowed := map[string]bool{}
	for line := range strings.Lines(strings.TrimSpace(want)) {
		allowed[strings.TrimSpace(line)] = true
	}
	for _, from := range table.Rows {
		for _, to := range table.Rows {
			pair := string(from.Phase) + " " + string(to.Phase)
			if got := table.Allowed(from.Phase, to.Phase); got != allowed[pair] {
				t.Errorf("%s: allowed %v, want %v", pair, got, allowed[pair])
			}
			delete(allowed, pair)
		}
		if got, want := table.Terminal(from.Phase), strings.Contains(" "+terminal+" ", " "+string(from.Phase)+" "); got != want {
			t.Errorf("%s: terminal %v, want %v", from.Phase, got, want)
		}
		if from.Goal == "" || (from.Next != "" && from.Stuck == "") {
			t.Errorf("%s: no goal or first checks", from.Phase)
		}
	}
	for pair := range allowed {
		t.Errorf("%s: no such phases", pair)
	}
}

func TestAnUnknownPhaseLeadsNowhere(t *testing.T) {
	if Coordinator.Allowed("NONSENSE", Active) || Coordinator.Allowed("", Failing) || Worker.Terminal("NONSENSE") {
		t.Error("a phase that is in no table leads somewhere")
	}
}
