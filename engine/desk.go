package engine

import (
	"context"
	"time"

	"landfall/engine/machine"
	"landfall/engine/spec"
	"landfall/engine/warm"
)

// Line is the slim projection of a migration, for lists.
type Line struct {
	UID       string      `json:"uid"`
	Name      string      `json:"name"`
	VM        string      `json:"vm"`
	Source    string      `json:"source"`
	Ref       machine.Ref `json:"ref"`
	Namespace string      `json:"namespace"`
	Target    string      `json:"target,omitempty"` // name of the virtual machine in the cluster
	Phase     Phase       `json:"phase"`
	Resume    Phase       `json:"resume,omitempty"`
	Reason    string      `json:"reason,omitempty"`
	Message   string      `json:"message,omitempty"`
	Want      Want        `json:"want"`
	Done      int64       `json:"done"`  // bytes moved in the checkpoint
	Total     int64       `json:"total"` // bytes to move in it; 0: nothing to count
	Rate      float64     `json:"rate"`
	ETA       float64     `json:"eta"` // seconds; 0: unknown
	Queue     int         `json:"queue,omitempty"`
	Questions int         `json:"questions"` // open decisions
	Created   time.Time   `json:"created"`
	Since     time.Time   `json:"since"`    // when the phase was entered
	Progress  time.Time   `json:"progress"` // when something last moved
	NotUntil  time.Time   `json:"notUntil,omitzero"`
	Times     Times       `json:"timestamps"`
	Warm      *warm.Line  `json:"warm,omitempty"` // of a migration that follows a running source
}

// Stuck gives the first things to check when nothing moved for longer than the checkpoint's patience, or "".
func (l Line) Stuck(now time.Time) string {
	r, ok := RowOf(l.Phase)
	if !ok || r.Patience == 0 || l.Progress.IsZero() || l.Queue > 0 || now.Sub(l.Progress) < r.Patience {
		return ""
	}
	return r.Stuck
}

// Person is who does something, and from where.
type Person struct {
	Name string // the operating system's user
	From string // terminal and, over SSH, the client's address
}

// Listed is one VM of the inventory cache.
type Listed struct {
	Endpoint  string     `json:"endpoint"`
	VM        machine.VM `json:"vm"`
	Migration string     `json:"migration,omitempty"` // UID of its newest migration
	Phase     Phase      `json:"phase,omitempty"`
}

// Note is one line of the audit: who did what to which migration.
type Note struct {
	Time      time.Time `json:"time"`
	Who       Person    `json:"who"`
	What      string    `json:"what"`
	Migration string    `json:"migration,omitempty"`
}

// Desk is what people see and do, through the store alone. Every act is audited in its transaction. Methods may be called
// again after an error.
type Desk interface {
	// Lines gives every migration, slim, newest first.
	Lines(ctx context.Context) ([]Line, error)
	// Find gives the migration whose UID starts with key, or whose name is key if just one has it; ErrNotFound, or an
	// error that lists the candidates.
	Find(ctx context.Context, key string) (Migration, error)
	// Apply makes a migration of a checked document.
	Apply(ctx context.Context, d spec.Document, who Person) (Migration, error)
	// Change replaces the document of a migration that is not terminal; generation is that of the read, else ErrStale.
	Change(ctx context.Context, uid string, generation int64, d spec.Document, who Person) error
	// Cancel makes cancelling a durable want.
	Cancel(ctx context.Context, uid string, who Person) error
	// CutOver gives the word to stop a warm migration's source, as a durable want: it is acted on when the target is ready. A
	// hold in the document refuses it, and takes it back as long as the source was not stopped.
	CutOver(ctx context.Context, uid string, who Person) error
	// RetryNow ends a rest at once.
	RetryNow(ctx context.Context, uid string, who Person) error

	Decisions(ctx context.Context, uid string) ([]Decision, error)
	// Waiting gives all open decisions, oldest first.
	Waiting(ctx context.Context) ([]Decision, error)
	// Answer takes a decision once: ErrStale when it was changed or taken, and the decision then says by whom.
	Answer(ctx context.Context, id string, version int64, option string, who Person) (Decision, error)

	// Events gives a migration's events with a greater Seq, oldest first, at most limit. uid "" is for all.
	Events(ctx context.Context, uid string, after int64, limit int) ([]Event, error)
	Held(ctx context.Context, uid string) ([]Held, error)
	Notes(ctx context.Context, uid string) ([]Note, error)

	Endpoints(ctx context.Context) ([]Endpoint, error)
	PutEndpoint(ctx context.Context, e Endpoint, who Person) error
	// Refresh asks the engine to list an endpoint anew.
	Refresh(ctx context.Context, endpoint string, who Person) error
	// Inventory gives every cached VM of every endpoint.
	Inventory(ctx context.Context) ([]Listed, error)

	// Look asks the engine to look at documents as Validated would, before anything is made of them. There is one draft for
	// a VM of an endpoint: the same again is a new question about it. A document need not be complete; that it is not is
	// then its preview's Failure. A VM must be named.
	Look(ctx context.Context, ds []spec.Document, who Person) error
	// Drafts gives every draft, in the order of their keys.
	Drafts(ctx context.Context) ([]Draft, error)
	// Forget drops drafts; one that is not there is success. Making a migration of its VM forgets a draft by itself.
	Forget(ctx context.Context, keys []string, who Person) error

	// Beat gives the engine's last heartbeat; ErrNotFound when there never was one.
	Beat(ctx context.Context) (Heartbeat, error)
	// Changed gives the change number: when it is the same, nothing needs to be read again.
	Changed(ctx context.Context) (int64, error)
}
