package esxsim

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"time"
)

// Config says what the simulated host is. The zero value with a Dir is a
// usable ESXi without VMs. Durations are nanoseconds in JSON.
type Config struct {
	Listen    string `json:"listen,omitempty"`    // loopback address of the HTTPS side, default 127.0.0.1:0
	Control   string `json:"control,omitempty"`   // loopback address of the steering side; "" means none (Run always has one)
	NBD       string `json:"nbd,omitempty"`       // loopback address by which ranges of snapshots are read, as with VMware's VDDK; "" means none
	ReadyFile string `json:"readyFile,omitempty"` // written by Run once everything answers

	// Dir holds disks, TLS key and state. Started again with the same Dir
	// and VMs, the host has the same certificate, morefs, power states and
	// bytes. Empty means a temporary folder that Close removes.
	Dir      string `json:"dir,omitempty"`
	User     string `json:"user,omitempty"`     // default root
	Password string `json:"password,omitempty"` // default "pass word+1"

	VCenter    bool        `json:"vcenter,omitempty"`    // vCenter with one data center DC0, instead of a lone ESXi
	Version    string      `json:"version,omitempty"`    // default 8.0.2
	Datastores []Datastore `json:"datastores,omitempty"` // default one, "datastore1"
	Networks   []string    `json:"networks,omitempty"`   // port groups besides "VM Network"; those that a NIC names are added
	VMs        []VM        `json:"vms,omitempty"`

	Denied            []string  `json:"denied,omitempty"`            // privileges that the user lacks
	UnknownPrivileges []string  `json:"unknownPrivileges,omitempty"` // names of privileges that the host does not know
	Host              HostState `json:"host,omitzero"`

	FreeLicence bool          `json:"freeLicence,omitempty"` // every write answers RestrictedVersion
	LockAfter   int           `json:"lockAfter,omitempty"`   // wrong passwords in a row that lock the account; 0 never locks
	LockFor     time.Duration `json:"lockFor,omitempty"`     // default 15 minutes
	SessionIdle time.Duration `json:"sessionIdle,omitempty"` // default 30 minutes
	MaxSessions int           `json:"maxSessions,omitempty"` // more answer HTTP 503; 0 means no cap

	MaxFolder      int   `json:"maxFolder,omitempty"`      // parallel /folder requests, more answer HTTP 503; 0 means no cap
	Rate           int64 `json:"rate,omitempty"`           // bytes per second of all /folder bodies together; 0 means no limit
	NoAcceptRanges bool  `json:"noAcceptRanges,omitempty"` // ranges work but the header that says so is absent
	DecodeTwice    bool  `json:"decodeTwice,omitempty"`    // the releases in which "+" and "%" must be encoded twice
	AllowPut       bool  `json:"allowPut,omitempty"`
	HTTP2          bool  `json:"http2,omitempty"`

	Grain        int64         `json:"grain,omitempty"`        // of the allocated map, default 1 MiB
	AreasPerCall int           `json:"areasPerCall,omitempty"` // answers of the allocated map are cut here, default 2000
	LeaseTimeout time.Duration `json:"leaseTimeout,omitempty"` // silence that ends an export lease, default 300 s
	LockLinger   time.Duration `json:"lockLinger,omitempty"`   // lock files outlive the power state by this

	Log io.Writer `json:"-"` // default: quiet
}

// Datastore is a VMFS volume of the host.
type Datastore struct {
	Name     string `json:"name"`
	Capacity int64  `json:"capacity,omitempty"` // default 4 TiB
	Taken    int64  `json:"taken,omitempty"`    // by others than the VMs of the host
}

// ReadConfig reads a configuration from a JSON file; unknown fields are refused.
func ReadConfig(path string) (Config, error) {
	var c Config
	b, err := os.ReadFile(path)
	if err != nil {
		return c, fmt.Errorf("read configuration: %w", err)
	}
	d := json.NewDecoder(bytes.NewReader(b))
	d.DisallowUnknownFields()
	if err := d.Decode(&c); err != nil {
		return c, fmt.Errorf("read configuration %s: %w", path, err)
	}
	return c, nil
}

// withDefaults also refuses what could not be served.
func (c Config) withDefaults() (Config, error) {
	def(&c.Listen, "127.0.0.1:0")
	def(&c.User, "root")
	def(&c.Password, "pass word+1")
	def(&c.Version, "8.0.2")
	def(&c.LockFor, 15*time.Minute)
	def(&c.SessionIdle, 30*time.Minute)
	def(&c.Grain, 1<<20)
	def(&c.AreasPerCall, 2000)
	def(&c.LeaseTimeout, 300*time.Second)
	if c.Log == nil {
		c.Log = io.Discard
	}
	if len(c.Datastores) == 0 {
		c.Datastores = []Datastore{{Name: "datastore1"}}
	}
	c.Datastores = append([]Datastore(nil), c.Datastores...)
	for i := range c.Datastores {
		def(&c.Datastores[i].Capacity, 4<<40)
		if n := c.Datastores[i].Name; n == "" || n == "." || n == ".." {
			return c, fmt.Errorf("datastore %d: name %q cannot be used", i, n)
		}
	}
	for _, a := range []string{c.Listen, c.Control, c.NBD} {
		if a == "" {
			continue
		}
		host, _, err := net.SplitHostPort(a)
		if err != nil {
			return c, fmt.Errorf("listen address %q: %w", a, err)
		}
		if ip := net.ParseIP(host); host != "localhost" && (ip == nil || !ip.IsLoopback()) {
			return c, fmt.Errorf("listen address %q: the simulated host listens on loopback only", a)
		}
	}
	return c, nil
}

func def[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}
