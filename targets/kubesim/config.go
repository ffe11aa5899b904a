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
	Now       func() time.Time `json:"-"` // nil is the clock

	Namespaces    []string       `json:"namespaces"`
	Classes       []StorageClass `json:"classes"`
	Nodes         []Node         `json:"nodes"`
	Networks      []Network      `json:"networks"`
	Quotas        []Quota        `json:"quotas"`
	Users         []User         `json:"users"`         // the first is the one in the kubeconfig
	Instancetypes []Instancetype `json:"instancetypes"` // VirtualMachineClusterInstancetypes
	Preferences   []string       `json:"preferences"`   // VirtualMachineClusterPreferences
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

// Instancetype is a VirtualMachineClusterInstancetype.
type Instancetype struct {
	Name   string `json:"name"`
	CPU    uint32 `json:"cpu"`
	Memory string `json:"memory"`
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
