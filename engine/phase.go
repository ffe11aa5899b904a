package engine

import "time"

// Phase is a reconciliation checkpoint: what the engine is working to make true right now.
type Phase string

const (
	Pending     Phase = "Pending"
	Discovering Phase = "Discovering"
	Validated   Phase = "Validated"
	Preparing   Phase = "Preparing"
	Converting  Phase = "Converting"
	Importing   Phase = "Importing"
	CreatingVM  Phase = "CreatingVM"
	Starting    Phase = "Starting"
	Validating  Phase = "Validating"
	Completed   Phase = "Completed"

	Retryable                  Phase = "Retryable"
	ManualInterventionRequired Phase = "ManualInterventionRequired"

	Failing    Phase = "Failing"
	Failed     Phase = "Failed"
	Cancelling Phase = "Cancelling"
	Cancelled  Phase = "Cancelled"
)

// Row is one checkpoint. Reading the table from top to bottom is reading the product.
type Row struct {
	Phase    Phase
	Next     Phase         // entered only after the goal was observed
	Goal     string        // what must be true to leave, as the operator reads it
	Patience time.Duration // silence for longer than this is shown as stuck
	Retry    bool          // may rest as Retryable
	Ask      bool          // may rest as ManualInterventionRequired
	Once     bool          // acting twice would hurt: the intent is written first
	Stuck    string        // the first things to check
}

// Table is the migration, checkpoint by checkpoint.
var Table = []Row{
	{Phase: Pending, Next: Discovering, Goal: "the spec is accepted and its options are frozen", Patience: time.Minute,
		Ask: true, Stuck: "is the engine running (landfall doctor)?"},
	{Phase: Discovering, Next: Validated, Goal: "the VM is found by its identity and its inventory is recorded", Patience: 2 * time.Minute,
		Retry: true, Ask: true, Stuck: "address, route and port 443 of the source; its sessions; the user's read privilege"},
	{Phase: Validated, Next: Preparing, Goal: "every rule passes or was accepted by a person", Patience: 2 * time.Minute,
		Retry: true, Ask: true, Stuck: "findings of the migration; reachability of the cluster's API"},
	{Phase: Preparing, Next: Converting, Goal: "the source is off and every disk is acquired intact", Patience: 10 * time.Minute,
		Retry: true, Ask: true, Once: true, Stuck: "guest shutdown and Tools; copy permits of the host; read rate and errors of the source; room for staging"},
	{Phase: Converting, Next: Importing, Goal: "a checked artifact with a recorded digest exists for every disk", Patience: 10 * time.Minute,
		Retry: true, Ask: true, Stuck: "the converter's last line; room for staging"},
	{Phase: Importing, Next: CreatingVM, Goal: "every disk's DataVolume has Succeeded with what was prepared", Patience: 10 * time.Minute,
		Retry: true, Ask: true, Stuck: "PVC binding and scratch space; CDI pods; reach and certificate of the upload proxy"},
	{Phase: CreatingVM, Next: Starting, Goal: "the virtual machine is ours, as rendered, and halted", Patience: 2 * time.Minute,
		Retry: true, Ask: true, Stuck: "admission webhooks of KubeVirt; an object of the same name"},
	{Phase: Starting, Next: Validating, Goal: "the virtual machine's instance runs", Patience: 5 * time.Minute,
		Retry: true, Ask: true, Once: true, Stuck: "free capacity and /dev/kvm on the nodes; virt-launcher's events"},
	{Phase: Validating, Next: Completed, Goal: "every check of the spec passes", Patience: 5 * time.Minute,
		Retry: true, Ask: true, Stuck: "the guest's console; its network and drivers; the checks' last answers"},
	{Phase: Completed, Goal: "staging is cleaned and the report is written"},

	{Phase: Failing, Next: Failed, Goal: "what was made is cleaned up, or listed as left", Patience: 5 * time.Minute,
		Stuck: "held resources of the migration; reachability of the cluster's API"},
	{Phase: Failed, Goal: "the migration has failed; the source disk is untouched"},
	{Phase: Cancelling, Next: Cancelled, Goal: "work is stopped and what was made is cleaned up, or listed as left", Patience: 5 * time.Minute,
		Stuck: "held resources of the migration; reachability of the cluster's API"},
	{Phase: Cancelled, Goal: "the migration was cancelled; the source disk is untouched"},
}

// RowOf gives the row of a phase; ok is false for the rests, which have none.
func RowOf(p Phase) (Row, bool) {
	for _, r := range Table {
		if r.Phase == p {
			return r, true
		}
	}
	return Row{}, false
}

// Terminal tells whether a phase is never left.
func (p Phase) Terminal() bool { return p == Completed || p == Failed || p == Cancelled }

// Rest tells whether nothing is done in the phase until its time or a person comes.
func (p Phase) Rest() bool { return p == Retryable || p == ManualInterventionRequired }

// Steps are the ten checkpoints in order, as the console's stepper shows them.
func Steps() []Row { return Table[:10] }

// allowed tells whether a migration may go from one phase to another. resume is the checkpoint that a rest came from.
func allowed(from, to, resume Phase) bool {
	switch {
	case from.Terminal() || from == to:
		return false
	case from == Failing:
		return to == Failed
	case to == Failing:
		return true // failing beats cancelling
	case from == Cancelling:
		return to == Cancelled
	case to == Cancelling:
		return true
	case from.Rest():
		return to == resume || (from == Retryable && to == ManualInterventionRequired)
	}
	r, ok := RowOf(from)
	return ok && (to == r.Next || (to == Retryable && r.Retry) || (to == ManualInterventionRequired && r.Ask))
}
