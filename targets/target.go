// Package targets says what a target of migrations promises. Its subpackages are named for their technology and do not
// know each other, nor sources, store or ui. Every target passes the suite in targettest.
package targets

import (
	"context"
	"io"
	"slices"
	"time"

	"landfall/engine/machine"
	"landfall/engine/secret"
	"landfall/engine/spec"
)

// Target is one cluster, connected by one kubeconfig context. All methods may be called from several goroutines and
// again after any failure. A method that looks gives "absent" only when the cluster said so; that it could not look
// is an error. A method that makes something succeeds when ours is there already, and gives fault.NotOurs (Blocked) when
// another's is. Nothing without our migration label is ever changed or deleted.
//
// Errors carry a fault class and reason: conflicts, time-outs, 429 and 5xx are Transient with the wait that was asked
// for; what a person must mend (forbidden, quota, admission refused, namespace missing) is Blocked with the cluster's
// own words.
type Target interface {
	// About tells which cluster this is, and its versions.
	About(ctx context.Context) (About, error)

	// Facts looks up what the rules need to judge the question. A fact that could not be looked up is named in Facts.Unknown,
	// not given as absent.
	Facts(ctx context.Context, q Question) (Facts, error)

	// Render says what is to be made: a pure function of its input, without a look at the cluster.
	Render(in Input) (Plan, error)

	// Makes names, without a look at the cluster, everything that CreateVolume makes for a volume, in the order in which it
	// is made, so that it can be written down before. The volume itself is of kind datavolume.
	Makes(o Owner, v Volume) []Ref

	// MakesMachine names likewise what ApplyMachine and, for the checks of the spec, Probe make. The machine itself is of
	// kind virtualmachine.
	MakesMachine(o Owner, p Plan, checks []spec.Check) []Ref

	// Volume looks at one volume.
	Volume(ctx context.Context, o Owner, v Volume) (VolumeState, error)

	// CreateVolume makes the volume so that it can take the delivery that v asks for.
	CreateVolume(ctx context.Context, o Owner, v Volume) error

	// MarkVolume writes the digest of v on the volume and its claim, which were made before it was known, so that they can be told
	// again by themselves. Nothing else of them changes. fault.NotFound, Transient, where there is no volume.
	MarkVolume(ctx context.Context, o Owner, v Volume) error

	// Deliver sends the artifact into a volume that is ready for it (VolumeState.Ready), with a credential of its own for
	// every call. acked is called with the total of raw bytes handed over. It returns nil only when the other side
	// acknowledged the whole; the last byte leaves only after the artifact itself said that all of it was as recorded.
	Deliver(ctx context.Context, o Owner, v Volume, a Artifact, acked func(int64)) error

	// Machine looks at the virtual machine.
	Machine(ctx context.Context, o Owner, p Plan) (MachineState, error)

	// ApplyMachine creates the virtual machine halted, or updates ours to what is rendered.
	ApplyMachine(ctx context.Context, o Owner, p Plan) error

	// SetRunStrategy asks the machine to run or to halt. Declarative: the same value again changes nothing.
	SetRunStrategy(ctx context.Context, o Owner, p Plan, strategy string) error

	// Instance looks at the running instance.
	Instance(ctx context.Context, o Owner, p Plan) (InstanceState, error)

	// Probe runs one check once. A check that fails is a Result, not an error.
	Probe(ctx context.Context, o Owner, p Plan, c spec.Check) (Result, error)

	// Owned lists everything in the namespace that carries the owner's label.
	Owned(ctx context.Context, o Owner) ([]Ref, error)

	// Remove deletes one thing of ours and succeeds when it is gone or was never there. fault.NotOurs where it carries
	// another's label or none. It may return before the thing is gone: look with Present.
	Remove(ctx context.Context, o Owner, r Ref) error

	// Present tells whether the thing exists and is ours.
	Present(ctx context.Context, o Owner, r Ref) (bool, error)

	Close() error
}

// Owner marks what is made as one migration's.
type Owner struct {
	UID       string // the migration's UID: the label landfall.dev/migration
	Name      string // for people
	Namespace string
}

// About describes a cluster.
type About struct {
	Context    string `json:"context"`    // kubeconfig context, as pinned
	Server     string `json:"server"`     // API server URL
	Kubernetes string `json:"kubernetes"` // versions, "" where not installed
	KubeVirt   string `json:"kubevirt"`
	CDI        string `json:"cdi"`
}

// Question is what the facts are wanted for.
type Question struct {
	Namespace string
	VMName    string // rendered
	// VMNames are rendered names of further VMs: of all of them together no more is asked than of one.
	VMNames        []string
	StorageClasses []string
	Networks       []string // "namespace/name" of network attachment definitions
	MACs           []string
	Owner          Owner
	Delivery       spec.Delivery
}

// Facts is what the rules know of a cluster. Missing maps and lists mean "none", unless Unknown names the fact.
type Facts struct {
	Taken           time.Time               `json:"taken"`
	About           About                   `json:"about"`
	KubeVirtReady   bool                    `json:"kubevirtReady"`
	CDIReady        bool                    `json:"cdiReady"`
	NamespaceExists bool                    `json:"namespaceExists"`
	Denied          []string                `json:"denied,omitempty"`  // "create datavolumes.cdi.kubevirt.io"
	Classes         map[string]StorageClass `json:"classes,omitempty"` // every class of the cluster
	DefaultClass    string                  `json:"defaultClass,omitempty"`
	Networks        map[string]bool         `json:"networks,omitempty"`  // asked for → there
	MACs            map[string]string       `json:"macs,omitempty"`      // asked for and used, lower case → "namespace/vm"
	NameTaken       string                  `json:"nameTaken,omitempty"` // who has the VM's name and is not ours: "virtualmachine web", or ""
	// Names are the rendered names asked for (VMName and VMNames) that are taken, or one of whose volumes' names is → who
	// has it and is not ours: "datavolume web-disk-0".
	Names        map[string]string    `json:"names,omitempty"`
	KVMNodes     int                  `json:"kvmNodes"`
	Quota        []string             `json:"quota,omitempty"`        // "requests.storage: 80Gi of 100Gi used"
	QuotaStorage *int64               `json:"quotaStorage,omitempty"` // bytes of storage still allowed by quotas; nil: no quota
	Unknown      map[string]string    `json:"unknown,omitempty"`      // fact → why it could not be looked up
	Looked       map[string]time.Time `json:"looked,omitempty"`       // fact → when it was looked at, known or not

	KubeVirt Component `json:"kubevirt"`
	CDI      Component `json:"cdi"`
	// Emulation tells that KubeVirt runs VMs without hardware virtualisation too: no node needs to offer kvm.
	Emulation bool `json:"emulation,omitempty"`
	Nodes     int  `json:"nodes"` // all of them
	// NamespaceTerminating tells that the namespace is being deleted.
	NamespaceTerminating bool `json:"namespaceTerminating,omitempty"`
	// PodSecurity is what the namespace enforces by its label: privileged, baseline, restricted; "" is the cluster's default.
	PodSecurity string `json:"podSecurity,omitempty"`
	// Attachments are all network attachment definitions of the namespace, of "default", and of the namespaces asked for,
	// "namespace/name" → the type of its CNI plugin, "" where its configuration does not say.
	Attachments map[string]string `json:"attachments,omitempty"`
	// QuotaLeft is what all quotas of the namespace leave together, by the resource's name in a quota ("requests.storage",
	// "persistentvolumeclaims", "fast.storageclass.storage.k8s.io/requests.storage", "limits.memory"): bytes, counts,
	// thousandths of a cpu.
	QuotaLeft map[string]int64 `json:"quotaLeft,omitempty"`
	Limits    []Limit          `json:"limits,omitempty"` // of every LimitRange of the namespace
	// Ranges are the cluster's own addresses, as far as they can be read.
	Ranges Ranges `json:"ranges"`
	// Preferences and Instancetypes are those of the cluster and of the namespace by name; the cluster's goes before.
	Preferences   map[string]Preference   `json:"preferences,omitempty"`
	Instancetypes map[string]Instancetype `json:"instancetypes,omitempty"`
	// ScratchClass is where CDI makes scratch volumes, "" where it is the volume's own class.
	ScratchClass string `json:"scratchClass,omitempty"`
}

// StorageClass is what is known of a storage class.
type StorageClass struct {
	Provisioner          string   `json:"provisioner"`
	WaitForFirstConsumer bool     `json:"waitForFirstConsumer,omitempty"`
	AccessModes          []string `json:"accessModes,omitempty"` // of CDI's storage profile, best first
	VolumeMode           string   `json:"volumeMode,omitempty"`
	Overhead             float64  `json:"overhead,omitempty"` // CDI's file-system overhead, a fraction
	Capacity             *int64   `json:"capacity,omitempty"` // largest volume that fits, bytes; nil: the driver does not say
	// Free is what all parts of the cluster have left together, bytes: not less than there is, for a driver may tell of one
	// pool in several places. nil: the driver does not say.
	Free *int64 `json:"free,omitempty"`
	// Modes are all that CDI's storage profile knows, best first; none: CDI does not know the driver.
	Modes []Modes `json:"modes,omitempty"`
}

// Input is everything that rendering depends on.
type Input struct {
	Owner   Owner
	Spec    spec.Spec // resolved
	VM      machine.VM
	Classes map[string]StorageClass
	// Digests are the artifacts' Merkle roots by disk index, "" where not known yet.
	Digests []string
	// Formats are the artifacts' formats by disk index; "" is raw.
	Formats []string
	// Pull says, by disk index, where the cluster fetches the artifact itself (delivery HTTP).
	Pull []*Pull
	// Preferences and Instancetypes are those of the facts. A preference that the spec does not name is chosen only from
	// these; nil: none is chosen.
	Preferences   map[string]Preference
	Instancetypes map[string]Instancetype
	// Lacks are the features that the cluster does not have.
	Lacks []Lack
}

// Know takes over from the facts what rendering depends on.
func (in *Input) Know(f Facts) {
	in.Classes, in.Preferences, in.Instancetypes = f.Classes, f.Preferences, f.Instancetypes
	in.Lacks = append(slices.Clone(f.KubeVirt.Lacks), f.CDI.Lacks...)
}

// Plan is what is to be made.
type Plan struct {
	Namespace   string   `json:"namespace"`
	Name        string   `json:"name"` // of the virtual machine
	Volumes     []Volume `json:"volumes"`
	Manifest    string   `json:"manifest"`        // the virtual machine, halted, as YAML
	Fingerprint string   `json:"fingerprint"`     // of the manifest; kept as an annotation to see drift
	Notes       []string `json:"notes,omitempty"` // what is not carried over or was changed
	MACs        []string `json:"macs,omitempty"`  // hardware addresses that it asks for, lower case
	// Preference is the one that is rendered, "" for none; it is asked for by the spec or chosen by the guest.
	Preference string `json:"preference,omitempty"`
	// Serve is host:port from which the cluster fetches the artifacts, "" where they are uploaded.
	Serve string `json:"serve,omitempty"`
	// Probes are the ports of the guest that the checks reach through a Service of ours.
	Probes []int `json:"probes,omitempty"`
}

// Volume is one disk's place in the cluster.
type Volume struct {
	Name         string   `json:"name"`
	Disk         int      `json:"disk"`
	Size         int64    `json:"size"` // bytes asked for: never smaller than the disk
	StorageClass string   `json:"storageClass"`
	VolumeMode   string   `json:"volumeMode,omitempty"`
	AccessModes  []string `json:"accessModes,omitempty"`
	BindNow      bool     `json:"bindNow,omitempty"` // ask CDI to bind a WaitForFirstConsumer volume at once
	Digest       string   `json:"digest,omitempty"`
	Format       string   `json:"format,omitempty"` // raw, qcow2
	Pull         *Pull    `json:"-"`
}

// Pull is where the cluster fetches an artifact.
type Pull struct {
	URL      string
	Username string
	Password secret.Secret
	CA       []byte // PEM
}

// Artifact is a disk image to deliver.
type Artifact interface {
	Format() string // raw, qcow2
	// Size is the virtual size of the disk in bytes.
	Size() int64
	// Length is the number of bytes that WriteTo writes.
	Length() int64
	// WriteTo writes the image in order, each chunk compared with its recorded digest before it is written; a difference
	// is fault.Damaged and nothing more is written.
	WriteTo(w io.Writer) (int64, error)
	// Chunks is the number of chunks, and ReadChunk gives one of them, compared likewise; zero tells that it is all
	// zeros without reading it (p is then untouched). ReadChunk may be called from several goroutines.
	Chunks() int64
	ReadChunk(i int64, p []byte) (n int, zero bool, err error)
}

// VolumeState is what was seen of a volume.
type VolumeState struct {
	Exists   bool
	Ours     bool
	Digest   string // of the artifact it was made for, "" where unknown
	Phase    string // CDI's own word
	Ready    bool   // takes a Deliver now
	Done     bool   // Succeeded
	Failed   bool   // Failed, or will never succeed by itself
	TooSmall bool   // the image does not fit; trying again does not help
	Waiting  string // why it does not go on, in the cluster's words, "" where it does
	Deleting bool   // it, or its claim, goes as soon as nothing uses it: CDI's pods take half a minute to end
	Restarts int32
	Progress string // CDI's own progress, "42.50%" or "N/A"
	Matches  bool   // size, class and modes are those of the plan
	Diff     []string
}

// MachineState is what was seen of a virtual machine.
type MachineState struct {
	Exists      bool
	Ours        bool
	UID         string
	Matches     bool     // what we rendered is what is there; fields of others are left alone
	Diff        []string // where not, one line each
	RunStrategy string
	Status      string // KubeVirt's printable status
}

// InstanceState is what was seen of a running instance.
type InstanceState struct {
	Exists        bool
	Phase         string // Pending, Scheduling, Scheduled, Running, Succeeded, Failed, Unknown
	Unschedulable string // the scheduler's words, ""
	NoKVM         bool   // the words name devices.kubevirt.io/kvm
	Failure       string // why it failed or cannot start, ""
	Node          string
	Addresses     []string
	Agent         bool // guest agent connected
	HostName      string
	OS            string
}

// Result is one run of a check.
type Result struct {
	Check  spec.Check `json:"check"`
	Passed bool       `json:"passed"`
	Wrong  bool       `json:"wrong"`  // it answers, but with the wrong content: waiting will not help
	Detail string     `json:"detail"` // what was seen, bounded
	When   time.Time  `json:"when"`
}

// Ref names one thing in a cluster.
type Ref struct {
	Kind      string `json:"kind"` // datavolume, persistentvolumeclaim, virtualmachine, service, secret, configmap
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
}

func (r Ref) String() string { return r.Kind + " " + r.Namespace + "/" + r.Name }
