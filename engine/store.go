package engine

import (
	"context"
	"errors"
	"time"

	"landfall/engine/machine"
	"landfall/engine/spec"
	"landfall/engine/transfer"
)

// Errors of a store.
var (
	// ErrNotFound: no such row.
	ErrNotFound = errors.New("not found")
	// ErrStale: the row was changed since it was read; read again.
	ErrStale = errors.New("changed by another since it was read")
)

// Checkpoint is everything that one turn writes; it is committed as a whole or not at all.
type Checkpoint struct {
	Migration Migration // only Status is written; Version must be that of the read
	Events    []Event
	Hold      []Held     // written before the thing is made; the same again is success
	Gone      []Held     // struck off
	Ask       []Decision // opened; the same ID again is success and changes nothing
	Close     []string   // decision IDs that were acted on or fell away
	Rates     []Rate     // how fast copies were that ended
}

// Rate is how fast one copy was.
type Rate struct {
	Host    string
	Bytes   int64 // read from the source
	Seconds float64
}

// Store is what the engine needs of the database. Everything returned is a copy. Any method may be called again after
// an error; a busy or full database is fault.Transient respectively fault.NoSpace, and the old record is intact.
type Store interface {
	// Active gives every migration that is not terminal, oldest first.
	Active(ctx context.Context) ([]Migration, error)
	// Migration gives one by UID, or ErrNotFound.
	Migration(ctx context.Context, uid string) (Migration, error)
	// Commit writes a checkpoint in one durable transaction and gives the new version. ErrStale when another engine wrote.
	Commit(ctx context.Context, c Checkpoint) (int64, error)
	// Decisions gives all decisions of a migration, oldest first.
	Decisions(ctx context.Context, uid string) ([]Decision, error)
	// Held gives what a migration holds, oldest first.
	Held(ctx context.Context, uid string) ([]Held, error)
	// Ledger is the chunk ledger of one disk's artifact. Reset of a ledger forgets its chunks.
	Ledger(uid string, disk int) transfer.Ledger
	ResetLedger(ctx context.Context, uid string, disk int) error

	// Endpoints gives the sources that the console wants listed, with when a refresh was asked for.
	Endpoints(ctx context.Context) ([]Endpoint, error)
	// PutInventory replaces the cached inventory of an endpoint, or records why it could not be had.
	PutInventory(ctx context.Context, endpoint string, vms []machine.VM, about string, failure string) error

	// Inventory gives every cached VM of every endpoint.
	Inventory(ctx context.Context) ([]Listed, error)

	// Drafts gives every draft, in the order of their keys.
	Drafts(ctx context.Context) ([]Draft, error)
	// PutPreview records what was found for a draft. ErrNotFound when it was forgotten, ErrStale when it was asked anew.
	PutPreview(ctx context.Context, key string, p Preview) error

	// Rate gives how fast a host was read by earlier copies, in bytes per second, and how many there were; 0 where none.
	Rate(ctx context.Context, host string) (rate float64, copies int, err error)

	// Heartbeat says that the engine lives, and what it is.
	Heartbeat(ctx context.Context, h Heartbeat) error
	// Changed gives the store's change number, raised by every write that a reader could care for.
	Changed(ctx context.Context) (int64, error)
}

// Endpoint is a source that the console lists VMs of, by the part of the document that connects to it.
type Endpoint struct {
	Name     string           `json:"name"`
	Source   spec.Source      `json:"source"`
	Target   spec.Destination `json:"target"`         // where its VMs go by default
	Defaults spec.Spec        `json:"defaults"`       // mappings and options offered for its VMs
	Asked    time.Time        `json:"asked"`          // when a person last asked for a refresh
	Taken    time.Time        `json:"taken,omitzero"` // when the inventory was taken
	About    string           `json:"about,omitempty"`
	Failure  string           `json:"failure,omitempty"`
}

// Heartbeat describes the running engine.
type Heartbeat struct {
	PID     int       `json:"pid"`
	Host    string    `json:"host"`
	Version string    `json:"version"`
	Started time.Time `json:"started"`
	Beat    time.Time `json:"beat"`
	Limit   int       `json:"limit"` // copy permits per host
}
