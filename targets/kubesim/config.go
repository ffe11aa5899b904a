package kubesim

import (
	"errors"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
)

// Config describes the cluster. The zero value, but for Dir, is a usable one: a node with KVM, a default storage class that
// binds at once, and one user who may do everything.
type Config struct {
	Dir     string `json:"dir"`     // objects, disks and identities are kept here and found again after a restart
	Address string `json:"address"` // of the API; "" is 127.0.0.1 with the port of the last run, else a free one
	Context string `json:"context"` // name of the context in the kubeconfig; "" is "kubesim"

	Pace      time.Duration    `json:"-"` // between two steps of any controller; 0 is one second
	TokenLife time.Duration    `json:"-"` // of an upload token; 0 is the five minutes of CDI
	Grace     time.Duration    `json:"-"` // that a pod of CDI takes to end, and its claim with it; half a minute in a real cluster, 0 here is at once
	Now       func() time.Time `json:"-"` // nil is the clock

	Namespaces    []string       `json:"namespaces"`
	Classes       []StorageClass `json:"classes"`
	Nodes         []Node         `json:"nodes"`
	Networks      []Network      `json:"networks"`
	Quotas        []Quota        `json:"quotas"`
	Users         []User         `json:"users"`         // the first is the one in the kubeconfig
	Instancetypes []Instancetype `json:"instancetypes"` // VirtualMachineClusterInstancetypes, or those of a namespace
	Preferences   []Preference   `json:"preferences"`   // VirtualMachineClusterPreferences, or those of a namespace
	Limits        []Limit        `json:"limits"`
	Ranges        Ranges         `json:"ranges"`      // the cluster's own addresses
	PodSecurity   string         `json:"podSecurity"` // that every one of Namespaces enforces, "" for no label
	KubeVirt      Operator       `json:"kubevirt"`
	CDI           Operator       `json:"cdi"`
	Emulation     bool           `json:"emulation"`     // KubeVirt may run VMs without KVM
	ScratchClass  string         `json:"scratchClass"`  // CDI's; "" is the default class
	SlowScheduler bool           `json:"slowScheduler"` // importers are seen unschedulable before a node is found for them
	NoMultus      bool           `json:"noMultus"`
	NoCDI         bool           `json:"noCDI"`
	NoKubeVirt    bool           `json:"noKubeVirt"`
	History       int            `json:"history"` // changes that a watch can go back; 0 is 4096
}

// StorageClass is a class with a provisioner that always works, until Capacity is used up.
type StorageClass struct {
	Name                 string   `json:"name"`
	Default              bool     `json:"default"`
	WaitForFirstConsumer bool     `json:"waitForFirstConsumer"`
	VolumeMode           string   `json:"volumeMode"`  // what the StorageProfile recommends; "" is Filesystem
	AccessModes          []string `json:"accessModes"` // likewise; nil is ReadWriteOnce
	NoProfile            bool     `json:"noProfile"`   // CDI does not know the provisioner: the StorageProfile is empty
	Capacity             string   `json:"capacity"`    // "" is without limit
	Overhead             *float64 `json:"overhead"`    // part of a Filesystem volume that is not usable; nil is CDI's 0.06
}

// Node is a worker.
type Node struct {
	Name   string            `json:"name"`
	CPU    string            `json:"cpu"`    // "" is 8
	Memory string            `json:"memory"` // "" is 32Gi
	NoKVM  bool              `json:"noKVM"`  // does not offer devices.kubevirt.io/kvm
	Labels map[string]string `json:"labels"`
	// Address is the node's own; "" is 127.0.0.1.
	Address string `json:"address"`
}

// Network is a NetworkAttachmentDefinition.
type Network struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	Config    string `json:"config"` // "" is a bridge
}

// Quota is a ResourceQuota.
type Quota struct {
	Namespace string            `json:"namespace"`
	Name      string            `json:"name"`
	Hard      map[string]string `json:"hard"`
}

// Instancetype is a VirtualMachineClusterInstancetype, or a VirtualMachineInstancetype of a namespace.
type Instancetype struct {
	Namespace string `json:"namespace"` // "" is the cluster's
	Name      string `json:"name"`
	CPU       uint32 `json:"cpu"`
	Memory    string `json:"memory"`
}

// Preference is a VirtualMachineClusterPreference, or a VirtualMachinePreference of a namespace.
type Preference struct {
	Name      string `json:"name"`
	Namespace string `json:"namespace"` // "" is the cluster's
	CPUs      uint32 `json:"cpus"`      // required; 0 for none
	Memory    string `json:"memory"`    // required; "" for none
	TPM       bool   `json:"tpm"`       // prefers one
}

// Limit is a LimitRange of claims.
type Limit struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	Min       string `json:"min"`
	Max       string `json:"max"`
}

// The ways in which a cluster tells its own addresses.
const (
	AsObjects   = "objects"   // ServiceCIDR objects and the nodes' own
	AsKubeadm   = "kubeadm"   // in a ConfigMap of kube-system
	AsOpenShift = "openshift" // in an object of its own
	AsNothing   = "nothing"
)

// Ranges are addresses of pods and services; each node has a part of the pods'.
type Ranges struct {
	As       string   `json:"as"`       // "" is AsObjects
	Pods     []string `json:"pods"`     // nil is 10.244.0.0/16
	Services []string `json:"services"` // nil is 10.96.0.0/12
}

// Operator is what the operator of KubeVirt or CDI says of itself.
type Operator struct {
	Version     string `json:"version"`     // "" is a recent one
	Phase       string `json:"phase"`       // "" is Deployed
	Unavailable string `json:"unavailable"` // why, "" where it is available
	Degraded    string `json:"degraded"`    // why, "" where it is not
}

// User may do what one of Allow permits, or everything if there is none, except what one of Deny names.
type User struct {
	Name  string `json:"name"`
	Token string `json:"token"` // "" is a random one, kept in Dir
	Allow []Rule `json:"allow"`
	Deny  []Rule `json:"deny"`
}

const (
	defaultOverhead  = 0.06
	defaultTokenLife = 5 * time.Minute
	defaultHistory   = 4096
)

func (c *Config) setDefaults() {
	if c.Context == "" {
		c.Context = "kubesim"
	}
	if c.Pace == 0 {
		c.Pace = time.Second
	}
	if c.TokenLife == 0 {
		c.TokenLife = defaultTokenLife
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.History == 0 {
		c.History = defaultHistory
	}
	if len(c.Classes) == 0 {
		c.Classes = []StorageClass{{Name: "standard", Default: true}}
	}
	if len(c.Nodes) == 0 {
		c.Nodes = []Node{{Name: "node-1"}}
	}
	if c.Ranges.As == "" {
		c.Ranges.As = AsObjects
	}
	if c.Ranges.Pods == nil {
		c.Ranges.Pods = []string{"10.244.0.0/16"}
	}
	if c.Ranges.Services == nil {
		c.Ranges.Services = []string{"10.96.0.0/12"}
	}
	if len(c.Users) == 0 {
		c.Users = []User{{Name: "operator"}}
	}
}

func (c *Config) check() error {
	if c.Dir == "" {
		return errors.New("start simulated cluster: Config.Dir is empty; give the folder that keeps its state")
	}
	quantities := map[string]string{}
	for _, s := range c.Classes {
		quantities["capacity of class "+s.Name] = s.Capacity
	}
	for _, n := range c.Nodes {
		quantities["cpu of node "+n.Name] = n.CPU
		quantities["memory of node "+n.Name] = n.Memory
	}
	for _, q := range c.Quotas {
		for k, v := range q.Hard {
			quantities[fmt.Sprintf("%s of quota %s/%s", k, q.Namespace, q.Name)] = v
		}
	}
	for _, t := range c.Instancetypes {
		quantities["memory of instancetype "+t.Name] = t.Memory
	}
	for _, p := range c.Preferences {
		quantities["memory of preference "+p.Name] = p.Memory
	}
	for _, l := range c.Limits {
		quantities["min of limit "+l.Namespace+"/"+l.Name] = l.Min
		quantities["max of limit "+l.Namespace+"/"+l.Name] = l.Max
	}
	for what, q := range quantities {
		if q == "" {
			continue
		}
		if _, err := resource.ParseQuantity(q); err != nil {
			return fmt.Errorf("start simulated cluster: %s is %q: %w", what, q, err)
		}
	}
	return nil
}

// class looks up a configured storage class.
func (c *Config) class(name string) (StorageClass, bool) {
	for _, s := range c.Classes {
		if s.Name == name {
			return s, true
		}
	}
	return StorageClass{}, false
}

func (s StorageClass) overhead() float64 {
	if s.Overhead == nil {
		return defaultOverhead
	}
	return *s.Overhead
}
