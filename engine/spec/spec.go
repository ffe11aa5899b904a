// Package spec is the document by which a person says what is wanted: apiVersion landfall.dev/v1alpha1, kind
// VirtualMachineMigration. It reads, checks, defaults and writes it. It knows no driver and no state.
package spec

import (
	"time"

	"landfall/engine/machine"
	"landfall/engine/secret"
)

const (
	APIVersion = "landfall.dev/v1alpha1"
	Kind       = "VirtualMachineMigration"
)

// Document is one migration as a person wants it.
type Document struct {
	APIVersion string   `yaml:"apiVersion" json:"apiVersion"`
	Kind       string   `yaml:"kind" json:"kind"`
	Metadata   Metadata `yaml:"metadata" json:"metadata"`
	Spec       Spec     `yaml:"spec" json:"spec"`
}

// Metadata names a document. The name is for people; it need not be unique.
type Metadata struct {
	Name string `yaml:"name" json:"name"`
}

// Spec is the wanted migration.
type Spec struct {
	Source             Source      `yaml:"source" json:"source"`
	Destination        Destination `yaml:"destination" json:"destination"`
	Strategy           Strategy    `yaml:"strategy,omitempty" json:"strategy"`
	Storage            Storage     `yaml:"storage,omitempty" json:"storage"`
	Network            Network     `yaml:"network,omitempty" json:"network"`
	PreserveMACAddress *bool       `yaml:"preserveMacAddress,omitempty" json:"preserveMacAddress,omitempty"`
	Validation         Validation  `yaml:"validation,omitempty" json:"validation"`
	CleanupPolicy      string      `yaml:"cleanupPolicy,omitempty" json:"cleanupPolicy,omitempty"`
	// Answers were taken by a person before the migration was made; each holds only for the value that it names.
	Answers []Answer `yaml:"answers,omitempty" json:"answers,omitempty"`
}

// Answer is what a person decided about a finding.
type Answer struct {
	Finding string `yaml:"finding" json:"finding"` // rule/subject: "vm.tpm/vm"
	Value   string `yaml:"value" json:"value"`     // what was found then; another value is asked about anew
	Answer  string `yaml:"answer" json:"answer"`   // accept, or fix: the engine does what the rule offers
	// Choice is what is taken where a fix leaves a choice, such as a name or a boot disk; "" is the proposed one.
	Choice string `yaml:"choice,omitempty" json:"choice,omitempty"`
}

// The answers to a finding.
const (
	Accept = "accept"
	Fix    = "fix"
)

// Source says where the VM is.
type Source struct {
	Type            string      `yaml:"type" json:"type"` // "vsphere"
	Address         string      `yaml:"address" json:"address"`
	Username        string      `yaml:"username,omitempty" json:"username,omitempty"`
	Password        secret.Ref  `yaml:"password,omitempty" json:"password"`
	TLS             TLS         `yaml:"tls,omitempty" json:"tls"`
	VM              VM          `yaml:"vm" json:"vm"`
	PowerOffPolicy  PowerPolicy `yaml:"powerOffPolicy,omitempty" json:"powerOffPolicy,omitempty"`
	ShutdownSeconds int         `yaml:"shutdownTimeoutSeconds,omitempty" json:"shutdownTimeoutSeconds,omitempty"`
	MaxConnections  int         `yaml:"maxConnections,omitempty" json:"maxConnections,omitempty"` // disk streams per host
	NBD             NBD         `yaml:"nbd,omitempty" json:"nbd,omitzero"`
}

// TLS says whom to trust: the system's authorities, those of a file, or exactly one certificate.
type TLS struct {
	CAFile     string `yaml:"caFile,omitempty" json:"caFile,omitempty"`
	Thumbprint string `yaml:"thumbprint,omitempty" json:"thumbprint,omitempty"` // SHA-256, hex with or without colons
}

// VM names the VM: the identity decides, the name is for people and for finding it once.
type VM struct {
	Name        string `yaml:"name,omitempty" json:"name,omitempty"`
	machine.Ref `yaml:",inline"`
}

// PowerPolicy says how far the engine may go to power the source off.
type PowerPolicy string

const (
	GracefulThenAsk   PowerPolicy = "GracefulThenAsk"
	Graceful          PowerPolicy = "Graceful"
	GracefulThenForce PowerPolicy = "GracefulThenForce"
	Never             PowerPolicy = "Never"
)

// Destination says where the VM goes.
type Destination struct {
	Kubeconfig   string `yaml:"kubeconfig,omitempty" json:"kubeconfig,omitempty"`
	Context      string `yaml:"context,omitempty" json:"context,omitempty"`
	Namespace    string `yaml:"namespace" json:"namespace"`
	VMName       string `yaml:"vmName,omitempty" json:"vmName,omitempty"`
	RunStrategy  string `yaml:"runStrategy,omitempty" json:"runStrategy,omitempty"`
	Firmware     string `yaml:"firmware,omitempty" json:"firmware,omitempty"` // auto, bios, efi
	Instancetype string `yaml:"instancetype,omitempty" json:"instancetype,omitempty"`
	// Preference is a name, "none", or "auto" and "" for the one of the guest's operating system, where the cluster has it.
	Preference string `yaml:"preference,omitempty" json:"preference,omitempty"`
	// TimeZone is the zone that the guest's clock keeps, such as Europe/Berlin; empty: UTC. Windows keeps local time.
	TimeZone string `yaml:"timeZone,omitempty" json:"timeZone,omitempty"`
	// BootDisk is the disk that is booted, by its place on the source, such as "scsi0:0"; empty: as on the source.
	BootDisk string `yaml:"bootDisk,omitempty" json:"bootDisk,omitempty"`
	// UploadProxy is the address of CDI's upload proxy as this host reaches it; empty: found in the cluster.
	UploadProxy UploadProxy `yaml:"uploadProxy,omitempty" json:"uploadProxy"`
	// ServeAddress is host:port on which the engine serves artifacts for delivery HTTP, as the cluster reaches it.
	ServeAddress string `yaml:"serveAddress,omitempty" json:"serveAddress,omitempty"`
}

// UploadProxy overrides how the upload proxy is reached and trusted.
type UploadProxy struct {
	URL string `yaml:"url,omitempty" json:"url,omitempty"`
	TLS TLS    `yaml:"tls,omitempty" json:"tls"`
}

// Strategy says how to move.
type Strategy struct {
	Type       string     `yaml:"type,omitempty" json:"type,omitempty"` // Cold, Warm
	Conversion Conversion `yaml:"conversion,omitempty" json:"conversion,omitempty"`
	Delivery   Delivery   `yaml:"delivery,omitempty" json:"delivery,omitempty"`
	Verify     string     `yaml:"verify,omitempty" json:"verify,omitempty"` // fast, proved
	RetryLimit *int       `yaml:"retryLimit,omitempty" json:"retryLimit,omitempty"`
	// Throttle is bytes per second read from the source for this migration, 0 for no limit. Live.
	Throttle int64 `yaml:"throttleBytesPerSecond,omitempty" json:"throttleBytesPerSecond,omitempty"`
	// Paused holds the copy where it is. Live.
	Paused bool `yaml:"paused,omitempty" json:"paused,omitempty"`
	// Warm is for type Warm alone. All of it is live.
	Warm Warm `yaml:"warm,omitempty" json:"warm"`
}

// Conversion is what is done to a disk between the source and the target.
type Conversion string

const (
	ConvertNone    Conversion = "None"
	ConvertQemuImg Conversion = "QemuImg"
	ConvertVirtV2V Conversion = "VirtV2V"
)

// Delivery is how bytes reach the cluster.
type Delivery string

const (
	Upload      Delivery = "Upload"
	DeliverHTTP Delivery = "HTTP"
	Direct      Delivery = "Direct"
)

// Storage maps datastores to storage classes.
type Storage struct {
	Mappings []StorageMapping `yaml:"mappings,omitempty" json:"mappings,omitempty"`
}

// StorageMapping is one datastore's place in the cluster. Datastore "*" is for all that have no row.
type StorageMapping struct {
	Datastore    string   `yaml:"datastore" json:"datastore"`
	StorageClass string   `yaml:"storageClassName" json:"storageClassName"`
	VolumeMode   string   `yaml:"volumeMode,omitempty" json:"volumeMode,omitempty"`
	AccessModes  []string `yaml:"accessModes,omitempty" json:"accessModes,omitempty"`
}

// Network maps port groups to networks of the cluster.
type Network struct {
	Mappings []NetworkMapping `yaml:"mappings,omitempty" json:"mappings,omitempty"`
}

// NetworkMapping is one port group's place in the cluster. PortGroup "*" is for all that have no row.
type NetworkMapping struct {
	PortGroup string `yaml:"portGroup" json:"portGroup"`
	Type      string `yaml:"type" json:"type"` // Pod, Multus
	// Name is the network attachment definition, "name" or "namespace/name", for Multus.
	Name    string `yaml:"name,omitempty" json:"name,omitempty"`
	Binding string `yaml:"binding,omitempty" json:"binding,omitempty"` // masquerade, bridge
}

// Validation says what must hold before a migration is Completed.
type Validation struct {
	RequireGuestAgent  bool    `yaml:"requireGuestAgent,omitempty" json:"requireGuestAgent,omitempty"`
	BootTimeoutSeconds int     `yaml:"bootTimeoutSeconds,omitempty" json:"bootTimeoutSeconds,omitempty"`
	Checks             []Check `yaml:"checks,omitempty" json:"checks,omitempty"`
}

// Check is one test of the started VM.
type Check struct {
	Type               string `yaml:"type" json:"type"` // HTTP, IP, GuestAgent
	Port               int    `yaml:"port,omitempty" json:"port,omitempty"`
	Path               string `yaml:"path,omitempty" json:"path,omitempty"`
	ExpectStatus       int    `yaml:"expectStatus,omitempty" json:"expectStatus,omitempty"`
	ExpectBodyContains string `yaml:"expectBodyContains,omitempty" json:"expectBodyContains,omitempty"`
}

// BootTimeout is how long the started VM may take for all of its checks.
func (v Validation) BootTimeout() time.Duration {
	return time.Duration(v.BootTimeoutSeconds) * time.Second
}

// ShutdownTimeout is how long a guest may take to shut down by itself.
func (s Source) ShutdownTimeout() time.Duration {
	return time.Duration(s.ShutdownSeconds) * time.Second
}

// Retries is the retry limit, resolved.
func (s Strategy) Retries() int {
	if s.RetryLimit == nil {
		return DefaultRetryLimit
	}
	return *s.RetryLimit
}

// KeepMAC tells whether NICs keep their hardware addresses.
func (s Spec) KeepMAC() bool { return s.PreserveMACAddress == nil || *s.PreserveMACAddress }

// Storage gives the mapping of a datastore.
func (s Spec) StorageFor(datastore string) (StorageMapping, bool) {
	var rest *StorageMapping
	for i, m := range s.Storage.Mappings {
		if m.Datastore == datastore {
			return m, true
		}
		if m.Datastore == "*" {
			rest = &s.Storage.Mappings[i]
		}
	}
	if rest == nil {
		return StorageMapping{}, false
	}
	return *rest, true
}

// NetworkFor gives the mapping of a NIC's network, by name or id.
func (s Spec) NetworkFor(n machine.NIC) (NetworkMapping, bool) {
	var rest *NetworkMapping
	for i, m := range s.Network.Mappings {
		if m.PortGroup == n.Network || (n.NetworkID != "" && m.PortGroup == n.NetworkID) {
			return m, true
		}
		if m.PortGroup == "*" && n.Network != "" {
			rest = &s.Network.Mappings[i]
		}
	}
	if rest == nil {
		return NetworkMapping{}, false
	}
	return *rest, true
}
