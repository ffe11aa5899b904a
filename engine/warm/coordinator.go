package warm

import "time"

// CoordinatorPhase is a phase of the migration as a whole.
type CoordinatorPhase string

const (
	Initializing    CoordinatorPhase = "INITIALIZING"
	Active          CoordinatorPhase = "ACTIVE"
	PreparingTarget CoordinatorPhase = "PREPARING_TARGET"
	CuttingOver     CoordinatorPhase = "CUTTING_OVER"
	CatchingUp      CoordinatorPhase = "CATCHING_UP"
	Completing      CoordinatorPhase = "COMPLETING"
	Completed       CoordinatorPhase = "COMPLETED"
	Cancelling      CoordinatorPhase = "CANCELLING"
	Cancelled       CoordinatorPhase = "CANCELLED"
	Failing         CoordinatorPhase = "FAILING"
	Failed          CoordinatorPhase = "FAILED"
)

// Coordinator is the migration's table.
var Coordinator = Table[CoordinatorPhase]{
	Rows: []Row[CoordinatorPhase]{
		{Initializing, Active, "the request is valid, options are frozen, the inventory is recorded, change tracking is on, the workers are made", 2 * time.Minute,
			"reach of the source; consent to enable change tracking"},
		{Active, PreparingTarget, "every worker has converged while the source runs", time.Hour,
			"the workers' own phases; write rate of the guest against the read rate"},
		{PreparingTarget, CuttingOver, "volumes are bound, the virtual machine is rendered and halted, capacity was seen", 4 * time.Hour,
			"PVC binding; capacity of the nodes; settings left on the target"},
		{CuttingOver, CatchingUp, "the source is off, at the operator's word or in the agreed window", 30 * time.Minute,
			"guest shutdown and Tools; a decision about a hard power-off"},
		{CatchingUp, Completing, "every worker has replayed what changed since its last round", 30 * time.Minute,
			"power state of the source; read errors; change tracking"},
		{Completing, Completed, "digests agree and the leases are released", 15 * time.Minute,
			"snapshot removal on the source; digests of the disks"},
		{Phase: Completed, Goal: "the disks are handed over to conversion"},
		{Cancelling, Cancelled, "workers have stopped and cleaned up", 15 * time.Minute, "snapshot removal on the source"},
		{Phase: Cancelled, Goal: "the migration was cancelled; what is left is listed"},
		{Failing, Failed, "workers have stopped and cleaned up", 15 * time.Minute, "snapshot removal on the source"},
		{Phase: Failed, Goal: "the migration has failed; the first reason is kept"},
	},
	Cancelling: Cancelling, Cancelled: Cancelled, Failing: Failing, Failed: Failed,
}
