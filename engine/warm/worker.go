package warm

import "time"

// WorkerPhase is a phase of one disk.
type WorkerPhase string

const (
	WorkerPending        WorkerPhase = "PENDING"
	WorkerAcquiringLease WorkerPhase = "ACQUIRING_LEASE"
	WorkerBackfilling    WorkerPhase = "BACKFILLING"
	WorkerReplaying      WorkerPhase = "REPLAYING"
	WorkerConverging     WorkerPhase = "CONVERGING"
	WorkerConverged      WorkerPhase = "CONVERGED"
	WorkerCatchingUp     WorkerPhase = "CATCHING_UP"
	WorkerCompleting     WorkerPhase = "COMPLETING"
	WorkerCompleted      WorkerPhase = "COMPLETED"
	WorkerCancelling     WorkerPhase = "CANCELLING"
	WorkerCancelled      WorkerPhase = "CANCELLED"
	WorkerFailing        WorkerPhase = "FAILING"
	WorkerFailed         WorkerPhase = "FAILED"
)

// Worker is a disk's table.
var Worker = Table[WorkerPhase]{
	Rows: []Row[WorkerPhase]{
		{WorkerPending, WorkerAcquiringLease, "a copy permit is held", time.Hour, "copy permits of the host and the target"},
		{WorkerAcquiringLease, WorkerBackfilling, "our snapshot is there and its change id is recorded", 10 * time.Minute,
			"snapshot errors of the source; room on its datastore; quiescing in the guest"},
		{WorkerBackfilling, WorkerReplaying, "the allocated areas at the snapshot are copied", 15 * time.Minute,
			"read rate and errors of the source; write errors and room for staging"},
		{WorkerReplaying, WorkerConverging, "the areas changed since the recorded change id are applied", 15 * time.Minute,
			"change tracking of the disk; read errors"},
		{WorkerConverging, WorkerConverged, "the gap is below the threshold, or the projected downtime within the budget", time.Hour,
			"write rate of the guest against the replay rate; number of rounds"},
		{WorkerConverged, WorkerCatchingUp, "the coordinator has cut over; until then the disk is kept up to date", 0,
			"the coordinator's phase"},
		{WorkerCatchingUp, WorkerCompleting, "the last changed areas are applied after the source is off", 30 * time.Minute,
			"power state of the source; read errors; change tracking"},
		{WorkerCompleting, WorkerCompleted, "the snapshot is seen gone and the digest is final", 15 * time.Minute,
			"snapshot removal on the source"},
		{Phase: WorkerCompleted, Goal: "the disk is finished"},
		{WorkerCancelling, WorkerCancelled, "work is stopped and the lease is released", 15 * time.Minute, "snapshot removal on the source"},
		{Phase: WorkerCancelled, Goal: "the worker was cancelled"},
		{WorkerFailing, WorkerFailed, "work is stopped and the lease is released", 15 * time.Minute, "snapshot removal on the source"},
		{Phase: WorkerFailed, Goal: "the worker has failed"},
	},
	Cancelling: WorkerCancelling, Cancelled: WorkerCancelled, Failing: WorkerFailing, Failed: WorkerFailed,
}
