package kubevirt_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"landfall/engine/machine"
	"landfall/engine/spec"
	"landfall/targets"
	"landfall/targets/kubesim"
	"landfall/targets/kubevirt"
)

func ask(t *testing.T, k targets.Target, change func(*targets.Question)) targets.Facts {
	t.Helper()
	q := targets.Question{Namespace: ns, VMName: "web", Owner: owner, Delivery: spec.Upload}
	if change != nil {
		change(&q)
	}
	f, err := k.Facts(t.Context(), q)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func TestFactsOfComponents(t *testing.T) {
	for _, c := range []struct {
		what      string
		cfg       kubesim.Config
		virt, cdi func(targets.Component) bool
	}{
		{"healthy and new", kubesim.Config{},
			func(c targets.Component) bool {
				return c.Served && c.Ready && !c.Old && len(c.Wrong)+len(c.Lacks) == 0 && c.Minimum != "" && c.MinimumWhy != ""
			},
			func(c targets.Component) bool {
				return c.Served && c.Ready && !c.Old && len(c.Wrong)+len(c.Lacks) == 0 && c.Version == "1.64.0"
			}},
		{"old", kubesim.Config{KubeVirt: kubesim.Operator{Version: "v0.59.2"}, CDI: kubesim.Operator{Version: "v1.43.1"}},
			func(c targets.Component) bool { return c.Ready && c.Old && len(c.Lacks) == 1 },
			func(c targets.Component) bool { return c.Ready && c.Old && len(c.Lacks) == 1 }},
		{"good enough, but not for all", kubesim.Config{KubeVirt: kubesim.Operator{Version: "v1.4.0-rc.1"}, CDI: kubesim.Operator{Version: "v1.57.0"}},
			func(c targets.Component) bool { return !c.Old && c.Lacks[0].Feature == targets.FeatureLinkState },
			func(c targets.Component) bool { return !c.Old && c.Lacks[0].Feature == targets.FeatureZstd }},
		{"a version that is none", kubesim.Config{KubeVirt: kubesim.Operator{Version: "devel"}},
			func(c targets.Component) bool { return c.Ready && !c.Old && len(c.Lacks) == 0 }, nil},
		{"unavailable", kubesim.Config{KubeVirt: kubesim.Operator{Unavailable: "virt-api has 0 of 2 replicas"}},
			func(c targets.Component) bool {
				return c.Served && !c.Ready && strings.Contains(strings.Join(c.Wrong, "\n"), "Available is False: DeploymentNotReady: virt-api has 0 of 2")
			}, nil},
		{"being deployed", kubesim.Config{CDI: kubesim.Operator{Phase: "Deploying"}}, nil,
			func(c targets.Component) bool { return !c.Ready && c.Wrong[0] == "phase is Deploying" }},
		{"degraded but ready", kubesim.Config{CDI: kubesim.Operator{Degraded: "no default class"}}, nil,
			func(c targets.Component) bool {
				return c.Ready && strings.Contains(c.Wrong[0], "no default class")
			}},
		{"not installed", kubesim.Config{NoCDI: true, NoKubeVirt: true},
			func(c targets.Component) bool { return !c.Served && !c.Ready && c.Version == "" },
			func(c targets.Component) bool { return !c.Served && !c.Ready && c.Version == "" }},
	} {
		t.Run(c.what, func(t *testing.T) {
			f := ask(t, dial(t, start(t, c.cfg), nil), nil)
			if c.virt != nil && !c.virt(f.KubeVirt) {
				t.Errorf("KubeVirt: %+v", f.KubeVirt)
			}
			if c.cdi != nil && !c.cdi(f.CDI) {
				t.Errorf("CDI: %+v", f.CDI)
			}
			if f.KubeVirtReady != f.KubeVirt.Ready || f.CDIReady != f.CDI.Ready {
				t.Error("the two ways to say ready differ")
			}
		})
	}
}

func TestFactsOfRanges(t *testing.T) {
	pods, services := []string{"10.42.0.0/16", "fd00:42::/56"}, []string{"10.43.0.0/16", "fd00:43::/112"}
	nodes := []kubesim.Node{{Name: "a", Address: "192.168.7.1"}, {Name: "b", Address: "192.168.7.2"}}
	for _, c := range []struct {
		what, as string
		want     targets.Ranges
		unknown  bool
	}{
		{"objects of the cluster", kubesim.AsObjects, targets.Ranges{Pods: []string{"10.42.0.0/24", "10.42.1.0/24", "fd00:42::/64", "fd00:42:0:1::/64"}, Services: services}, false},
		{"kubeadm", kubesim.AsKubeadm, targets.Ranges{Pods: pods, Services: services}, false},
		{"OpenShift", kubesim.AsOpenShift, targets.Ranges{Pods: pods, Services: services}, false},
		{"nothing tells", kubesim.AsNothing, targets.Ranges{}, true},
	} {
		t.Run(c.what, func(t *testing.T) {
			f := ask(t, dial(t, start(t, kubesim.Config{Nodes: nodes, Ranges: kubesim.Ranges{As: c.as, Pods: pods, Services: services}}), nil), nil)
			c.want.Nodes = []string{"192.168.7.1/32", "192.168.7.2/32"}
			if d := cmp.Diff(c.want, f.Ranges); d != "" {
				t.Error(d)
			}
			if (f.Unknown[targets.FactPods] != "") != c.unknown || (f.Unknown[targets.FactServices] != "") != c.unknown {
				t.Errorf("unknown: %v", f.Unknown)
			}
		})
	}
}

func TestFactsOfTheNamespace(t *testing.T) {
	s := start(t, kubesim.Config{
		PodSecurity: "restricted", Emulation: true, ScratchClass: "late",
		Nodes:    []kubesim.Node{{Name: "a", NoKVM: true}, {Name: "b", NoKVM: true}},
		Networks: []kubesim.Network{{Namespace: ns, Name: "lan"}, {Namespace: "default", Name: "dmz", Config: `{"plugins":[{"type":"ovs"},{"type":"tuning"}]}`}, {Namespace: "other", Name: "x", Config: "nonsense"}, {Namespace: "unasked", Name: "y"}},
		Limits:   []kubesim.Limit{{Namespace: ns, Name: "claims", Min: "1Mi", Max: "5Gi"}},
		Quotas: []kubesim.Quota{
			{Namespace: ns, Name: "a", Hard: map[string]string{"requests.storage": "10Gi", "limits.cpu": "1500m", "persistentvolumeclaims": "7"}},
			{Namespace: ns, Name: "b", Hard: map[string]string{"requests.storage": "8Gi", "fast.storageclass.storage.k8s.io/requests.storage": "3Gi"}},
		},
		Preferences:   []kubesim.Preference{{Name: "debian", CPUs: 2, Memory: "1Gi"}, {Name: "debian", Namespace: ns, TPM: true}, {Name: "mine", Namespace: ns, TPM: true}, {Name: "theirs", Namespace: "other"}},
		Instancetypes: []kubesim.Instancetype{{Name: "u1.small", CPU: 1, Memory: "2Gi"}, {Namespace: ns, Name: "own", CPU: 3, Memory: "3Gi"}},
		Classes:       []kubesim.StorageClass{{Name: "fast", Capacity: "100Gi"}, {Name: "late"}, {Name: "foreign", NoProfile: true}},
	})
	k := dial(t, s, nil)
	var f targets.Facts
	for deadline := time.Now().Add(10 * time.Second); time.Now().Before(deadline) && (len(f.QuotaLeft) < 4 || f.Classes["fast"].Free == nil); {
		f = ask(t, k, func(q *targets.Question) {
			q.Networks, q.StorageClasses = []string{"lan", "other/x", "other/gone"}, []string{"fast"}
		})
	}
	if len(f.Unknown) > 0 {
		t.Errorf("unknown: %v", f.Unknown)
	}
	min, max := int64(1<<20), int64(5<<30)
	for what, d := range map[string]string{
		"attachments":   cmp.Diff(map[string]string{ns + "/lan": "bridge", "default/dmz": "ovs", "other/x": ""}, f.Attachments),
		"networks":      cmp.Diff(map[string]bool{"lan": true, "other/x": true, "other/gone": false}, f.Networks),
		"limits":        cmp.Diff([]targets.Limit{{Name: "claims", Type: "PersistentVolumeClaim", Resource: "storage", Min: &min, Max: &max}}, f.Limits),
		"quota":         cmp.Diff(map[string]int64{"requests.storage": 8 << 30, "limits.cpu": 1500, "persistentvolumeclaims": 7, "fast.storageclass.storage.k8s.io/requests.storage": 3 << 30}, f.QuotaLeft),
		"preferences":   cmp.Diff(map[string]targets.Preference{"debian": {CPUs: 2, Memory: 1 << 30}, "mine": {Namespaced: true, TPM: true}}, f.Preferences),
		"instancetypes": cmp.Diff(map[string]targets.Instancetype{"u1.small": {CPUs: 1, Memory: 2 << 30}, "own": {Namespaced: true, CPUs: 3, Memory: 3 << 30}}, f.Instancetypes),
		"rest": cmp.Diff([]any{"restricted", true, 2, 0, "late", false, int64(3 << 30), int64(100 << 30), int64(100 << 30), 0}, []any{
			f.PodSecurity, f.Emulation, f.Nodes, f.KVMNodes, f.ScratchClass, f.NamespaceTerminating, *f.QuotaStorage, *f.Classes["fast"].Capacity, *f.Classes["fast"].Free, len(f.Classes["foreign"].Modes),
		}),
	} {
		if d != "" {
			t.Errorf("%s (-want +got):\n%s", what, d)
		}
	}
}

func TestFactsWithoutMultus(t *testing.T) {
	f := ask(t, dial(t, start(t, kubesim.Config{NoMultus: true}), nil), func(q *targets.Question) { q.Networks = []string{"lan"} })
	if there, asked := f.Networks["lan"]; there || !asked || len(f.Attachments) > 0 || f.Unknown[targets.FactNetworks] != "" {
		t.Errorf("networks %v, attachments %v, unknown %v", f.Networks, f.Attachments, f.Unknown)
	}
}

// Who may look at single networks but not list them still gets an answer for those that are asked for.
func TestFactsOfNetworksOneByOne(t *testing.T) {
	s := start(t, kubesim.Config{
		Networks: []kubesim.Network{{Namespace: ns, Name: "lan"}},
		Users:    []kubesim.User{{Name: "operator", Deny: []kubesim.Rule{{Verbs: []string{"list"}, Resources: []string{"network-attachment-definitions"}}}}},
	})
	f := ask(t, dial(t, s, nil), func(q *targets.Question) { q.Networks = []string{"lan", "gone"} })
	if d := cmp.Diff(map[string]bool{"lan": true, "gone": false}, f.Networks); d != "" || f.Unknown[targets.FactNetworks] != "" || f.Unknown[targets.FactAttachments] == "" {
		t.Errorf("%s; unknown %v", d, f.Unknown)
	}
}

// Every group of facts has the time at which it was looked at, those that stayed unknown too.
func TestFactsHaveTheirTime(t *testing.T) {
	s := start(t, kubesim.Config{Users: []kubesim.User{{Name: "operator", Deny: []kubesim.Rule{{Resources: []string{"nodes"}}}}}})
	before := time.Now()
	f := ask(t, dial(t, s, nil), nil)
	for _, fact := range []string{
		targets.FactAccess, targets.FactKubeVirt, targets.FactCDI, targets.FactNamespace, targets.FactClasses, targets.FactProfiles, targets.FactOverhead, targets.FactCapacity,
		targets.FactNetworks, targets.FactAttachments, targets.FactMACs, targets.FactName, targets.FactKVM, targets.FactQuota, targets.FactLimits, targets.FactKubernetes,
		targets.FactPods, targets.FactServices, targets.FactNodes, targets.FactPreferences, targets.FactInstancetypes,
	} {
		if at := f.Looked[fact]; at.Before(before) || at.After(time.Now()) {
			t.Errorf("%s was looked at %v", fact, at)
		}
	}
	// Of this cluster only the nodes tell the pods' addresses.
	if d := cmp.Diff([]string{targets.FactKVM, targets.FactNodes, targets.FactPods}, slices.Sorted(maps.Keys(f.Unknown))); d != "" {
		t.Errorf("unknown (-want +got): %s", d)
	}
	if why := f.Unknown[targets.FactPods]; !strings.Contains(why, "nodes") {
		t.Errorf("the pods' addresses are unknown because %s", why)
	}
}

// What is asked about five hundred VMs costs no more requests than what is asked about one.
func TestFactsOfManyAreNotDearer(t *testing.T) {
	s := start(t, kubesim.Config{})
	k := dial(t, s, nil)
	other := targets.Owner{UID: "m-2", Namespace: ns}
	for _, name := range []string{"vm-7", "Db"} {
		p, err := kubevirt.Render(targets.Input{Owner: other, VM: machine.VM{
			Summary: machine.Summary{Name: name, CPUs: 1, MemoryMiB: 64}, NICs: []machine.NIC{{MAC: "00:50:56:AA:00:01", Network: "n"}},
			DiskList: []machine.Disk{{Capacity: 1 << 30, Datastore: "d"}},
		}, Spec: spec.Spec{
			Network: spec.Network{Mappings: []spec.NetworkMapping{{PortGroup: "*", Type: "Pod"}}},
			Storage: spec.Storage{Mappings: []spec.StorageMapping{{Datastore: "*", StorageClass: "fast"}}},
		}})
		if err != nil {
			t.Fatal(err)
		}
		if name == "vm-7" {
			err = k.ApplyMachine(t.Context(), other, p)
		} else {
			err = k.CreateVolume(t.Context(), other, p.Volumes[0])
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	requests := func(f func()) int {
		before := total(s)
		f()
		return total(s) - before
	}
	var f targets.Facts
	one := requests(func() { ask(t, k, func(q *targets.Question) { q.MACs = []string{"00:50:56:aa:00:01"} }) })
	many := requests(func() {
		f = ask(t, k, func(q *targets.Question) {
			q.VMName = ""
			for i := range 500 {
				q.VMNames = append(q.VMNames, fmt.Sprintf("vm-%d", i))
				q.MACs = append(q.MACs, fmt.Sprintf("00:50:56:AA:%02X:%02X", i/256, i%256))
				q.StorageClasses = append(q.StorageClasses, "fast")
				q.Networks = append(q.Networks, fmt.Sprintf("net-%d", i))
			}
			q.VMNames = append(q.VMNames, "db")
		})
	})
	if many > one || one > 80 {
		t.Errorf("%d requests for one VM, %d for 501", one, many)
	}
	t.Logf("%d requests for one VM, %d for 501", one, many)
	if d := cmp.Diff(map[string]string{"vm-7": "virtualmachine vm-7", "db": "datavolume db-disk-0"}, f.Names); d != "" || f.NameTaken != "" || len(f.Unknown) > 0 {
		t.Errorf("taken (-want +got): %s; %q, unknown %v", d, f.NameTaken, f.Unknown)
	}
	if d := cmp.Diff(map[string]string{"00:50:56:aa:00:01": ns + "/vm-7"}, f.MACs); d != "" {
		t.Errorf("addresses in use: %s", d)
	}
}

// total is how often the API was called.
func total(s *kubesim.Server) (n int) {
	for _, calls := range s.Counters().Calls {
		n += int(calls)
	}
	return n
}
