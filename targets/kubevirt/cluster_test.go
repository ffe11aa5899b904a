package kubevirt_test

import (
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"landfall/engine/spec"
	"landfall/targets"
	"landfall/targets/kubesim"
	"landfall/targets/kubevirt"
	"landfall/targets/targettest"
)

const ns = "vms"

// start runs a simulated cluster for one test.
func start(t *testing.T, cfg kubesim.Config) *kubesim.Server {
	t.Helper()
	cfg.Dir, cfg.Pace, cfg.Namespaces = t.TempDir(), 2*time.Millisecond, []string{ns}
	if len(cfg.Classes) == 0 {
		cfg.Classes = []kubesim.StorageClass{
			{Name: "fast", Default: true, VolumeMode: "Block", AccessModes: []string{"ReadWriteMany"}},
			{Name: "late", WaitForFirstConsumer: true},
		}
	}
	s, err := kubesim.Start(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func dial(t *testing.T, s *kubesim.Server, change func(*spec.Destination)) targets.Target {
	t.Helper()
	return dialAs(t, s, "operator", change)
}

func dialAs(t *testing.T, s *kubesim.Server, user string, change func(*spec.Destination)) targets.Target {
	t.Helper()
	d := spec.Destination{Kubeconfig: filepath.Join(t.TempDir(), "config"), Namespace: ns}
	if err := s.KubeconfigFor(user, d.Kubeconfig); err != nil {
		t.Fatal(err)
	}
	if change != nil {
		change(&d)
	}
	k, err := kubevirt.Dial(t.Context(), d, kubevirt.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = k.Close() })
	return k
}

var page = kubesim.Guest{
	Port:  8080,
	Agent: &kubesim.Agent{Hostname: "web01", PrettyName: "Debian GNU/Linux 12"},
	Pages: map[string]kubesim.Page{"/": {Body: "hello from the migrated disk"}},
}

// disk is a bootable disk with data, holes, and an end that counts.
func disk(t *testing.T) []byte {
	t.Helper()
	b := make([]byte, 8<<20)
	r := rand.NewChaCha8([32]byte{1})
	_, _ = r.Read(b[3<<20 : 4<<20])
	copy(b[len(b)-5:], "limit")
	w := &bytesAt{b}
	if err := kubesim.WriteGuest(w, page, 0); err != nil {
		t.Fatal(err)
	}
	return b
}

type bytesAt struct{ b []byte }

func (w *bytesAt) WriteAt(p []byte, off int64) (int, error) { return copy(w.b[off:], p), nil }

// The target passes as a user who may do what the table of accesses says and nothing else: the table is complete.
func TestContract(t *testing.T) {
	targettest.Run(t, func(t *testing.T) targettest.Fixture {
		s := start(t, kubesim.Config{Users: []kubesim.User{{Name: "operator"}, {Name: "migrator", Allow: rules(true)}}})
		return fixture(s, dialAs(t, s, "migrator", nil))
	})
}

// rules are the table of accesses as the cluster's own.
func rules(optional bool) []kubesim.Rule {
	var list []kubesim.Rule
	for _, a := range kubevirt.Accesses {
		if a.Optional && !optional {
			continue
		}
		r := kubesim.Rule{Verbs: a.Verbs, Groups: []string{a.Group}, Resources: []string{a.Resource}}
		if !a.Cluster {
			r.Namespaces = []string{ns, "no-such-namespace-7f3a"}
		}
		list = append(list, r)
	}
	return list
}

func fixture(s *kubesim.Server, k targets.Target) targettest.Fixture {
	return targettest.Fixture{
		Target: k, Namespace: ns, Class: "fast", Waits: "late", GuestID: "debian12_64Guest", Disk: disk, Agent: true,
		Page:  spec.Check{Type: "HTTP", Port: 8080, Path: "/", ExpectStatus: 200, ExpectBodyContains: "migrated disk"},
		World: world{s}, Patience: 20 * time.Second,
	}
}

// world is what others do to the simulated cluster.
type world struct{ s *kubesim.Server }

var resources = map[string]schema.GroupVersionResource{
	"virtualmachine":        {Group: "kubevirt.io", Version: "v1", Resource: "virtualmachines"},
	"datavolume":            {Group: "cdi.kubevirt.io", Version: "v1beta1", Resource: "datavolumes"},
	"persistentvolumeclaim": {Version: "v1", Resource: "persistentvolumeclaims"},
	"service":               {Version: "v1", Resource: "services"},
	"resourcequota":         {Version: "v1", Resource: "resourcequotas"},
}

func (w world) of(t *testing.T, kind, namespace string) dynamic.ResourceInterface {
	t.Helper()
	d, err := dynamic.NewForConfig(w.s.RESTConfig(""))
	if err != nil {
		t.Fatal(err)
	}
	return d.Resource(resources[kind]).Namespace(namespace)
}

func (w world) Contents(t *testing.T, namespace, volume string, length int64) []byte {
	t.Helper()
	v, err := w.s.Volume(namespace, volume)
	if err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(v.Path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	b := make([]byte, length)
	if _, err := io.ReadFull(f, b); err != nil {
		t.Fatal(err)
	}
	return b
}

func (w world) Foreign(t *testing.T, kind, namespace, name string) {
	t.Helper()
	claim := map[string]any{
		"accessModes": []any{"ReadWriteOnce"}, "storageClassName": "fast",
		"resources": map[string]any{"requests": map[string]any{"storage": "1Mi"}},
	}
	o := map[string]map[string]any{
		"virtualmachine": {"apiVersion": "kubevirt.io/v1", "kind": "VirtualMachine", "spec": map[string]any{
			"runStrategy": "Halted", "template": map[string]any{"spec": map[string]any{
				"domain": map[string]any{"devices": map[string]any{}, "memory": map[string]any{"guest": "64Mi"}},
			}},
		}},
		"datavolume":            {"apiVersion": "cdi.kubevirt.io/v1beta1", "kind": "DataVolume", "spec": map[string]any{"source": map[string]any{"blank": map[string]any{}}, "pvc": claim}},
		"persistentvolumeclaim": {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "spec": claim},
		"service":               {"apiVersion": "v1", "kind": "Service", "spec": map[string]any{"ports": []any{map[string]any{"port": int64(80)}}}},
	}[kind]
	u := &unstructured.Unstructured{Object: o}
	u.SetName(name)
	if _, err := w.of(t, kind, namespace).Create(t.Context(), u, metav1.CreateOptions{FieldManager: "kubectl"}); err != nil {
		t.Fatal(err)
	}
}

func (w world) Exists(t *testing.T, kind, namespace, name string) bool {
	t.Helper()
	_, err := w.of(t, kind, namespace).Get(t.Context(), name, metav1.GetOptions{})
	if err != nil && !apierrors.IsNotFound(err) {
		t.Fatal(err)
	}
	return err == nil
}

func (w world) Edit(t *testing.T, namespace, name string) {
	t.Helper()
	patch := `{"metadata":{"labels":{"edited-by":"somebody"}},"spec":{"template":{"spec":{"domain":{"memory":{"guest":"512Mi"}}}}}}`
	if _, err := w.of(t, "virtualmachine", namespace).Patch(t.Context(), name, types.MergePatchType, []byte(patch), metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
}

func (w world) Label(t *testing.T, namespace, name, key string) string {
	t.Helper()
	u, err := w.of(t, "virtualmachine", namespace).Get(t.Context(), name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return u.GetLabels()[key]
}

func (w world) LimitStorage(t *testing.T, namespace string, bytes int64) {
	t.Helper()
	limit := resource.NewQuantity(bytes, resource.BinarySI).String()
	u := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "ResourceQuota", "metadata": map[string]any{"name": "limit"},
		"spec": map[string]any{"hard": map[string]any{string(corev1.ResourceRequestsStorage): limit}},
	}}
	if _, err := w.of(t, "resourcequota", namespace).Create(t.Context(), u, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	deadline := time.Now().Add(10 * time.Second)
	for {
		u, err := w.of(t, "resourcequota", namespace).Get(t.Context(), "limit", metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if _, ok, _ := unstructured.NestedMap(u.Object, "status", "hard"); ok {
			return
		}
		if time.Now().After(deadline) {
			t.Fatal("the quota was never counted")
		}
		time.Sleep(2 * time.Millisecond)
	}
}

func (w world) RefuseUpload(_ *testing.T, namespace, volume string) {
	w.s.Inject(kubesim.Fault{Verb: "upload", Resource: "upload", Namespace: namespace, Name: volume, Do: kubesim.Unauth})
}

func (w world) CutUpload(_ *testing.T, namespace, volume string, n int64) {
	w.s.Inject(kubesim.Fault{Verb: "upload", Resource: "upload", Namespace: namespace, Name: volume, Do: kubesim.Cut, Bytes: n})
}
