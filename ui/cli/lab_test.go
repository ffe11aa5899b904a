package cli

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/yaml"

	"landfall/engine"
	"landfall/engine/spec"
	"landfall/sources/esxsim"
	"landfall/testdata/guest"
)

// labNode is the address of the lab's node, which its pods reach.
const labNode = "10.244.0.1"

// labWorld is a simulated host before the real cluster of testdata/cluster, as a user who may do what is documented and
// nothing else.
type labWorld struct {
	*testWorld
	core kubernetes.Interface
	all  dynamic.Interface
	ns   string
}

// labLayers are those of the cluster that are up, "" outside of its network.
func labLayers() string { return os.Getenv("LANDFALL_CLUSTER_LAYERS") }

func newLabWorld(t *testing.T, vms ...esxsim.VM) *labWorld {
	t.Helper()
	if !slices.Contains(strings.Split(labLayers(), ","), "boot") {
		t.Skip("the cluster lab's layer boot is not up: go -C testdata/cluster run . up, then exec -- go test")
	}
	admin, err := clientcmd.BuildConfigFromFlags("", os.Getenv("KUBECONFIG"))
	if err != nil {
		t.Fatal(err)
	}
	w := &labWorld{testWorld: &testWorld{t: t, dir: t.TempDir(), patience: 10 * time.Minute}}
	if w.core, err = kubernetes.NewForConfig(admin); err != nil {
		t.Fatal(err)
	}
	if w.all, err = dynamic.NewForConfig(admin); err != nil {
		t.Fatal(err)
	}
	n, err := w.core.CoreV1().Namespaces().Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "whole-"}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	w.ns = n.Name
	t.Cleanup(func() { _ = w.core.CoreV1().Namespaces().Delete(context.Background(), w.ns, metav1.DeleteOptions{}) })
	w.volume = w.file
	w.between(vms, "lab", spec.Destination{Kubeconfig: w.user(admin, "mover-"+w.ns), Namespace: w.ns})
	return w
}

// user binds one to the roles of docs/rbac.yaml, and writes a kubeconfig with which the administrator impersonates them.
func (w *labWorld) user(admin *rest.Config, name string) string {
	w.t.Helper()
	b, err := os.ReadFile("../../docs/rbac.yaml")
	if err != nil {
		w.t.Fatal(err)
	}
	parts := strings.Split(string(b), "\n---\n")
	var role rbacv1.Role
	var facts rbacv1.ClusterRole
	if err := yaml.UnmarshalStrict([]byte(parts[0]), &role); err != nil {
		w.t.Fatal(err)
	}
	if err := yaml.UnmarshalStrict([]byte(parts[1]), &facts); err != nil {
		w.t.Fatal(err)
	}
	facts.Name = "facts-" + w.ns
	ctx, api := w.t.Context(), w.core.RbacV1()
	subject := []rbacv1.Subject{{Kind: "User", APIGroup: rbacv1.GroupName, Name: name}}
	_, err1 := api.Roles(w.ns).Create(ctx, &role, metav1.CreateOptions{})
	_, err2 := api.RoleBindings(w.ns).Create(ctx, &rbacv1.RoleBinding{ObjectMeta: metav1.ObjectMeta{Name: "landfall"}, Subjects: subject,
		RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: role.Name}}, metav1.CreateOptions{})
	_, err3 := api.ClusterRoles().Create(ctx, &facts, metav1.CreateOptions{})
	_, err4 := api.ClusterRoleBindings().Create(ctx, &rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: facts.Name}, Subjects: subject,
		RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: facts.Name}}, metav1.CreateOptions{})
	for _, err := range []error{err1, err2, err3, err4} {
		if err != nil {
			w.t.Fatal(err)
		}
	}
	w.t.Cleanup(func() {
		_ = api.ClusterRoleBindings().Delete(context.Background(), facts.Name, metav1.DeleteOptions{})
		_ = api.ClusterRoles().Delete(context.Background(), facts.Name, metav1.DeleteOptions{})
	})
	loaded, err := clientcmd.LoadFromFile(os.Getenv("KUBECONFIG"))
	if err != nil {
		w.t.Fatal(err)
	}
	for _, a := range loaded.AuthInfos {
		a.Impersonate = name
	}
	path := filepath.Join(w.dir, "kubeconfig")
	if err := clientcmd.WriteToFile(*loaded, path); err != nil {
		w.t.Fatal(err)
	}
	return path
}

// file is where the disk of a claim lies on this machine.
func (w *labWorld) file(claim string) (string, error) {
	ctx := context.WithoutCancel(w.t.Context())
	c, err := w.core.CoreV1().PersistentVolumeClaims(w.ns).Get(ctx, claim, metav1.GetOptions{})
	if err != nil {
		return "", err
	}
	v, err := w.core.CoreV1().PersistentVolumes().Get(ctx, c.Spec.VolumeName, metav1.GetOptions{})
	if err != nil {
		return "", err
	}
	switch {
	case v.Spec.Local != nil:
		return filepath.Join(v.Spec.Local.Path, "disk.img"), nil
	case v.Spec.HostPath != nil:
		return filepath.Join(v.Spec.HostPath.Path, "disk.img"), nil
	}
	return "", fmt.Errorf("volume %s lies on no node", v.Name)
}

// said reads one word of an object of the cluster.
func (w *labWorld) said(group, version, resource, name string, path ...string) string {
	w.t.Helper()
	u, err := w.all.Resource(schema.GroupVersionResource{Group: group, Version: version, Resource: resource}).Namespace(w.ns).Get(w.t.Context(), name, metav1.GetOptions{})
	if err != nil {
		w.t.Error(err)
		return ""
	}
	word, _, _ := unstructured.NestedString(u.Object, path...)
	return word
}

// runs tells whether a qemu has the machine's name.
func (w *labWorld) runs(name string) bool {
	w.t.Helper()
	all, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		w.t.Fatal(err)
	}
	return slices.ContainsFunc(all, func(path string) bool {
		b, _ := os.ReadFile(path)
		args := strings.Split(string(b), "\x00")
		return strings.Contains(filepath.Base(args[0]), "qemu-system") && slices.Contains(args, w.ns+"_"+name)
	})
}

// realGuest is a VM of the host with a disk that boots and serves a page with the token.
func realGuest(t *testing.T) (esxsim.VM, string) {
	t.Helper()
	now := time.Now().UnixNano()
	token := fmt.Sprintf("landfall-%x", now)
	mac := fmt.Sprintf("00:50:56:%02x:%02x:%02x", now>>16&0x3f, now>>8&0xff, now&0xff) // the machines of other runs may be there yet
	image, err := guest.Build(t.Context(), token)
	if err != nil {
		t.Fatal(err)
	}
	return esxsim.VM{Name: "real guest", Power: esxsim.On, CPUs: 1, MemoryMiB: 512, NICs: []esxsim.NIC{{MAC: mac}}, ChangeTracking: true,
		Hostname: "guest", IPs: []string{"192.0.2.9"}, GuestID: "debian12_64Guest",
		Shutdown: esxsim.Shutdown{Answer: esxsim.Obeys, Delay: 100 * time.Millisecond},
		Disks:    []esxsim.Disk{{Size: guest.Size, Contents: esxsim.Contents{File: image}}}}, token
}

// TestLabMovesARealGuest takes a real guest the whole way to a real cluster, through an engine that is killed in the upload:
// the disk that arrived is the source's, KubeVirt admits the machine, it runs as qemu, and its page comes back through the
// API server.
func TestLabMovesARealGuest(t *testing.T) {
	if !strings.Contains(labLayers(), "boot") {
		newLabWorld(t) // says why not
	}
	for _, delivery := range []spec.Delivery{spec.Upload, spec.DeliverHTTP} {
		t.Run(string(delivery), func(t *testing.T) {
			vm, token := realGuest(t)
			w := newLabWorld(t, vm)
			source, err := w.host.Digest("real guest", 0)
			if err != nil {
				t.Fatal(err)
			}
			uid := w.apply("real guest", func(d *spec.Document) {
				d.Spec.Validation = spec.Validation{BootTimeoutSeconds: 900, Checks: []spec.Check{{Type: "HTTP", Port: 80, ExpectBodyContains: token}}}
				if d.Spec.Strategy.Delivery = delivery; delivery == spec.DeliverHTTP {
					d.Spec.Destination.ServeAddress = freeAddress(t)
				}
			}).UID
			p := w.engine()
			m := w.until(uid, "the disk on its way", func(m engine.Migration) bool {
				if m.Status.Phase == engine.ManualInterventionRequired && m.Status.Reason == "Decision" {
					w.accept(uid)
					return false
				}
				if m.Status.Phase == engine.ManualInterventionRequired {
					t.Fatalf("a person is asked: %s: %s (%s)", m.Status.Reason, m.Status.Message, m.Status.Hint)
				}
				return m.Status.Phase == engine.Importing && (strings.HasSuffix(m.Status.Seen, "sending") || strings.Contains(m.Status.Seen, "ImportInProgress"))
			})
			p.kill()
			t.Logf("killed: %s", m.Status.Seen)
			p = w.engine()
			w.until(uid, "the disk in the cluster", func(m engine.Migration) bool {
				return m.Status.Has(engine.DiskImported) || m.Status.Phase == engine.ManualInterventionRequired
			})
			p.kill() // before the guest writes
			m, err = w.store.Migration(t.Context(), uid)
			if err != nil {
				t.Fatal(err)
			}
			if m.Status.Phase == engine.ManualInterventionRequired {
				t.Fatalf("a person is asked: %s: %s", m.Status.Reason, m.Status.Message)
			}
			if arrived := w.arrived("real guest", m); arrived != source {
				t.Fatalf("the source's disk is %s now", arrived)
			}
			volume := m.Status.Disks[0].Volume
			if phase := w.said("cdi.kubevirt.io", "v1beta1", "datavolumes", volume, "status", "phase"); phase != "Succeeded" {
				t.Errorf("the DataVolume is %s", phase)
			}
			p = w.engine()
			m = w.phase(uid, engine.Completed)
			p.stop(t)
			t.Logf("check: %s", m.Status.Checks[0].Detail)
			if phase := w.said("kubevirt.io", "v1", "virtualmachineinstances", m.Status.Plan.Name, "status", "phase"); phase != "Running" {
				t.Errorf("the instance is %s", phase)
			}
			if !w.runs(m.Status.Plan.Name) {
				t.Error("no qemu runs it")
			}
			if after, err := w.host.Digest("real guest", 0); err != nil || after != source {
				t.Errorf("the source disk was written: %s, %v", after, err)
			}
		})
	}
}

// arrived compares the source's disk with what is in the claim, and gives its SHA-256.
func (w *labWorld) arrived(vm string, m engine.Migration) string {
	w.t.Helper()
	source, err := w.host.Digest(vm, 0)
	if err != nil {
		w.t.Fatal(err)
	}
	path, err := w.volume(m.Status.Disks[0].Volume)
	if err != nil {
		w.t.Fatal(err)
	}
	arrived, err := fileSHA256(path, guest.Size)
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Logf("SHA-256 of the source disk  %s", source)
	w.t.Logf("SHA-256 of the claim's disk %s", arrived)
	if source != arrived {
		w.t.Fatal("the disks differ")
	}
	return source
}

// accept takes what could not be looked up as it is, such as the addresses of pods, which this cluster does not tell. A
// finding that cannot be accepted ends the test.
func (w *labWorld) accept(uid string) {
	w.t.Helper()
	ds, err := w.store.Decisions(w.t.Context(), uid)
	if err != nil {
		w.t.Fatal(err)
	}
	for _, d := range ds {
		if !d.Open() {
			continue
		}
		w.t.Logf("asked: %s", d.Question)
		if _, err := w.store.Answer(w.t.Context(), d.ID, d.Version, spec.Accept, tester); err != nil {
			w.t.Fatalf("%s: %v", d.Question, err)
		}
	}
}

// freeAddress is one that pods reach.
func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", labNode+":0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}
