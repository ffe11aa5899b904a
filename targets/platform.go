package targets

// Component is KubeVirt or CDI as the cluster has it.
type Component struct {
	Version string `json:"version,omitempty"` // as it calls itself, "" where it does not
	// Served tells that the cluster serves its API at all.
	Served bool `json:"served"`
	// Ready tells that it is deployed and available.
	Ready bool `json:"ready"`
	// Wrong says in the cluster's own words what is not as it should be: the phase and the conditions, one line each. A
	// component may be ready and degraded at once.
	Wrong []string `json:"wrong,omitempty"`
	// Old tells that the version is known and older than Minimum. MinimumWhy says what needs the minimum.
	Old        bool   `json:"old,omitempty"`
	Minimum    string `json:"minimum,omitempty"`
	MinimumWhy string `json:"minimumWhy,omitempty"`
	// Lacks says what this version cannot do and a migration uses where it can: what is rendered does without.
	Lacks []Lack `json:"lacks,omitempty"`
}

// Lack is something that came with a later release.
type Lack struct {
	Feature string `json:"feature"` // one of the Feature names
	Since   string `json:"since"`
	Why     string `json:"why"` // what it means for a migration
}

// The features of later releases that are used where they are there.
const (
	FeatureLinkState = "link-state" // a NIC that starts disconnected
	FeatureZstd      = "zstd"       // uploads compressed with zstd
)

// Preference is a VirtualMachineClusterPreference, or a VirtualMachinePreference of the namespace. What a VM says itself
// goes before a preference, but one whose requirements the VM does not meet makes the cluster refuse the VM.
type Preference struct {
	Namespaced   bool     `json:"namespaced,omitempty"`
	CPUs         uint32   `json:"cpus,omitempty"`         // required at least
	Memory       int64    `json:"memory,omitempty"`       // bytes, required at least
	Architecture []string `json:"architecture,omitempty"` // required: one of them; none: any
	// TPM tells that it adds a TPM where the VM says nothing of one.
	TPM bool `json:"tpm,omitempty"`
}

// Instancetype is a VirtualMachineClusterInstancetype, or a VirtualMachineInstancetype of the namespace.
type Instancetype struct {
	Namespaced bool   `json:"namespaced,omitempty"`
	CPUs       uint32 `json:"cpus"`
	Memory     int64  `json:"memory"` // bytes
}

// Ranges are the addresses that a cluster uses itself, as CIDRs (a single address is a /32 or /128), each once, in order.
type Ranges struct {
	Pods     []string `json:"pods,omitempty"`
	Services []string `json:"services,omitempty"`
	Nodes    []string `json:"nodes,omitempty"`
}

// Limit is one line of a LimitRange: what one object may have. Storage and memory are in bytes, cpu in thousandths.
type Limit struct {
	Name     string `json:"name"`     // of the LimitRange
	Type     string `json:"type"`     // PersistentVolumeClaim, Pod, Container
	Resource string `json:"resource"` // storage, cpu, memory
	Min      *int64 `json:"min,omitempty"`
	Max      *int64 `json:"max,omitempty"`
}

// Modes are a volume mode and the access modes that a class has with it.
type Modes struct {
	VolumeMode  string   `json:"volumeMode"`
	AccessModes []string `json:"accessModes"`
}
