package kubevirt_test

import (
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"

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
		r := kubesim.Rule{Verbs: a.Verbs, Groups: []string{a.Group}, Resources: []string{a.Resource}, Names: a.Names}
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
		World: world{objects: objects{rest: s.RESTConfig(""), class: "fast"}, s: s}, Patience: 20 * time.Second,
	}
}

// world is what others do to the simulated cluster.
type world struct {
	objects
	s *kubesim.Server
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

func (w world) RefuseUpload(_ *testing.T, namespace, volume string) {
	w.s.Inject(kubesim.Fault{Verb: "upload", Resource: "upload", Namespace: namespace, Name: volume, Do: kubesim.Unauth})
}

func (w world) CutUpload(_ *testing.T, namespace, volume string, n int64) {
	w.s.Inject(kubesim.Fault{Verb: "upload", Resource: "upload", Namespace: namespace, Name: volume, Do: kubesim.Cut, Bytes: n})
}
