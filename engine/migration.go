package engine

import (
	"time"

	"landfall/engine/machine"
	"landfall/engine/preflight"
	"landfall/engine/spec"
	"landfall/engine/transfer"
	"landfall/engine/warm"
	"landfall/sources"
	"landfall/targets"
)

// Want is what a person wants of a migration, written by the console and read by the engine in every turn.
type Want string

const (
	WantRun    Want = "run"
	WantCancel Want = "cancel"
)

// Migration is one row: what a person wants and what the engine saw.
type Migration struct {
	UID        string        `json:"uid"`
	Document   spec.Document `json:"document"`
	Generation int64         `json:"generation"` // raised by every change of the document
	Want       Want          `json:"want"`
	Retry      int64         `json:"retry"` // raised by every "retry now" of a person
	Created    time.Time     `json:"created"`
	CreatedBy  string        `json:"createdBy"`
	Status     Status        `json:"status"`
	// Version is raised by every Commit; the engine alone writes status.
	Version int64 `json:"version"`
}

// Name is the document's name.
func (m Migration) Name() string { return m.Document.Metadata.Name }

// Status is what the engine saw and did. It is written as a whole, with the phase, in one transaction.
type Status struct {
	Phase   Phase  `json:"phase"`
	Resume  Phase  `json:"resume,omitempty"` // the checkpoint that a rest returns to
	Reason  string `json:"reason,omitempty"`
	Message string `json:"message,omitempty"`
	Hint    string `json:"hint,omitempty"`
	Sight   Sight  `json:"sight,omitempty"`
	Seen    string `json:"seen,omitempty"` // what was observed last, in words
	// NotUntil is when a Retryable rest ends.
	NotUntil time.Time `json:"notUntil,omitzero"`
	// Attempt counts failures of this checkpoint since it last made progress.
	Attempt            int   `json:"attempt,omitempty"`
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	ObservedRetry      int64 `json:"observedRetry,omitempty"`

	Options       *spec.Spec          `json:"options,omitempty"` // as resolved and frozen in Pending
	Inventory     *machine.VM         `json:"inventory,omitempty"`
	Drift         []string            `json:"drift,omitempty"`
	Source        *sources.About      `json:"source,omitempty"`
	Target        *targets.About      `json:"target,omitempty"`
	Findings      []preflight.Finding `json:"findings,omitempty"`
	Power         machine.Power       `json:"power,omitempty"`
	Shutdown      *Shutdown           `json:"shutdown,omitempty"`
	Disks         []Disk              `json:"disks,omitempty"`
	Warm          *warm.State         `json:"warm,omitempty"` // of strategy Warm: coordinator and workers
	Plan          *targets.Plan       `json:"plan,omitempty"`
	Machine       *MachineRef         `json:"machine,omitempty"`
	Instance      string              `json:"instance,omitempty"` // KubeVirt's phase of it
	Checks        []targets.Result    `json:"checks,omitempty"`
	Conditions    []Condition         `json:"conditions,omitempty"`
	Errors        []Failure           `json:"errors,omitempty"` // the newest last, bounded
	FirstError    *Failure            `json:"firstError,omitempty"`
	Intents       []Intent            `json:"intents,omitempty"`
	Times         Times               `json:"timestamps"`
	History       []Transition        `json:"history,omitempty"`
	Renamed       *Renamed            `json:"renamed,omitempty"`
	CancelRefused bool                `json:"cancelRefused,omitempty"` // a cancel came after the target was started
	Queue         int                 `json:"queue,omitempty"`         // place in the line for a permit, 1 is next; 0: not waiting
	// Progress is when something last moved; patience is measured from it.
	Progress time.Time `json:"progress,omitzero"`
	// Left lists, at the end, what could not be cleaned up.
	Left []Held `json:"left,omitempty"`
}

// Renamed is another name that a person took for the virtual machine than the one that was taken already.
type Renamed struct {
	From string `json:"from"`
	To   string `json:"to"`
}

// Shutdown is a graceful shutdown under way.
type Shutdown struct {
	Asked    time.Time `json:"asked"`
	Deadline time.Time `json:"deadline"`
	Sent     time.Time `json:"sent,omitzero"`      // when the source took the request; until then it is made again
	HandOver bool      `json:"handOver,omitempty"` // a person shuts the VM down; wait without end
}

// Disk is the state of one disk.
type Disk struct {
	Index       int                `json:"index"`
	Key         int32              `json:"key"`
	Label       string             `json:"label"`
	Size        int64              `json:"size"`
	Reader      string             `json:"reader,omitempty"`
	Stamp       string             `json:"stamp,omitempty"`     // of the source disk when its copy was begun
	Allocated   int64              `json:"allocated,omitempty"` // bytes that the source calls allocated; -1: it cannot tell
	Copied      int64              `json:"copied"`              // bytes accounted for, of ToCopy
	ToCopy      int64              `json:"toCopy"`
	Rate        float64            `json:"rate,omitempty"` // bytes per second lately
	ETA         float64            `json:"eta,omitempty"`  // seconds; 0: unknown
	Extents     []sources.Extent   `json:"extents,omitempty"`
	Forget      bool               `json:"forget,omitempty"` // ledger and image are of another time: removed before the next copy
	Acquired    bool               `json:"acquired,omitempty"`
	Proved      bool               `json:"proved,omitempty"`   // the source was read again while off and was equal
	Manifest    *transfer.Manifest `json:"manifest,omitempty"` // of the acquired raw image
	SHA256      string             `json:"sha256,omitempty"`   // of the whole raw image, where it was computed
	Artifact    *Artifact          `json:"artifact,omitempty"`
	Volume      string             `json:"volume,omitempty"`
	VolumePhase string             `json:"volumePhase,omitempty"`
	Sent        int64              `json:"sent"` // bytes of the artifact that were handed over
	// Delivered is the digest of what was sent to its end and acknowledged.
	Delivered string `json:"delivered,omitempty"`
	Authority string `json:"authority,omitempty"` // delivery HTTP: who signed for the offer that the volume was made for
	Replace   bool   `json:"replace,omitempty"`   // the volume is deleted and made anew
	Imported  bool   `json:"imported,omitempty"`
	Unmarked  bool   `json:"unmarked,omitempty"` // its volume does not carry the digest, for want of a permission
}

// Artifact is what is delivered for a disk.
type Artifact struct {
	Path   string `json:"path"`
	Format string `json:"format"`
	Digest string `json:"digest"` // the raw image's Merkle root, or the file's SHA-256 for a converted one
	Length int64  `json:"length"`
	Made   string `json:"made,omitempty"` // by which tool
}

// MachineRef is the virtual machine that was made.
type MachineRef struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	UID       string `json:"uid"`
}

// Condition is a fact beside the phase.
type Condition struct {
	Type               string    `json:"type"`
	Status             string    `json:"status"` // True, False, Unknown
	Reason             string    `json:"reason,omitempty"`
	Message            string    `json:"message,omitempty"`
	LastTransitionTime time.Time `json:"lastTransitionTime"`
	ObservedGeneration int64     `json:"observedGeneration"`
}

// The conditions of a migration.
const (
	SourceDiscovered = "SourceDiscovered"
	RulesPassed      = "Validated"
	SourcePoweredOff = "SourcePoweredOff"
	DiskAcquired     = "DiskAcquired"
	DiskConverted    = "DiskConverted"
	DiskImported     = "DiskImported"
	VMCreated        = "VMCreated"
	VMStarted        = "VMStarted"
	GuestReady       = "GuestReady"
	Ready            = "Ready"
)

// Failure is an error that was met.
type Failure struct {
	Phase   Phase     `json:"phase"`
	Attempt int       `json:"attempt"`
	Class   string    `json:"class"`
	Reason  string    `json:"reason"`
	Message string    `json:"message"`
	Hint    string    `json:"hint,omitempty"`
	Time    time.Time `json:"time"`
}

// Intent is written before an act that must not be decided twice.
type Intent struct {
	Act  string    `json:"act"` // "power off", "start"
	Time time.Time `json:"time"`
	Why  string    `json:"why"`
	Done time.Time `json:"done,omitzero"` // when its effect was seen
}

// Times are the moments that downtime is measured by; each is set once.
type Times struct {
	Created          time.Time `json:"created,omitzero"`
	Started          time.Time `json:"started,omitzero"`
	SourcePoweredOff time.Time `json:"sourcePoweredOff,omitzero"`
	DisksAcquired    time.Time `json:"disksAcquired,omitzero"`
	DisksImported    time.Time `json:"disksImported,omitzero"`
	VMStarted        time.Time `json:"vmStarted,omitzero"`
	Completed        time.Time `json:"completed,omitzero"` // the end, whichever it is
}

// Downtime is from the source's power-off to the instance running. ok is false while it is not known.
func (t Times) Downtime(now time.Time) (d time.Duration, running, ok bool) {
	switch {
	case t.SourcePoweredOff.IsZero():
		return 0, false, false
	case !t.VMStarted.IsZero():
		return t.VMStarted.Sub(t.SourcePoweredOff), false, true
	case !t.Completed.IsZero():
		return t.Completed.Sub(t.SourcePoweredOff), false, true
	}
	return now.Sub(t.SourcePoweredOff), true, true
}

// Transition is one change of phase.
type Transition struct {
	From   Phase     `json:"from"`
	To     Phase     `json:"to"`
	Time   time.Time `json:"time"`
	Reason string    `json:"reason,omitempty"`
}

// Event is one line of a migration's append-only story.
type Event struct {
	Seq       int64     `json:"seq"`
	Migration string    `json:"migration"` // UID
	Time      time.Time `json:"time"`
	Level     string    `json:"level"` // info, warn, error
	Phase     Phase     `json:"phase"`
	Reason    string    `json:"reason"`
	Message   string    `json:"message"`
}

// Held is something outside that a migration made or changed, written down before it is made and struck off when it is
// seen gone.
type Held struct {
	Migration string    `json:"migration"`
	Kind      string    `json:"kind"`  // a target's kind, or file, power
	Where     string    `json:"where"` // namespace, directory or host
	Name      string    `json:"name"`
	Since     time.Time `json:"since"`
	Keep      bool      `json:"keep,omitempty"` // a result of the migration: not cleaned up after success
	Note      string    `json:"note,omitempty"`
}

func (m Migration) options() spec.Spec {
	if m.Status.Options != nil {
		return *m.Status.Options
	}
	return m.Document.Spec.Default()
}
