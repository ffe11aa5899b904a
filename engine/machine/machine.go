// Package machine describes a virtual machine as its source shows it, free of any source's own types. Sources fill it,
// rules judge it, targets render it; it knows none of them. All text in it comes from outside and is hostile until drawn
// through a sanitiser.
package machine

import "fmt"

// Ref identifies a VM for good: by the managed object reference on its endpoint and by the instance UUID. A name is
// never an identity.
type Ref struct {
	MoRef        string `json:"moref,omitempty" yaml:"moref,omitempty"`
	InstanceUUID string `json:"instanceUUID,omitempty" yaml:"instanceUUID,omitempty"`
}

// Zero tells whether nothing is identified.
func (r Ref) Zero() bool { return r == Ref{} }

func (r Ref) String() string {
	if r.MoRef != "" {
		return r.MoRef
	}
	return r.InstanceUUID
}

// Power is a power state.
type Power string

const (
	On           Power = "on"
	Off          Power = "off"
	Suspended    Power = "suspended"
	PowerUnknown Power = "unknown"
)

// Tools is what the guest's tools do. Only Running allows a graceful shutdown; who installed them does not matter.
type Tools string

const (
	ToolsRunning    Tools = "running"
	ToolsNotRunning Tools = "notRunning"
	ToolsMissing    Tools = "notInstalled"
	ToolsUnknown    Tools = "unknown"
)

// Summary is the slim row of an inventory: what a list of thousands can afford.
type Summary struct {
	Ref        Ref    `json:"ref"`
	Name       string `json:"name"`
	Folder     string `json:"folder"`
	Host       string `json:"host,omitempty"`
	Power      Power  `json:"power"`
	GuestID    string `json:"guestID,omitempty"`
	Guest      string `json:"guest,omitempty"`
	CPUs       int32  `json:"cpus"`
	MemoryMiB  int64  `json:"memoryMiB"`
	Disks      int32  `json:"disks"`
	Committed  int64  `json:"committed"` // bytes in use on the datastores
	Provision  int64  `json:"provision"` // bytes committed and uncommitted
	Tools      Tools  `json:"tools"`
	Snapshots  bool   `json:"snapshots"`
	Template   bool   `json:"template,omitempty"`
	Connection string `json:"connection,omitempty"` // "connected" or what is wrong
	Agent      bool   `json:"agent,omitempty"`      // a cluster's own agent VM (vCLS)
}

// VM is everything that rules and rendering need of a VM.
type VM struct {
	Summary
	BIOSUUID        string   `json:"biosUUID,omitempty"`
	HardwareVersion int      `json:"hardwareVersion,omitempty"` // 19 for vmx-19
	Annotation      string   `json:"annotation,omitempty"`
	CoresPerSocket  int32    `json:"coresPerSocket,omitempty"`
	Firmware        string   `json:"firmware,omitempty"` // "bios" or "efi"
	SecureBoot      bool     `json:"secureBoot,omitempty"`
	TPM             bool     `json:"tpm,omitempty"`
	Encrypted       bool     `json:"encrypted,omitempty"`
	FaultTolerance  bool     `json:"faultTolerance,omitempty"`
	NestedHV        bool     `json:"nestedHV,omitempty"`
	HotAdd          bool     `json:"hotAdd,omitempty"`
	Pinned          []string `json:"pinned,omitempty"` // affinities that are not carried over
	SnapshotNames   []string `json:"snapshotNames,omitempty"`
	Consolidate     bool     `json:"consolidate,omitempty"` // consolidation needed
	ChangeTracking  bool     `json:"changeTracking,omitempty"`
	Question        string   `json:"question,omitempty"` // the question that the VM waits on
	HostName        string   `json:"hostName,omitempty"` // the guest's own
	Addresses       []string `json:"addresses,omitempty"`
	DiskList        []Disk   `json:"diskList,omitempty"` // by controller and unit
	NICs            []NIC    `json:"nics,omitempty"`     // by device key
	Devices         []Device `json:"devices,omitempty"`  // what is not moved
	ConfigPath      string   `json:"configPath,omitempty"`
	// Autostart: the host would start the VM by itself.
	Autostart bool `json:"autostart,omitempty"`
	// DiskUUIDs: the guest sees the disks' serial numbers (disk.EnableUUID).
	DiskUUIDs bool `json:"diskUUIDs,omitempty"`
	// BootDisks are the device keys of the disks that the VM's own boot order names, in its order; none: it names none.
	BootDisks []int32 `json:"bootDisks,omitempty"`
	// GuestDisks are the guest's mounted file systems, as its tools tell.
	GuestDisks []GuestDisk `json:"guestDisks,omitempty"`
}

// GuestDisk is a file system of the guest.
type GuestDisk struct {
	Path     string `json:"path"` // where it is mounted: "/", "/boot", "C:\\"
	Capacity int64  `json:"capacity"`
	Free     int64  `json:"free"`
}

// Bus is the kind of controller that a disk hangs on.
type Bus string

const (
	SCSI       Bus = "scsi"
	SATA       Bus = "sata"
	IDE        Bus = "ide"
	NVMe       Bus = "nvme"
	BusUnknown Bus = "unknown"
)

// Backing is how a disk is kept on its datastore.
type Backing string

const (
	Flat           Backing = "flat"
	SparseDelta    Backing = "seSparse"
	RDMPhysical    Backing = "rdmPhysical"
	RDMVirtual     Backing = "rdmVirtual"
	BackingUnknown Backing = "unknown"
)

// Disk is a virtual disk.
type Disk struct {
	Key         int32   `json:"key"` // device key: the identity of a disk within its VM
	Label       string  `json:"label"`
	Bus         Bus     `json:"bus"`
	BusNumber   int32   `json:"busNumber"`
	Unit        int32   `json:"unit"`
	Capacity    int64   `json:"capacity"` // bytes
	Backing     Backing `json:"backing"`
	BackingRaw  string  `json:"backingRaw,omitempty"` // the source's own name of the backing
	Datastore   string  `json:"datastore"`
	Path        string  `json:"path"`             // "[datastore] folder/name.vmdk"
	Parent      bool    `json:"parent,omitempty"` // is a delta on another file
	Thin        bool    `json:"thin,omitempty"`
	Shared      bool    `json:"shared,omitempty"`
	Independent bool    `json:"independent,omitempty"`
	UUID        string  `json:"uuid,omitempty"`
	ChangeID    string  `json:"changeID,omitempty"`
}

// Where names the disk's place as an operator knows it, such as "scsi0:1".
func (d Disk) Where() string { return fmt.Sprintf("%s%d:%d", d.Bus, d.BusNumber, d.Unit) }

// NIC is a virtual network card.
type NIC struct {
	Key            int32    `json:"key"`
	Label          string   `json:"label"`
	Model          string   `json:"model"`
	MAC            string   `json:"mac"`
	Network        string   `json:"network"`             // name as the operator knows it; "" where there is none
	NetworkID      string   `json:"networkID,omitempty"` // port group key or opaque id
	StartConnected bool     `json:"startConnected"`
	Addresses      []string `json:"addresses,omitempty"`
}

// Device is one that a migration leaves behind.
type Device struct {
	Kind   string `json:"kind"` // pci, usb, sound, serial, parallel, floppy, cdrom
	Label  string `json:"label"`
	Detail string `json:"detail,omitempty"`
}
