package kubevirt_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"landfall/engine/fault"
	"landfall/engine/secret"
	"landfall/engine/spec"
	"landfall/targets"
	"landfall/targets/targettest"
)

// labNode is the address of the lab's node, which its pods reach.
const labNode = "10.244.0.1"

// labVolume is one volume of a migration on the real CDI.
type labVolume struct {
	*lab
	t      *testing.T
	world  labWorld
	target targets.Target
	owner  targets.Owner
	v      targets.Volume
	image  []byte
}

// volume plans one, with room for its file system; change may be nil.
func (l *lab) volume(t *testing.T, change func(*spec.Destination)) *labVolume {
	t.Helper()
	ns := l.namespace(t)
	l.allow(t, "migrator", ns, nil)
	image := labDisk(t)
	return &labVolume{
		lab: l, t: t, world: labWorld{objects: objects{rest: l.admin, class: "lab"}, l: l}, target: l.dial(t, "migrator", ns, change),
		owner: targets.Owner{UID: "lab", Name: "lab", Namespace: ns}, image: image,
		v: targets.Volume{Name: "disk-0", Size: int64(len(image)) + 1<<20, StorageClass: "lab", VolumeMode: "Filesystem", AccessModes: []string{"ReadWriteOnce"}, BindNow: true},
	}
}

func (v *labVolume) create() {
	v.t.Helper()
	if err := v.target.CreateVolume(v.t.Context(), v.owner, v.v); err != nil {
		v.t.Fatal(err)
	}
}

// until waits for a state of the volume. That it could not be looked at may only ever pass by itself.
func (v *labVolume) until(what string, is func(targets.VolumeState) bool) targets.VolumeState {
	v.t.Helper()
	var last targets.VolumeState
	var err error
	for end := time.Now().Add(6 * time.Minute); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		var s targets.VolumeState
		if s, err = v.target.Volume(v.t.Context(), v.owner, v.v); err == nil {
			if last = s; is(s) {
				return s
			}
		} else if fault.ClassOf(err) != fault.Transient {
			v.t.Fatalf("%s: %v (%s)", what, err, fault.ClassOf(err))
		}
	}
	v.t.Fatalf("waited for %s; last: %+v, %v", what, last, err)
	return last
}

func (v *labVolume) deliver(a targets.Artifact) error {
	return v.target.Deliver(v.t.Context(), v.owner, v.v, a, func(int64) {})
}

// readied makes the volume and waits until it takes an upload.
func (v *labVolume) readied() {
	v.t.Helper()
	v.create()
	v.until("the volume to take an upload", func(s targets.VolumeState) bool { return s.Ready })
}

// filled delivers as the engine does, until all is there, and compares.
func (v *labVolume) filled() {
	v.t.Helper()
	err := errors.New("not tried")
	for end := time.Now().Add(6 * time.Minute); err != nil && time.Now().Before(end); time.Sleep(200 * time.Millisecond) {
		var s targets.VolumeState
		switch s, err = v.target.Volume(v.t.Context(), v.owner, v.v); {
		case err != nil:
		case !s.Exists:
			if err = v.target.CreateVolume(v.t.Context(), v.owner, v.v); err == nil {
				err = errors.New("just made")
			}
		case s.Ready:
			err = v.deliver(targettest.NewImage(v.image))
		default:
			err = errors.New("not ready: " + s.Phase + " " + s.Waiting)
			continue
		}
		var classed *fault.Error
		if errors.As(err, &classed) && fault.ClassOf(err) != fault.Transient {
			break
		}
	}
	if err != nil {
		v.t.Fatal(err)
	}
	v.until("the volume to be done", func(s targets.VolumeState) bool { return s.Done })
	if got := v.world.Contents(v.t, v.owner.Namespace, v.v.Name, int64(len(v.image))); !bytes.Equal(got, v.image) {
		v.t.Error("what arrived is not what was sent")
	}
}

// eventful does something to the world in the middle of an upload.
type eventful struct {
	*targettest.Image
	event func()
}

func (e *eventful) ReadChunk(n int64, p []byte) (int, bool, error) {
	if n == e.Chunks()-1 && e.event != nil {
		e.event()
		e.event = nil
	}
	return e.Image.ReadChunk(n, p)
}

func (l *lab) proxyURL(t *testing.T) string {
	t.Helper()
	s, err := l.core.CoreV1().Services("cdi").Get(t.Context(), "cdi-uploadproxy", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return "https://" + s.Spec.ClusterIP
}

// TestLabUploadProxyMustBeKnown: the way through the API server trusts CDI's own authority; any other way that shows a
// certificate which nobody vouched for is refused before a byte of the token or the disk leaves.
func TestLabUploadProxyMustBeKnown(t *testing.T) {
	l := openLab(t, "data")
	t.Run("through the API server", func(t *testing.T) {
		v := l.volume(t, nil)
		v.readied()
		v.filled()
	})
	stranger := httptest.NewTLSServer(http.NotFoundHandler())
	defer stranger.Close()
	for situation, change := range map[string]func(*testing.T, *spec.Destination){
		"by its address, which its certificate does not bear": func(t *testing.T, d *spec.Destination) { d.UploadProxy.URL = l.proxyURL(t) },
		"with another certificate pinned": func(t *testing.T, d *spec.Destination) {
			d.UploadProxy.URL, d.UploadProxy.TLS.Thumbprint = l.proxyURL(t), strings.Repeat("ab", 32)
		},
		"with another authority": func(t *testing.T, d *spec.Destination) {
			d.UploadProxy.URL, d.UploadProxy.TLS.CAFile = l.proxyURL(t), filepath.Join(t.TempDir(), "ca.pem")
			if err := os.WriteFile(d.UploadProxy.TLS.CAFile, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: stranger.Certificate().Raw}), 0o600); err != nil {
				t.Fatal(err)
			}
		},
	} {
		t.Run(situation, func(t *testing.T) {
			v := l.volume(t, func(d *spec.Destination) { change(t, d) })
			v.readied()
			err := v.deliver(targettest.NewImage(v.image))
			if fault.ClassOf(err) != fault.Blocked || !fault.Is(err, fault.Certificate) || fault.HintOf(err) == "" {
				t.Errorf("got %v (%s, %s), hint %q", err, fault.ClassOf(err), fault.ReasonOf(err), fault.HintOf(err))
			}
			t.Logf("%v (%s)", err, fault.HintOf(err))
			if s, err := v.target.Volume(t.Context(), v.owner, v.v); err != nil || !s.Ready {
				t.Errorf("after that the volume is %+v, %v", s, err)
			}
		})
	}
}

// TestLabTokenExpires sends with a real token that has outlived its five minutes, and the ten seconds that the upload proxy
// grants beyond them; the next try has one of its own.
func TestLabTokenExpires(t *testing.T) {
	l := openLab(t, "data")
	if testing.Short() {
		t.Skip("a token lives five minutes")
	}
	before := l.front(t)
	v := l.volume(t, before.destination)
	v.readied()
	old, ends := l.token(t, v)
	t.Logf("the token ends at %s", ends)
	t.Parallel() // it grows old while the others work
	for time.Now().Before(ends.Add(15 * time.Second)) {
		time.Sleep(time.Second)
	}
	before.next(func(f *front) { f.token = old })
	err := v.deliver(targettest.NewImage(v.image))
	if fault.ClassOf(err) != fault.Transient || !fault.Is(err, fault.NotAuthenticated) {
		t.Errorf("got %v (%s, %s)", err, fault.ClassOf(err), fault.ReasonOf(err))
	}
	v.filled()
}

// token asks CDI for an upload token, and reads in it when it ends.
func (l *lab) token(t *testing.T, v *labVolume) (string, time.Time) {
	t.Helper()
	d, err := dynamic.NewForConfig(l.admin)
	if err != nil {
		t.Fatal(err)
	}
	r, err := d.Resource(schema.GroupVersionResource{Group: "upload.cdi.kubevirt.io", Version: "v1beta1", Resource: "uploadtokenrequests"}).Namespace(v.owner.Namespace).Create(t.Context(),
		&unstructured.Unstructured{Object: map[string]any{"apiVersion": "upload.cdi.kubevirt.io/v1beta1", "kind": "UploadTokenRequest",
			"metadata": map[string]any{"name": v.v.Name}, "spec": map[string]any{"pvcName": v.v.Name}}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	token, _, _ := unstructured.NestedString(r.Object, "status", "token")
	parts := strings.Split(token, ".")
	if len(parts) != 3 {
		t.Fatalf("%d parts are in the token", len(parts))
	}
	b, err := base64.RawURLEncoding.DecodeString(parts[1])
	if err != nil {
		t.Fatal(err)
	}
	var claims struct {
		Exp float64 `json:"exp"`
	}
	if err := json.Unmarshal(b, &claims); err != nil || claims.Exp == 0 {
		t.Fatalf("claims %s: %v", b, err)
	}
	return token, time.Unix(int64(claims.Exp), 0)
}

// TestLabImporterThatIsRefused has the real importer fetch what it does not get: it is restarted again and again, the volume
// never fails, and what the server said is told.
func TestLabImporterThatIsRefused(t *testing.T) {
	l := openLab(t, "data")
	for _, c := range []struct {
		situation string
		answer    http.HandlerFunc
		words     string
	}{
		{"404 for good", http.NotFound, "404"},
		{"a wrong password for good", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("WWW-Authenticate", `Basic realm="landfall"`)
			http.Error(w, "not for you", http.StatusUnauthorized)
		}, "401"},
		{"an image larger than the volume", func(w http.ResponseWriter, r *http.Request) {
			http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(make([]byte, 64<<20)))
		}, "too small"},
	} {
		t.Run(c.situation, func(t *testing.T) {
			t.Parallel()
			v := l.volume(t, nil)
			v.v.Pull = serve(t, c.answer)
			v.create()
			s := v.until("three restarts", func(s targets.VolumeState) bool {
				if s.Failed || s.Done || s.Ready {
					t.Fatalf("the volume is %+v", s)
				}
				return s.Restarts >= 3 && s.Waiting != ""
			})
			t.Logf("%s after %d restarts: %s", s.Phase, s.Restarts, s.Waiting)
			if !strings.Contains(s.Waiting, c.words) {
				t.Errorf("%q is not in %q", c.words, s.Waiting)
			}
		})
	}
}

// serve answers pods on the node's address.
func serve(t *testing.T, answer http.HandlerFunc) *targets.Pull {
	t.Helper()
	listener, err := net.Listen("tcp", labNode+":0")
	if err != nil {
		t.Fatal(err)
	}
	s := httptest.NewUnstartedServer(answer)
	s.Listener.Close()
	s.Listener = listener
	s.Start()
	t.Cleanup(s.Close)
	return &targets.Pull{URL: s.URL + "/disk", Username: "landfall", Password: secret.New("wrong")}
}

// TestLabScratchThatCannotBind: CDI waits for its scratch volume without end and calls the import scheduled; why is told.
func TestLabScratchThatCannotBind(t *testing.T) {
	l := openLab(t, "data")
	d, err := dynamic.NewForConfig(l.admin)
	if err != nil {
		t.Fatal(err)
	}
	cdis := d.Resource(schema.GroupVersionResource{Group: "cdi.kubevirt.io", Version: "v1beta1", Resource: "cdis"})
	scratch := func(ctx context.Context, class string) {
		if _, err := cdis.Patch(ctx, "cdi", types.MergePatchType, []byte(`{"spec":{"config":{"scratchSpaceStorageClass":`+class+`}}}`), metav1.PatchOptions{}); err != nil {
			t.Error(err)
		}
	}
	scratch(t.Context(), `"lab-barren"`)
	t.Cleanup(func() { scratch(context.Background(), "null") })
	time.Sleep(5 * time.Second) // the operator hands it on
	v := l.volume(t, nil)
	v.v.Pull = serve(t, func(w http.ResponseWriter, r *http.Request) {
		http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(v.image))
	})
	v.create()
	s := v.until("words about the scratch volume", func(s targets.VolumeState) bool {
		if s.Failed || s.Done {
			t.Fatalf("the volume is %+v", s)
		}
		return strings.Contains(strings.ToLower(s.Waiting), "scratch")
	})
	t.Logf("%s: %s", s.Phase, s.Waiting)
	time.Sleep(20 * time.Second)
	if s, err := v.target.Volume(t.Context(), v.owner, v.v); err != nil || s.Failed || s.Done || s.Waiting == "" {
		t.Errorf("20 s later the volume is %+v, %v", s, err)
	}
	claims, err := l.core.CoreV1().PersistentVolumeClaims(v.owner.Namespace).List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	pending := 0
	for _, c := range claims.Items {
		if *c.Spec.StorageClassName == "lab-barren" && c.Status.Phase == corev1.ClaimPending {
			pending++
		}
	}
	if pending != 1 {
		t.Errorf("%d scratch claims wait, want 1 of %d", pending, len(claims.Items))
	}
}

// TestLabVolumeDeletedUnderUs takes the volume away in the middle of an upload: what was sent counts for nothing, it is seen to
// be gone, and the same steps again bring it to its end.
func TestLabVolumeDeletedUnderUs(t *testing.T) {
	l := openLab(t, "data")
	v := l.volume(t, nil)
	v.readied()
	err := v.deliver(&eventful{targettest.NewImage(v.image), func() {
		if err := v.world.of(t, "datavolume", v.owner.Namespace).Delete(t.Context(), v.v.Name, metav1.DeleteOptions{}); err != nil {
			t.Error(err)
		}
	}})
	t.Logf("the delivery ended with: %v", err)
	if err != nil && fault.ClassOf(err) != fault.Transient {
		t.Errorf("got %v (%s)", err, fault.ClassOf(err))
	}
	v.until("the volume to be gone", func(s targets.VolumeState) bool {
		if s.Done {
			t.Fatalf("a deleted volume is %+v", s)
		}
		return !s.Exists
	})
	if err := v.deliver(targettest.NewImage(v.image)); fault.ClassOf(err) != fault.Transient || !fault.Is(err, fault.NotFound) {
		t.Errorf("deliver into nothing: %v (%s, %s)", err, fault.ClassOf(err), fault.ReasonOf(err))
	}
	v.filled()
}

// TestLabControlPlaneThatIsAway restarts the API server in the middle of an upload that goes through it, and stops etcd for
// 30 s, while the volume is looked at all the time: it is never taken for absent, nothing is lost, and all ends well.
func TestLabControlPlaneThatIsAway(t *testing.T) {
	l := openLab(t, "data")
	for _, c := range []struct {
		situation string
		command   []string
	}{
		{"the API server is started again", []string{"restart", "kube-apiserver"}},
		{"etcd stands still for 30 s", []string{"pause", "etcd", "30s"}},
	} {
		t.Run(c.situation, func(t *testing.T) {
			v := l.volume(t, nil)
			v.readied()
			ctx, stop := context.WithCancel(t.Context())
			looked := make(chan [2]int)
			go func() {
				var n, failed int
				for ctx.Err() == nil {
					s, err := v.target.Volume(ctx, v.owner, v.v)
					switch {
					case ctx.Err() != nil:
					case err != nil && fault.ClassOf(err) != fault.Transient:
						t.Errorf("look: %v (%s, %s)", err, fault.ClassOf(err), fault.ReasonOf(err))
					case err != nil:
						failed++
					case !s.Exists || !s.Ours:
						t.Errorf("the volume is taken for %+v", s)
					}
					n++
					time.Sleep(100 * time.Millisecond)
				}
				looked <- [2]int{n, failed}
			}()
			err := v.deliver(&eventful{targettest.NewImage(v.image), func() { l.command(t, c.command...) }})
			t.Logf("the delivery ended with: %v", err)
			if err != nil && fault.ClassOf(err) != fault.Transient {
				t.Errorf("the delivery: %v (%s)", err, fault.ClassOf(err))
			}
			if err != nil {
				v.filled()
			} else {
				v.until("the volume to be done", func(s targets.VolumeState) bool { return s.Done })
			}
			stop()
			n := <-looked
			t.Logf("%d looks, %d of them failed", n[0], n[1])
			if got := v.world.Contents(t, v.owner.Namespace, v.v.Name, int64(len(v.image))); !bytes.Equal(got, v.image) {
				t.Error("what arrived is not what was sent")
			}
		})
	}
}

// command has the lab do something to its own programs.
func (l *lab) command(t *testing.T, args ...string) {
	t.Helper()
	c := exec.CommandContext(t.Context(), os.Getenv("LANDFALL_CLUSTER"), args...)
	if out, err := c.CombinedOutput(); err != nil {
		t.Errorf("cluster %v: %v: %s", args, err, out)
	}
}
