package kubevirt_test

import (
	"encoding/base64"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"landfall/engine/boundary"
	"landfall/engine/fault"
	"landfall/engine/machine"
	"landfall/engine/spec"
	"landfall/targets"
	"landfall/targets/kubesim"
	"landfall/targets/kubevirt"
)

func plan(t *testing.T, name string) targets.Plan {
	t.Helper()
	p, err := kubevirt.Render(targets.Input{Owner: owner, VM: machine.VM{
		Summary: machine.Summary{Name: name, GuestID: "debian12_64Guest", CPUs: 1, MemoryMiB: 256}, Firmware: "bios",
	}})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestAPIFaults(t *testing.T) {
	for _, c := range []struct {
		what   string
		fault  kubesim.Fault
		class  fault.Class
		reason string
		after  time.Duration
	}{
		{"conflict for good", kubesim.Fault{Do: kubesim.Conflict, Times: -1}, fault.Transient, fault.Conflict, 0},
		{"throttled for good", kubesim.Fault{Do: kubesim.Throttle, RetryAfter: 1, Times: -1}, fault.Transient, "ServerBusy", time.Second},
		{"server error", kubesim.Fault{Do: kubesim.Internal}, fault.Transient, "ServerBusy", 0},
		{"unavailable", kubesim.Fault{Do: kubesim.Unavailable}, fault.Transient, "ServerBusy", 0},
		{"forbidden", kubesim.Fault{Do: kubesim.Forbidden, Times: -1}, fault.Blocked, fault.NoPermission, 0},
		{"quota", kubesim.Fault{Do: kubesim.Forbidden, Times: -1, Message: "exceeded quota: limit, requested: pods=1, used: pods=1, limited: pods=1"}, fault.Blocked, fault.QuotaExceeded, 0},
		{"webhook", kubesim.Fault{Do: kubesim.Forbidden, Times: -1, Message: `admission webhook "policy.example.com" denied the request: no`}, fault.Blocked, fault.Refused, 0},
		{"invalid", kubesim.Fault{Do: kubesim.Invalid}, fault.Blocked, fault.Refused, 0},
		{"unauthorized", kubesim.Fault{Do: kubesim.Unauth}, fault.Blocked, fault.WrongCredentials, 0},
		{"connection cut", kubesim.Fault{Do: kubesim.Cut}, fault.Transient, fault.Unreachable, 0},
		{"done, answer lost", kubesim.Fault{Do: kubesim.Lost}, fault.Transient, fault.Unreachable, 0},
	} {
		t.Run(c.what, func(t *testing.T) {
			t.Parallel()
			s := start(t, kubesim.Config{})
			k := dial(t, s, nil)
			p := plan(t, "web")
			c.fault.Verb, c.fault.Resource = "create", "virtualmachines"
			s.Inject(c.fault)
			err := k.ApplyMachine(t.Context(), owner, p)
			if fault.ClassOf(err) != c.class || !fault.Is(err, c.reason) || fault.AfterOf(err) != c.after {
				t.Errorf("got %v (%s, %s, %s)", err, fault.ClassOf(err), fault.ReasonOf(err), fault.AfterOf(err))
			}
			if err != nil && !strings.Contains(err.Error(), "create virtualmachine vms/web") {
				t.Errorf("%v does not name what was done to what", err)
			}
			if c.class == fault.Blocked && fault.HintOf(err) == "" {
				t.Errorf("%v has no hint", err)
			}
			s.ClearFaults()
			if err := k.ApplyMachine(t.Context(), owner, p); err != nil {
				t.Fatal(err)
			}
			if m, err := k.Machine(t.Context(), owner, p); err != nil || !m.Matches {
				t.Errorf("after all the machine is %+v, %v", m, err)
			}
		})
	}
}

// A cluster that says yes and does nothing, does it twice or late, is believed only as far as it was seen.
func TestClusterThatLies(t *testing.T) {
	for _, do := range []string{kubesim.Nothing, kubesim.Twice, kubesim.Late} {
		t.Run(do, func(t *testing.T) {
			s := start(t, kubesim.Config{})
			k := dial(t, s, nil)
			p := plan(t, "web")
			s.Inject(kubesim.Fault{Verb: "create", Resource: "virtualmachines", Do: do, After: 50 * time.Millisecond})
			err := k.ApplyMachine(t.Context(), owner, p)
			if err != nil && fault.ClassOf(err) != fault.Transient {
				t.Fatal(err)
			}
			if m, err := k.Machine(t.Context(), owner, p); err != nil || m.Exists && do == kubesim.Nothing {
				t.Errorf("the machine is %+v, %v", m, err)
			}
			deadline := time.Now().Add(10 * time.Second)
			for {
				err := k.ApplyMachine(t.Context(), owner, p)
				if m, look := k.Machine(t.Context(), owner, p); err == nil && look == nil && m.Matches {
					break
				}
				if fault.ClassOf(err) == fault.Blocked || time.Now().After(deadline) {
					t.Fatalf("it never came to be: %v", err)
				}
			}
			refs, err := k.Owned(t.Context(), owner)
			if err != nil || len(refs) != 1 {
				t.Errorf("owned %v, %v", refs, err)
			}
		})
	}
}

func TestNamespaceMissing(t *testing.T) {
	s := start(t, kubesim.Config{})
	k := dial(t, s, nil)
	o := owner
	o.Namespace = "nowhere"
	err := k.CreateVolume(t.Context(), o, volume("web-disk-0", 1<<20))
	if fault.ClassOf(err) != fault.Blocked || !fault.Is(err, fault.NotFound) || !strings.Contains(fault.HintOf(err), "nowhere") {
		t.Errorf("got %v (%s, %s; %s)", err, fault.ClassOf(err), fault.ReasonOf(err), fault.HintOf(err))
	}
}

func TestFactsOfWhoMayLittle(t *testing.T) {
	s := start(t, kubesim.Config{Users: []kubesim.User{{Name: "operator"}, {Name: "little", Allow: []kubesim.Rule{
		{Verbs: []string{"get", "list", "create"}, Groups: []string{"kubevirt.io"}, Resources: []string{"virtualmachines"}, Namespaces: []string{ns}},
	}}}})
	q, err := dialAs(t, s, "little", nil).Facts(t.Context(), targets.Question{
		Namespace: ns, VMName: "web", MACs: []string{"00:50:56:00:00:01"}, Networks: []string{"a/b"}, Owner: owner, Delivery: spec.Upload,
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, fact := range []string{targets.FactKubeVirt, targets.FactCDI, targets.FactNamespace, targets.FactClasses, targets.FactMACs, targets.FactKVM, targets.FactQuota, targets.FactNetworks, targets.FactName} {
		if q.Unknown[fact] == "" {
			t.Errorf("%s is known to who may not look: %+v", fact, q)
		}
	}
	for _, d := range []string{"patch virtualmachines.kubevirt.io", "create datavolumes.cdi.kubevirt.io", "create uploadtokenrequests.upload.cdi.kubevirt.io", "get services/proxy"} {
		if !slices.Contains(q.Denied, d) {
			t.Errorf("%q is not among what is denied: %v", d, q.Denied)
		}
	}
	if slices.Contains(q.Denied, "create virtualmachines.kubevirt.io") || slices.Contains(q.Denied, "create secrets") {
		t.Errorf("denied too much: %v", q.Denied)
	}
}

func TestFactsOfTheCluster(t *testing.T) {
	s := start(t, kubesim.Config{
		Nodes:    []kubesim.Node{{Name: "a", NoKVM: true}, {Name: "b"}},
		Networks: []kubesim.Network{{Namespace: ns, Name: "lan"}},
		Quotas:   []kubesim.Quota{{Namespace: ns, Name: "q", Hard: map[string]string{"requests.storage": "10Gi", "pods": "5"}}},
	})
	k := dial(t, s, nil)
	other := targets.Owner{UID: "m-2", Namespace: ns}
	p, err := kubevirt.Render(targets.Input{Owner: other, VM: machine.VM{
		Summary: machine.Summary{Name: "db", CPUs: 1, MemoryMiB: 64}, NICs: []machine.NIC{{MAC: "00:50:56:AA:00:01", Network: "n"}},
	}, Spec: spec.Spec{Network: spec.Network{Mappings: []spec.NetworkMapping{{PortGroup: "*", Type: "Pod"}}}}})
	if err != nil {
		t.Fatal(err)
	}
	if err := k.ApplyMachine(t.Context(), other, p); err != nil {
		t.Fatal(err)
	}
	var q targets.Facts
	deadline := time.Now().Add(10 * time.Second)
	for len(q.Quota) < 2 && time.Now().Before(deadline) {
		if q, err = k.Facts(t.Context(), targets.Question{
			Namespace: ns, VMName: "web", MACs: []string{"00:50:56:aa:00:01", "00:50:56:AA:00:02"}, Networks: []string{ns + "/lan", "a/b"},
			StorageClasses: []string{"fast"}, Owner: owner, Delivery: spec.DeliverHTTP,
		}); err != nil {
			t.Fatal(err)
		}
	}
	if len(q.MACs) != 1 || q.MACs["00:50:56:aa:00:01"] != ns+"/db" {
		t.Errorf("MACs in use: %v", q.MACs)
	}
	if q.KVMNodes != 1 || !q.Networks[ns+"/lan"] || q.Networks["a/b"] {
		t.Errorf("%d nodes with KVM, networks %v", q.KVMNodes, q.Networks)
	}
	if q.QuotaStorage == nil || *q.QuotaStorage != 10<<30 || !slices.Contains(q.Quota, "requests.storage: 0 of 10Gi used") {
		t.Errorf("quota %v, %v", q.QuotaStorage, q.Quota)
	}
	if c := q.Classes["late"]; c.Overhead != 0.06 || c.VolumeMode != "Filesystem" || q.Classes["fast"].VolumeMode != "Block" || q.DefaultClass != "fast" {
		t.Errorf("classes %+v, default %s", q.Classes, q.DefaultClass)
	}
	if own, err := k.Facts(t.Context(), targets.Question{Namespace: ns, VMName: "db", MACs: []string{"00:50:56:aa:00:01"}, Owner: other, Delivery: spec.Upload}); err != nil || own.NameTaken != "" || len(own.MACs) > 0 {
		t.Errorf("its own things are in its way: %q, %v, %v", own.NameTaken, own.MACs, err)
	}
}

func TestWithoutKVM(t *testing.T) {
	s := start(t, kubesim.Config{Nodes: []kubesim.Node{{Name: "a", NoKVM: true}}})
	k := dial(t, s, nil)
	p := plan(t, "web")
	if err := k.ApplyMachine(t.Context(), owner, p); err != nil {
		t.Fatal(err)
	}
	if err := k.SetRunStrategy(t.Context(), owner, p, "Always"); err != nil {
		t.Fatal(err)
	}
	deadline := time.Now().Add(10 * time.Second)
	for {
		i, err := k.Instance(t.Context(), owner, p)
		if err != nil {
			t.Fatal(err)
		}
		if i.NoKVM && i.Unschedulable != "" {
			t.Log(i.Unschedulable)
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("the instance is %+v", i)
		}
	}
}

func TestDialErrors(t *testing.T) {
	s := start(t, kubesim.Config{})
	good := filepath.Join(t.TempDir(), "config")
	if err := s.Kubeconfig(good); err != nil {
		t.Fatal(err)
	}
	k, err := kubevirt.Dial(t.Context(), spec.Destination{Kubeconfig: good}, kubevirt.Options{})
	if err != nil {
		t.Fatal(err)
	}
	a, err := k.About(t.Context())
	if err != nil || a.Context != "kubesim" || a.Server != s.URL() || a.KubeVirt == "" || a.CDI == "" {
		t.Errorf("about %+v, %v", a, err)
	}
	if err := k.Close(); err != nil {
		t.Error(err)
	}
	foreign := filepath.Join(t.TempDir(), "config")
	raw, err := os.ReadFile(good)
	if err != nil {
		t.Fatal(err)
	}
	before, after := base64.StdEncoding.EncodeToString(s.CA()), base64.StdEncoding.EncodeToString(s.UploadCA())
	if !strings.Contains(string(raw), before) {
		t.Fatal("the kubeconfig does not hold its authority")
	}
	if err := os.WriteFile(foreign, []byte(strings.Replace(string(raw), before, after, 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err = kubevirt.Dial(t.Context(), spec.Destination{Kubeconfig: foreign}, kubevirt.Options{}); fault.ClassOf(err) != fault.Blocked || !fault.Is(err, fault.Certificate) {
		t.Errorf("another authority gives %v (%s, %s)", err, fault.ClassOf(err), fault.ReasonOf(err))
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	_, err = kubevirt.Dial(t.Context(), spec.Destination{Kubeconfig: good}, kubevirt.Options{Timeout: 2 * time.Second})
	if fault.ClassOf(err) != fault.Transient || !fault.Is(err, fault.Unreachable) || !strings.Contains(err.Error(), s.URL()) {
		t.Errorf("a cluster that is down gives %v (%s, %s)", err, fault.ClassOf(err), fault.ReasonOf(err))
	}
}

// Every write that others can see stands between two marks.
func TestBoundaries(t *testing.T) {
	s := start(t, kubesim.Config{})
	k := dial(t, s, nil)
	var marks []string
	boundary.Hook = func(kind boundary.Kind, name string) {
		if kind == boundary.TargetAct {
			marks = append(marks, name)
		}
	}
	defer func() { boundary.Hook = nil }()
	p := plan(t, "web")
	if err := k.ApplyMachine(t.Context(), owner, p); err != nil {
		t.Fatal(err)
	}
	if err := k.SetRunStrategy(t.Context(), owner, p, "Always"); err != nil {
		t.Fatal(err)
	}
	if err := k.Remove(t.Context(), owner, targets.Ref{Kind: "virtualmachine", Namespace: ns, Name: "web"}); err != nil {
		t.Fatal(err)
	}
	want := []string{"create virtualmachine vms/web", "create virtualmachine vms/web", "set runStrategy Always of virtualmachine vms/web",
		"set runStrategy Always of virtualmachine vms/web", "delete virtualmachine vms/web", "delete virtualmachine vms/web"}
	if !slices.Equal(marks, want) {
		t.Errorf("marks %q", marks)
	}
}

// What holds a volume up is named in the cluster's words, and never taken for a failure or an end.
func TestVolumeHeldUp(t *testing.T) {
	for _, phase := range []string{"Paused", kubesim.ScratchPending, "Unknown"} {
		t.Run(phase, func(t *testing.T) {
			s := start(t, kubesim.Config{})
			k := dial(t, s, nil)
			v := volume("web-disk-0", 1<<20)
			s.Force(ns, v.Name, phase)
			if err := k.CreateVolume(t.Context(), owner, v); err != nil {
				t.Fatal(err)
			}
			st := untilState(t, k, v, "words", func(s targets.VolumeState) bool {
				if phase == kubesim.ScratchPending {
					return strings.Contains(s.Waiting, "its scratch claim web-disk-0-scratch of storage class fast is Pending") && !strings.Contains(s.Waiting, "Claim Pending")
				}
				return s.Waiting != "" && s.Phase == phase
			})
			if st.Done || st.Failed || st.Ready {
				t.Errorf("held up in %s, the volume is %+v", phase, st)
			}
			t.Log(st.Phase, "·", st.Waiting)
			s.Force(ns, v.Name, "")
			untilState(t, k, v, "ready", func(s targets.VolumeState) bool { return s.Ready })
		})
	}
}
