package kubevirt_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/yaml"

	"landfall/engine/spec"
	"landfall/targets"
	"landfall/targets/kubevirt"
	"landfall/targets/targettest"
	"landfall/testdata/guest"
)

// lab is the real control plane of testdata/cluster, in whose network these tests are run:
//
//	go -C testdata/cluster run . up
//	go -C testdata/cluster run . exec -- go test ./targets/kubevirt -run Lab
type lab struct {
	admin  *rest.Config
	core   kubernetes.Interface
	layers []string
}

func openLab(t *testing.T, layer string) *lab {
	t.Helper()
	layers := os.Getenv("LANDFALL_CLUSTER_LAYERS")
	if layers == "" {
		t.Skip("no cluster lab: go -C testdata/cluster run . up, then exec -- go test")
	}
	l := &lab{layers: strings.Split(layers, ",")}
	if !l.has(layer) {
		t.Skipf("the cluster lab is up without its layer %s", layer)
	}
	var err error
	if l.admin, err = clientcmd.BuildConfigFromFlags("", os.Getenv("KUBECONFIG")); err != nil {
		t.Fatal(err)
	}
	l.admin.QPS, l.admin.Burst = 100, 200
	if l.core, err = kubernetes.NewForConfig(l.admin); err != nil {
		t.Fatal(err)
	}
	return l
}

func (l *lab) has(layer string) bool {
	return slices.Contains(l.layers, layer)
}

func (l *lab) parts() []targettest.Part {
	parts := []targettest.Part{targettest.API}
	for _, p := range []struct {
		layer string
		part  targettest.Part
	}{{"vm", targettest.Machines}, {"data", targettest.Volumes}, {"boot", targettest.Guests}} {
		if l.has(p.layer) {
			parts = append(parts, p.part)
		}
	}
	return parts
}

// namespace makes one that is gone after the test.
func (l *lab) namespace(t *testing.T) string {
	t.Helper()
	n, err := l.core.CoreV1().Namespaces().Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "test-"}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.core.CoreV1().Namespaces().Delete(context.Background(), n.Name, metav1.DeleteOptions{}) })
	return n.Name
}

// documented reads one of the documents of docs/rbac.yaml.
func documented(t *testing.T, document int, into any) {
	t.Helper()
	b, err := os.ReadFile("../../docs/rbac.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if err := yaml.UnmarshalStrict([]byte(strings.Split(string(b), "\n---\n")[document]), into); err != nil {
		t.Fatal(err)
	}
}

func (l *lab) role(t *testing.T) (r rbacv1.Role) { documented(t, 0, &r); return r }

func (l *lab) facts(t *testing.T) (r rbacv1.ClusterRole) { documented(t, 1, &r); return r }

// allow binds a user to the documented roles, as changed.
func (l *lab) allow(t *testing.T, user, namespace string, change func(role *rbacv1.Role, facts *rbacv1.ClusterRole)) {
	t.Helper()
	role, facts := l.role(t), l.facts(t)
	if change != nil {
		change(&role, &facts)
	}
	ctx, rbac := t.Context(), l.core.RbacV1()
	subject := []rbacv1.Subject{{Kind: "User", APIGroup: rbacv1.GroupName, Name: user}}
	if _, err := rbac.Roles(namespace).Create(ctx, &role, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := rbac.RoleBindings(namespace).Create(ctx, &rbacv1.RoleBinding{ObjectMeta: metav1.ObjectMeta{Name: "landfall"}, Subjects: subject,
		RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: role.Name}}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	facts.Name = "facts-" + namespace
	if _, err := rbac.ClusterRoles().Create(ctx, &facts, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	binding := &rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: facts.Name}, Subjects: subject,
		RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: facts.Name}}
	if _, err := rbac.ClusterRoleBindings().Create(ctx, binding, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = rbac.ClusterRoleBindings().Delete(context.Background(), facts.Name, metav1.DeleteOptions{})
		_ = rbac.ClusterRoles().Delete(context.Background(), facts.Name, metav1.DeleteOptions{})
	})
}

// dial connects as a user, who is impersonated by the lab's administrator.
func (l *lab) dial(t *testing.T, user, namespace string, change func(*spec.Destination)) targets.Target {
	t.Helper()
	loaded, err := clientcmd.LoadFromFile(os.Getenv("KUBECONFIG"))
	if err != nil {
		t.Fatal(err)
	}
	loaded = loaded.DeepCopy()
	for _, a := range loaded.AuthInfos {
		*a = *withUser(a, user)
	}
	d := spec.Destination{Kubeconfig: filepath.Join(t.TempDir(), "config"), Namespace: namespace}
	if err := clientcmd.WriteToFile(*loaded, d.Kubeconfig); err != nil {
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

func withUser(a *clientcmdapi.AuthInfo, user string) *clientcmdapi.AuthInfo {
	a = a.DeepCopy()
	a.Impersonate = user
	return a
}

// TestLabContract holds the target to its contract on the real thing, as a user who may do what is documented.
func TestLabContract(t *testing.T) {
	l := openLab(t, "api")
	targettest.Run(t, func(t *testing.T) targettest.Fixture {
		ns := l.namespace(t)
		l.allow(t, "migrator", ns, nil)
		front := l.front(t)
		f := targettest.Fixture{
			Target: l.dial(t, "migrator", ns, front.destination), Namespace: ns, Class: "lab", Waits: "lab-waiting",
			GuestID: "debian12_64Guest", Disk: labDisk, Page: spec.Check{Type: "HTTP", Port: 80, Path: "/", ExpectStatus: 200},
			World: labWorld{objects: objects{rest: l.admin, class: "lab"}, l: l, front: front},
			Parts: l.parts(), Patience: 5 * time.Minute,
		}
		if strings.HasSuffix(t.Name(), "/whole_life") && l.has("boot") {
			token := fmt.Sprintf("lab-%x", time.Now().UnixNano())
			image, err := guest.Build(t.Context(), token)
			if err != nil {
				t.Fatal(err)
			}
			f.Page.ExpectBodyContains = token
			f.Disk = func(t *testing.T) []byte {
				b, err := os.ReadFile(image)
				if err != nil {
					t.Fatal(err)
				}
				return b
			}
		}
		return f
	})
}

// labDisk has data, holes, and an end that counts; nothing boots from it.
func labDisk(*testing.T) []byte {
	b := make([]byte, 8<<20)
	r := rand.NewChaCha8([32]byte{1})
	_, _ = r.Read(b[3<<20 : 4<<20])
	copy(b[len(b)-5:], "limit")
	return b
}

// labWorld is what others do to the real cluster.
type labWorld struct {
	objects
	l     *lab
	front *front
}

// Contents reads the file that the claim's local volume is.
func (w labWorld) Contents(t *testing.T, namespace, volume string, length int64) []byte {
	t.Helper()
	claim, err := w.l.core.CoreV1().PersistentVolumeClaims(namespace).Get(t.Context(), volume, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	pv, err := w.l.core.CoreV1().PersistentVolumes().Get(t.Context(), claim.Spec.VolumeName, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var dir string
	switch {
	case pv.Spec.HostPath != nil:
		dir = pv.Spec.HostPath.Path
	case pv.Spec.Local != nil:
		dir = pv.Spec.Local.Path
	}
	f, err := os.Open(filepath.Join(dir, "disk.img"))
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

func (w labWorld) RefuseUpload(_ *testing.T, _, _ string) {
	w.front.next(func(f *front) { f.spoil = true })
}

func (w labWorld) CutUpload(_ *testing.T, _, _ string, n int64) {
	w.front.next(func(f *front) { f.cut = n })
}

// front stands before the real upload proxy, so that a test can spoil a token or cut a stream on its way there.
type front struct {
	server *httptest.Server
	pin    string

	mu    sync.Mutex
	spoil bool
	token string // in place of the next one
	cut   int64
}

func (f *front) next(change func(*front)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	change(f)
}

func (f *front) destination(d *spec.Destination) {
	if f == nil {
		return
	}
	d.UploadProxy.URL, d.UploadProxy.TLS.Thumbprint = f.server.URL, f.pin
}

// front starts one; nil where there is no upload proxy.
func (l *lab) front(t *testing.T) *front {
	t.Helper()
	if !l.has("data") {
		return nil
	}
	s, err := l.core.CoreV1().Services("cdi").Get(t.Context(), "cdi-uploadproxy", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	bundle, err := l.core.CoreV1().ConfigMaps("cdi").Get(t.Context(), "cdi-uploadproxy-signer-bundle", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM([]byte(bundle.Data["ca-bundle.crt"]))
	to := &url.URL{Scheme: "https", Host: fmt.Sprintf("%s:%d", s.Spec.ClusterIP, s.Spec.Ports[0].Port)}
	f := &front{}
	proxy := &httputil.ReverseProxy{
		Rewrite:       func(r *httputil.ProxyRequest) { r.SetURL(to) },
		Transport:     &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots, ServerName: "cdi-uploadproxy.cdi.svc"}},
		FlushInterval: -1,
	}
	f.server = httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		f.mu.Lock()
		spoil, token, cut := f.spoil, f.token, f.cut
		if r.Method != http.MethodHead && r.Method != http.MethodGet {
			f.spoil, f.token, f.cut = false, "", 0
		}
		f.mu.Unlock()
		if spoil {
			r.Header.Set("Authorization", "Bearer "+expired(r.Header.Get("Authorization")))
		}
		if token != "" {
			r.Header.Set("Authorization", "Bearer "+token)
		}
		if cut > 0 {
			_, _ = io.CopyN(io.Discard, r.Body, cut)
			panic(http.ErrAbortHandler)
		}
		proxy.ServeHTTP(w, r)
	}))
	t.Cleanup(f.server.Close)
	f.pin = thumbprint(f.server.Certificate())
	return f
}

// expired keeps the shape of a token and breaks its signature.
func expired(authorization string) string {
	parts := strings.Split(strings.TrimPrefix(authorization, "Bearer "), ".")
	parts[len(parts)-1] = base64.RawURLEncoding.EncodeToString(bytes.Repeat([]byte{7}, 64))
	return strings.Join(parts, ".")
}

func thumbprint(c *x509.Certificate) string { return fmt.Sprintf("%x", sha256.Sum256(c.Raw)) }
