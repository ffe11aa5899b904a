package sources

import (
	"context"
	"time"

	"landfall/engine/machine"
)

// Prober is a Source that finds out, read-only, what it will be able to do for a VM as it is now. What could not be looked up
// is named in Capabilities.Unknown, not given as well.
type Prober interface {
	Source
	Probe(ctx context.Context, vm machine.VM) (Capabilities, error)
}

// Capabilities is what was found out about a source and one VM of it.
type Capabilities struct {
	Taken       time.Time         `json:"taken"`
	Missing     []string          `json:"missing,omitempty"`     // privileges that the account lacks, by name
	MissingWarm []string          `json:"missingWarm,omitempty"` // likewise, those that a warm migration needs beside
	Maintenance bool              `json:"maintenance,omitempty"`
	Status      string            `json:"status,omitempty"` // of the host: green, yellow, red, gray
	StatusWhy   []string          `json:"statusWhy,omitempty"`
	Ports       []Port            `json:"ports,omitempty"`
	Certificate Certificate       `json:"certificate"`
	Readers     []Reading         `json:"readers,omitempty"` // what was tried, for each disk, the chosen one first
	Room        map[string]int64  `json:"room,omitempty"`    // datastore → free bytes
	Unknown     map[string]string `json:"unknown,omitempty"` // one of the Known names → why it could not be looked up
}

// The groups that may stay unknown.
const (
	KnownPrivileges = "privileges"
	KnownHost       = "host" // Maintenance and Status
	KnownPorts      = "ports"
	KnownReaders    = "readers"
	KnownRoom       = "room"
)

// Port is a way that bytes take, as this machine reaches it.
type Port struct {
	Address string `json:"address"` // host:port
	For     string `json:"for"`     // what needs it: "API", "reader export"
	Failure string `json:"failure,omitempty"`
	Closed  string `json:"closed,omitempty"` // why it is not reached, where nothing that is used needs it
	Warm    bool   `json:"warm,omitempty"`   // only a warm migration uses it
}

// Certificate is how the endpoint proved itself.
type Certificate struct {
	Seen    string    `json:"seen,omitempty"`   // SHA-256, hex
	Wanted  string    `json:"wanted,omitempty"` // the pinned one, "" where an authority vouches
	Expires time.Time `json:"expires,omitzero"`
	Failure string    `json:"failure,omitempty"` // why it is not trusted
}

// Reading is one reader tried on one disk.
type Reading struct {
	Disk   int32  `json:"disk"` // device key
	Reader string `json:"reader"`
	Works  bool   `json:"works"`
	Said   string `json:"said,omitempty"` // why not, or what must be so first
	Warm   bool   `json:"warm,omitempty"` // it reads only what a snapshot froze, for a warm migration
}
