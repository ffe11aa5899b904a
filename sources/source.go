// Package sources says what a source of virtual machines promises. Its subpackages are named for their technology and
// do not know each other, nor targets, store or ui. Every source passes the suite in sourcetest.
package sources

import (
	"context"
	"io"

	"landfall/engine/machine"
)

// Source is one ESXi host or vCenter, connected. All methods may be called from several goroutines, and again after any
// failure: a session that ended is renewed by the source itself, once, before an error is given. A wrong password is
// never tried twice (fault.WrongCredentials, Blocked), so that no account is locked.
//
// Errors carry a fault class and reason. A VM that does not exist is fault.NotFound, Blocked.
type Source interface {
	// About tells what was connected to. It asks nothing that was not learnt at login.
	About() About

	// List gives every VM, in no particular order. One bad VM does not fail the list.
	List(ctx context.Context) ([]machine.Summary, error)

	// Inspect gives the whole VM as it is now. The VM is found by MoRef and, where both are known, its instance UUID
	// must agree; else by instance UUID alone.
	Inspect(ctx context.Context, ref machine.Ref) (machine.VM, error)

	// Power looks the power state up now; nothing cached.
	Power(ctx context.Context, ref machine.Ref) (machine.Power, error)

	// ProveOff gives nil only when the VM is off and nothing holds its disks: power state off and no lock or swap
	// file in its folder. fault.VMRuns (Transient) says what was seen.
	ProveOff(ctx context.Context, vm machine.VM) error

	// Shutdown asks the guest to shut down and returns at once; whether it does is seen by Power. Off already is
	// success. Without running tools: fault.ToolsUnavailable, Blocked.
	Shutdown(ctx context.Context, ref machine.Ref) error

	// PowerOff pulls the plug and returns when the source says that it is done. Off already is success.
	PowerOff(ctx context.Context, ref machine.Ref) error

	// PowerOn starts the VM. On already is success.
	PowerOn(ctx context.Context, ref machine.Ref) error

	// OpenDisk finds how the disk can be read now and opens it for reading; nothing is ever written. The caller closes
	// it. A disk that is held because the VM runs: fault.VMRuns, Transient.
	OpenDisk(ctx context.Context, vm machine.VM, disk machine.Disk) (Disk, error)

	// Close ends the session. The source is not usable afterwards.
	Close() error
}

// About describes an endpoint.
type About struct {
	Product    string `json:"product"` // as it names itself, "VMware ESXi 8.0.2 build-22380479"
	Version    string `json:"version"`
	API        string `json:"api"` // "HostAgent" (a host) or "VirtualCenter"
	InstanceID string `json:"instanceID,omitempty"`
	Thumbprint string `json:"thumbprint"` // SHA-256 of the certificate seen, hex
	// ReadOnly says why writes are refused (a free licence), or "".
	ReadOnly string `json:"readOnly,omitempty"`
}

// Disk is a disk opened for reading.
type Disk interface {
	// Reader names the way it is read, such as "folder", for the operator.
	Reader() string

	// Size is the disk's size in bytes as the bytes themselves tell it. It equals the capacity, or OpenDisk failed with
	// fault.SizeChanged.
	Size() int64

	// Streams is how many Open calls may be under way at once.
	Streams() int

	// Open gives exactly length bytes from offset. A stream that ends early gives fault.EarlyEnd from Read, never a plain
	// io.EOF; a VM that was started gives fault.VMRuns. It may be called again for any range. The caller closes it.
	Open(ctx context.Context, offset, length int64) (io.ReadCloser, error)

	// Allocated gives the areas that may hold data, sorted, not overlapping; all else reads as zeros. A source that cannot
	// tell gives fault.Unsupported, and then the whole disk must be read.
	Allocated(ctx context.Context) ([]Extent, error)

	// Close frees the disk; streams still open fail.
	Close() error
}

// Stamped is a Disk that can tell two states of its bytes apart without reading them.
type Stamped interface {
	// Stamp is another text after the disk was written; "" where the source cannot tell. It is of when the disk was opened.
	Stamp() string
}

// Extent is an area of a disk, in bytes.
type Extent struct {
	Offset int64 `json:"o"`
	Length int64 `json:"l"`
}

// End is the first byte behind the extent.
func (e Extent) End() int64 { return e.Offset + e.Length }
