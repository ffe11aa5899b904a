package esxsim

import (
	"crypto/sha1"
	"fmt"
	"strings"
	"time"
	"unicode"

	"github.com/vmware/govmomi/vim25/mo"
)

// Power is a VM's power state.
type Power string

// Power states.
const (
	Off       Power = "off"
	On        Power = "on"
	Suspended Power = "suspended"
)

// Tools says what of VMware Tools the guest has.
type Tools string

// States of VMware Tools in a guest that is up.
const (
	ToolsRunning   Tools = "running"
	ToolsUnmanaged Tools = "unmanaged" // open-vm-tools of the distribution, running
	ToolsStopped   Tools = "stopped"   // installed, not running
	ToolsNone      Tools = "none"      // not installed
)

// Answer is what a guest does when it is asked to shut down.
type Answer string

// Answers to a guest shutdown. Without running Tools the call always fails
// with ToolsUnavailable, whatever the answer.
const (
	Obeys   Answer = "obeys"   // powers off after Delay
	Refuses Answer = "refuses" // the call succeeds and nothing happens
	Fails   Answer = "fails"   // the call fails with ToolsUnavailable
)

// Shutdown is the behaviour of a guest that is asked to shut down.
type Shutdown struct {
	Answer Answer        `json:"answer,omitempty"` // default Obeys
	Delay  time.Duration `json:"delay,omitempty"`
}

// VM describes a virtual machine. Only Name is needed.
type VM struct {
	Name         string `json:"name"`
	Folder       string `json:"folder,omitempty"`    // vCenter only, "/" between levels
	Datastore    string `json:"datastore,omitempty"` // home, default the first
	Directory    string `json:"directory,omitempty"` // in the home datastore, default from Name
	UUID         string `json:"uuid,omitempty"`      // BIOS UUID, default derived from InstanceUUID
	InstanceUUID string `json:"instanceUuid,omitempty"`

	Power           Power             `json:"power,omitempty"` // default Off; the state kept in Dir wins
	GuestID         string            `json:"guestId,omitempty"`
	GuestFullName   string            `json:"guestFullName,omitempty"`
	Annotation      string            `json:"annotation,omitempty"`
	CPUs            int32             `json:"cpus,omitempty"`
	CoresPerSocket  int32             `json:"coresPerSocket,omitempty"`
	MemoryMiB       int32             `json:"memoryMiB,omitempty"`
	Firmware        string            `json:"firmware,omitempty"` // bios or efi
	SecureBoot      bool              `json:"secureBoot,omitempty"`
	BootOrder       []int             `json:"bootOrder,omitempty"` // disks, by their place in Disks; none: the VM's firmware decides
	HardwareVersion string            `json:"hardwareVersion,omitempty"`
	Template        bool              `json:"template,omitempty"`
	ChangeTracking  bool              `json:"changeTracking,omitempty"`
	ExtraConfig     map[string]string `json:"extraConfig,omitempty"`

	Tools    Tools    `json:"tools,omitempty"`
	Hostname string   `json:"hostname,omitempty"`
	IPs      []string `json:"ips,omitempty"`
	Shutdown Shutdown `json:"shutdown"`

	Disks     []Disk     `json:"disks,omitempty"`
	Writers   []Writer   `json:"writers,omitempty"` // the guest's, at work whenever it is on
	NICs      []NIC      `json:"nics,omitempty"`
	ISO       string     `json:"iso,omitempty"`       // datastore path of an image in the CD drive
	Snapshots []Snapshot `json:"snapshots,omitempty"` // oldest first, each the parent of the next

	Autostart bool   `json:"autostart,omitempty"` // the host starts it by itself
	HostRule  string `json:"hostRule,omitempty"`  // group of hosts that a rule of the cluster keeps it on
	// Adjust is called last, before the host answers anybody, for what has
	// no field here: passthrough devices, encryption, a pending question.
	Adjust func(*mo.VirtualMachine) `json:"-"`
}

// NIC is a network adapter.
type NIC struct {
	Network      string `json:"network,omitempty"` // port group, default "VM Network"; "-" is an adapter without network
	Model        string `json:"model,omitempty"`   // vmxnet3 (default), e1000, e1000e, pcnet32, sriov
	MAC          string `json:"mac,omitempty"`
	Disconnected bool   `json:"disconnected,omitempty"` // "connect at power on" is off
	Direct       bool   `json:"direct,omitempty"`       // its packets pass the hypervisor by (DirectPath)
}

// Snapshot is one snapshot of a VM.
type Snapshot struct {
	Name        string `json:"name"`
	Description string `json:"description,omitempty"`
	// Taken is set where the snapshot was taken while the host ran.
	Taken time.Time `json:"taken,omitzero"`
}

func (v VM) withDefaults(c Config) VM {
	def(&v.Datastore, c.Datastores[0].Name)
	def(&v.Directory, fileName(v.Name))
	def(&v.InstanceUUID, stableUUID("instance", v.Datastore, v.Directory, v.Name))
	def(&v.UUID, stableUUID("bios", v.InstanceUUID))
	def(&v.Power, Off)
	def(&v.GuestID, "debian12_64Guest")
	def(&v.GuestFullName, "Debian GNU/Linux 12 (64-bit)")
	def(&v.CPUs, 1)
	def(&v.CoresPerSocket, 1)
	def(&v.MemoryMiB, 1024)
	def(&v.Firmware, "bios")
	def(&v.HardwareVersion, "vmx-19")
	def(&v.Tools, ToolsRunning)
	def(&v.Shutdown.Answer, Obeys)
	v.Disks = append([]Disk(nil), v.Disks...)
	v.NICs = append([]NIC(nil), v.NICs...)
	return v
}

func (t Tools) running() bool { return t == ToolsRunning || t == ToolsUnmanaged }

// fileName is the name that a host gives to a VM's folder and files: what a
// file name cannot hold is replaced.
func fileName(s string) string {
	s = strings.Map(func(r rune) rune {
		if r == '/' || r == '\\' || unicode.IsControl(r) {
			return '_'
		}
		return r
	}, s)
	if s = strings.TrimSpace(s); s == "" || s == "." || s == ".." {
		return "_"
	}
	return s
}

// stableUUID derives a UUID from parts, so that a restart finds the same one.
func stableUUID(parts ...string) string {
	h := sha1.Sum([]byte(strings.Join(parts, "\x00")))
	h[6], h[8] = h[6]&0x0f|0x50, h[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", h[0:4], h[4:6], h[6:8], h[8:10], h[10:16])
}
