package kubesim_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	authv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/restmapper"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/clientcmd"

	"landfall/targets/kubesim"
)

func configMap(name string, data map[string]string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"app": name}}, Data: data}
}

func TestObjectsAreCreatedChangedAndDeleted(t *testing.T) {
	c := core(t, start(t, kubesim.Config{})).CoreV1().ConfigMaps(ns)
	made, err := c.Create(t.Context(), configMap("a", map[string]string{"k": "1"}), metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if made.UID == "" || made.ResourceVersion == "" || made.CreationTimestamp.IsZero() || made.Namespace != ns {
		t.Errorf("created object lacks what the server sets: %+v", made.ObjectMeta)
	}
	if _, err := c.Create(t.Context(), configMap("a", nil), metav1.CreateOptions{}); !apierrors.IsAlreadyExists(err) {
		t.Errorf("create again: %v, want AlreadyExists", err)
	}
	if _, err := c.Create(t.Context(), configMap("Not_A_Name", nil), metav1.CreateOptions{}); !apierrors.IsInvalid(err) {
		t.Errorf("create with a bad name: %v, want Invalid", err)
	}
	stale := made.DeepCopy()
	made.Data["k"] = "2"
	changed, err := c.Update(t.Context(), made, metav1.UpdateOptions{})
	if err != nil || changed.ResourceVersion == made.ResourceVersion {
		t.Fatalf("update: %v, resource version %s after %s", err, changed.ResourceVersion, made.ResourceVersion)
	}
	same, err := c.Update(t.Context(), changed, metav1.UpdateOptions{})
	if err != nil || same.ResourceVersion != changed.ResourceVersion {
		t.Errorf("an update that changes nothing: %v, resource version %s after %s", err, same.ResourceVersion, changed.ResourceVersion)
	}
	if _, err := c.Update(t.Context(), stale, metav1.UpdateOptions{}); !apierrors.IsConflict(err) {
		t.Errorf("update of a stale object: %v, want Conflict", err)
	}
	list, err := c.List(t.Context(), metav1.ListOptions{LabelSelector: "app=a", FieldSelector: "metadata.name=a"})
	if err != nil || len(list.Items) != 1 || list.ResourceVersion == "" {
		t.Errorf("list: %v, %d items", err, len(list.Items))
	}
	wrong := types.UID("other")
	if err := c.Delete(t.Context(), "a", metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &wrong}}); !apierrors.IsConflict(err) {
		t.Errorf("delete with another UID: %v, want Conflict", err)
	}
	if err := c.Delete(t.Context(), "a", metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &made.UID}}); err != nil {
		t.Error(err)
	}
	if err := c.Delete(t.Context(), "a", metav1.DeleteOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("delete again: %v, want NotFound", err)
	}
}

func TestNamespacesBoundAndEmptied(t *testing.T) {
	c := core(t, start(t, kubesim.Config{}))
	if _, err := c.CoreV1().ConfigMaps("nowhere").Create(t.Context(), configMap("a", nil), metav1.CreateOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("create in a missing namespace: %v, want NotFound", err)
	}
	if _, err := c.CoreV1().ConfigMaps(ns).Create(t.Context(), configMap("a", nil), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := c.CoreV1().Namespaces().Delete(t.Context(), ns, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the namespace to go", func() (bool, string) {
		n, err := c.CoreV1().Namespaces().Get(t.Context(), ns, metav1.GetOptions{})
		return apierrors.IsNotFound(err), string(n.Status.Phase)
	})
}

func TestPatches(t *testing.T) {
	s := start(t, kubesim.Config{})
	c := core(t, s)
	if _, err := c.CoreV1().ConfigMaps(ns).Create(t.Context(), configMap("a", map[string]string{"x": "1", "y": "2"}), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	for _, p := range []struct {
		kind  types.PatchType
		patch string
		want  map[string]string
	}{
		{types.MergePatchType, `{"data":{"x":null,"z":"3"}}`, map[string]string{"y": "2", "z": "3"}},
		{types.JSONPatchType, `[{"op":"replace","path":"/data/y","value":"5"}]`, map[string]string{"y": "5", "z": "3"}},
		{types.StrategicMergePatchType, `{"data":{"z":"9"}}`, map[string]string{"y": "5", "z": "9"}},
	} {
		got, err := c.CoreV1().ConfigMaps(ns).Patch(t.Context(), "a", p.kind, []byte(p.patch), metav1.PatchOptions{})
		if err != nil || fmt.Sprint(got.Data) != fmt.Sprint(p.want) {
			t.Errorf("%s: %v, data %v, want %v", p.kind, err, got.Data, p.want)
		}
	}
	if _, err := c.CoreV1().ConfigMaps(ns).Patch(t.Context(), "a", types.MergePatchType, []byte(`{"metadata":{"resourceVersion":"1"}}`), metav1.PatchOptions{}); !apierrors.IsConflict(err) {
		t.Errorf("patch with a stale resource version: %v, want Conflict", err)
	}
	v := virt(t, s)
	if _, err := v.CdiClient().CdiV1beta1().DataVolumes(ns).Create(t.Context(), dataVolume("d", "1Mi", upload()), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := v.CdiClient().CdiV1beta1().DataVolumes(ns).Patch(t.Context(), "d", types.StrategicMergePatchType, []byte(`{}`), metav1.PatchOptions{}); !apierrors.IsUnsupportedMediaType(err) {
		t.Errorf("strategic patch of a custom resource: %v, want UnsupportedMediaType", err)
	}
}

func TestWatchSeesChangesAndExpires(t *testing.T) {
	s := start(t, kubesim.Config{})
	c := core(t, s).CoreV1().ConfigMaps(ns)
	list, err := c.List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	w, err := c.Watch(t.Context(), metav1.ListOptions{ResourceVersion: list.ResourceVersion, LabelSelector: "app=a"})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Stop()
	a, err := c.Create(t.Context(), configMap("a", nil), metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Create(t.Context(), configMap("b", nil), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	a.Data = map[string]string{"k": "v"}
	if a, err = c.Update(t.Context(), a, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	a.Labels["app"] = "other" // leaves the selection
	if _, err = c.Update(t.Context(), a, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []watch.EventType{watch.Added, watch.Modified, watch.Deleted} {
		e := next(t, w)
		if cm, ok := e.Object.(*corev1.ConfigMap); e.Type != want || !ok || cm.Name != "a" {
			t.Fatalf("watch gave %s %v, want %s of a", e.Type, e.Object, want)
		}
	}
	s.TrimHistory()
	old, err := c.Watch(t.Context(), metav1.ListOptions{ResourceVersion: list.ResourceVersion})
	if err != nil {
		t.Fatal(err)
	}
	defer old.Stop()
	if e := next(t, old); e.Type != watch.Error || !apierrors.IsResourceExpired(apierrors.FromObject(e.Object)) {
		t.Errorf("a watch from before the history gave %s %v, want 410 Expired", e.Type, e.Object)
	}
}

func next(t *testing.T, w watch.Interface) watch.Event {
	t.Helper()
	select {
	case e := <-w.ResultChan():
		return e
	case <-time.After(10 * time.Second):
		t.Fatal("the watch is silent")
	}
	panic("unreachable")
}

func TestInformerSurvivesAnExpiredWatch(t *testing.T) {
	s := start(t, kubesim.Config{})
	c := core(t, s)
	store, informer := cache.NewInformerWithOptions(cache.InformerOptions{
		ListerWatcher: cache.NewListWatchFromClient(c.CoreV1().RESTClient(), "configmaps", ns, fields.Everything()),
		ObjectType:    &corev1.ConfigMap{}, Handler: cache.ResourceEventHandlerFuncs{},
	})
	go informer.RunWithContext(t.Context())
	for i, name := range []string{"before", "after"} {
		if i == 1 {
			s.Inject(kubesim.Fault{Verb: "watch", Resource: "configmaps", Do: kubesim.Expire})
		}
		if _, err := c.CoreV1().ConfigMaps(ns).Create(t.Context(), configMap(name, nil), metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		eventually(t, name+" to reach the cache", func() (bool, string) {
			_, ok, err := store.GetByKey(ns + "/" + name)
			return ok, fmt.Sprint(err)
		})
	}
}

func TestOwnedObjectsGoWithTheirOwner(t *testing.T) {
	c := core(t, start(t, kubesim.Config{})).CoreV1().ConfigMaps(ns)
	owner, err := c.Create(t.Context(), configMap("owner", nil), metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	child := func(name string, uid types.UID) *corev1.ConfigMap {
		cm := configMap(name, nil)
		cm.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "ConfigMap", Name: "owner", UID: uid}}
		return cm
	}
	if _, err := c.Create(t.Context(), child("child", owner.UID), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	held := child("held", owner.UID)
	held.Finalizers = []string{"example.com/hold"}
	if _, err := c.Create(t.Context(), held, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := c.Delete(t.Context(), "owner", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the child to go and the held one to be dying", func() (bool, string) {
		_, err := c.Get(t.Context(), "child", metav1.GetOptions{})
		h, herr := c.Get(t.Context(), "held", metav1.GetOptions{})
		return apierrors.IsNotFound(err) && herr == nil && h.DeletionTimestamp != nil, fmt.Sprint(err, herr)
	})
	if _, err := c.Patch(t.Context(), "held", types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`), metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Get(t.Context(), "held", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("without its finalizer the held one is still there: %v", err)
	}
}

func TestDiscoveryAndDynamicClient(t *testing.T) {
	s := start(t, kubesim.Config{Networks: []kubesim.Network{{Namespace: ns, Name: "blue"}}})
	c := core(t, s)
	mapper := restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(c.Discovery()))
	d, err := dynamic.NewForConfig(s.RESTConfig(""))
	if err != nil {
		t.Fatal(err)
	}
	for _, gk := range []struct{ group, kind, version, resource string }{
		{"", "PersistentVolumeClaim", "v1", "persistentvolumeclaims"},
		{"cdi.kubevirt.io", "DataVolume", "v1beta1", "datavolumes"},
		{"kubevirt.io", "VirtualMachine", "v1", "virtualmachines"},
		{"k8s.cni.cncf.io", "NetworkAttachmentDefinition", "v1", "network-attachment-definitions"},
		{"storage.k8s.io", "StorageClass", "v1", "storageclasses"},
	} {
		m, err := mapper.RESTMapping(schema.GroupKind{Group: gk.group, Kind: gk.kind})
		if err != nil {
			t.Fatal(err)
		}
		if m.Resource.Resource != gk.resource || m.Resource.Version != gk.version {
			t.Errorf("%s maps to %v", gk.kind, m.Resource)
		}
		in := dynamic.ResourceInterface(d.Resource(m.Resource))
		if m.Scope.Name() == meta.RESTScopeNameNamespace {
			in = d.Resource(m.Resource).Namespace(ns)
		}
		if _, err := in.List(t.Context(), metav1.ListOptions{}); err != nil {
			t.Errorf("list %v: %v", m.Resource, err)
		}
	}
	nad, err := d.Resource(schema.GroupVersionResource{Group: "k8s.cni.cncf.io", Version: "v1", Resource: "network-attachment-definitions"}).Namespace(ns).Get(t.Context(), "blue", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if cfg, _, _ := unstructured.NestedString(nad.Object, "spec", "config"); !strings.Contains(cfg, "bridge") {
		t.Errorf("network has config %q", cfg)
	}
	_, err = d.Resource(schema.GroupVersionResource{Group: "no.such", Version: "v1", Resource: "things"}).List(t.Context(), metav1.ListOptions{})
	if !apierrors.IsNotFound(err) {
		t.Errorf("list of an unknown resource: %v, want NotFound", err)
	}
	v, err := c.Discovery().ServerVersion()
	if err != nil || v.Major != "1" {
		t.Errorf("version %v: %v", v, err)
	}
}

func TestAccessReviewsAgreeWithCalls(t *testing.T) {
	s := start(t, kubesim.Config{Users: []kubesim.User{{Name: "op"}, {Name: "reader", Allow: []kubesim.Rule{{Verbs: []string{"get", "list"}}}}}})
	reader, err := kubernetes.NewForConfig(s.RESTConfig("reader"))
	if err != nil {
		t.Fatal(err)
	}
	s.Deny(kubesim.Rule{Verbs: []string{"delete"}, Resources: []string{"secrets"}, Namespaces: []string{ns}})
	may := func(c *kubernetes.Clientset, verb, resource string) bool {
		r, err := c.AuthorizationV1().SelfSubjectAccessReviews().Create(t.Context(), &authv1.SelfSubjectAccessReview{
			Spec: authv1.SelfSubjectAccessReviewSpec{ResourceAttributes: &authv1.ResourceAttributes{Namespace: ns, Verb: verb, Resource: resource}},
		}, metav1.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
		return r.Status.Allowed
	}
	op := core(t, s)
	for _, row := range []struct {
		who          *kubernetes.Clientset
		verb, object string
		want         bool
	}{{op, "delete", "secrets", false}, {op, "create", "secrets", true}, {reader, "get", "secrets", true}, {reader, "create", "secrets", false}} {
		if got := may(row.who, row.verb, row.object); got != row.want {
			t.Errorf("review of %s %s: allowed %t, want %t", row.verb, row.object, got, row.want)
		}
	}
	if err := op.CoreV1().Secrets(ns).Delete(t.Context(), "x", metav1.DeleteOptions{}); !apierrors.IsForbidden(err) {
		t.Errorf("denied call: %v, want Forbidden", err)
	}
	if _, err := reader.CoreV1().Secrets(ns).Create(t.Context(), &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "x"}}, metav1.CreateOptions{}); !apierrors.IsForbidden(err) {
		t.Errorf("call that is not allowed: %v, want Forbidden", err)
	}
}

func TestStrangersAreUnauthorized(t *testing.T) {
	s := start(t, kubesim.Config{})
	cfg := s.RESTConfig("")
	cfg.BearerToken = "guess"
	c, err := kubernetes.NewForConfig(cfg)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.CoreV1().Pods(ns).List(t.Context(), metav1.ListOptions{}); !apierrors.IsUnauthorized(err) {
		t.Errorf("call with a wrong token: %v, want Unauthorized", err)
	}
}

func TestQuotaIsEnforced(t *testing.T) {
	s := start(t, kubesim.Config{Quotas: []kubesim.Quota{{Namespace: ns, Name: "q", Hard: map[string]string{"requests.storage": "2Mi", "count/configmaps": "1"}}}})
	c := core(t, s)
	if _, err := c.CoreV1().ConfigMaps(ns).Create(t.Context(), configMap("a", nil), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	_, err := c.CoreV1().ConfigMaps(ns).Create(t.Context(), configMap("b", nil), metav1.CreateOptions{})
	if !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), "exceeded quota: q, requested: count/configmaps=1, used: count/configmaps=1, limited: count/configmaps=1") {
		t.Errorf("create over quota: %v", err)
	}
	v := virt(t, s)
	if _, err := v.CdiClient().CdiV1beta1().DataVolumes(ns).Create(t.Context(), dataVolume("big", "100Mi", upload()), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the DataVolume to say that its claim is over quota", func() (bool, string) {
		dv, err := v.CdiClient().CdiV1beta1().DataVolumes(ns).Get(t.Context(), "big", metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		return slices.ContainsFunc(dv.Status.Conditions, func(c cdiCondition) bool { return c.Reason == "ErrExceededQuota" }) && dv.Status.Phase == "Pending", fmt.Sprint(dv.Status)
	})
}

func TestStateSurvivesARestart(t *testing.T) {
	dir := t.TempDir()
	s := start(t, kubesim.Config{Dir: dir})
	kubeconfig := filepath.Join(dir, "kubeconfig")
	if err := s.Kubeconfig(kubeconfig); err != nil {
		t.Fatal(err)
	}
	if st, err := os.Stat(kubeconfig); err != nil || st.Mode().Perm() != 0o600 {
		t.Errorf("kubeconfig: %v, mode %v", err, st.Mode())
	}
	cfg, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	c, err := kubernetes.NewForConfig(cfg)
	if err != nil {
		t.Fatal(err)
	}
	made, err := c.CoreV1().ConfigMaps(ns).Create(t.Context(), configMap("a", nil), metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	v := virt(t, s)
	if _, err := v.CdiClient().CdiV1beta1().DataVolumes(ns).Create(t.Context(), dataVolume("d", "8Mi", upload()), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	awaitPhase(t, v, "d", "UploadReady")
	image := randomImage(t, 8<<20)
	if code, body := send(t, s, v, "d", compress(t, "zstd", image)); code != http.StatusOK {
		t.Fatalf("upload: %d %s", code, body)
	}
	awaitPhase(t, v, "d", "Succeeded")
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	// A line that a kill has cut short is left out.
	f, err := os.OpenFile(filepath.Join(dir, "journal"), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteString(`{"rv":99999,"event":"ADDED","ki`); err != nil {
		t.Fatal(err)
	}
	f.Close()

	again := start(t, kubesim.Config{Dir: dir})
	if again.URL() != s.URL() {
		t.Errorf("the address changed from %s to %s", s.URL(), again.URL())
	}
	got, err := c.CoreV1().ConfigMaps(ns).Get(t.Context(), "a", metav1.GetOptions{})
	if err != nil || got.UID != made.UID || got.ResourceVersion != made.ResourceVersion {
		t.Errorf("after the restart: %v, %+v", err, got.ObjectMeta)
	}
	if p := phase(t, virt(t, again), "d"); p != "Succeeded" {
		t.Errorf("after the restart the DataVolume is %s", p)
	}
	volume, err := again.Volume(ns, "d")
	if err != nil {
		t.Fatal(err)
	}
	holds(t, volume, image)
}

func TestErrorsAreStatusObjects(t *testing.T) {
	s := start(t, kubesim.Config{})
	s.Inject(kubesim.Fault{Verb: "get", Resource: "configmaps", Do: kubesim.Throttle, RetryAfter: 7})
	raw, err := core(t, s).CoreV1().RESTClient().Get().MaxRetries(0).Namespace(ns).Resource("configmaps").Name("x").Do(t.Context()).Raw()
	if err == nil {
		t.Fatal("the throttled call succeeded")
	}
	var status metav1.Status
	if json.Unmarshal(raw, &status) != nil || status.Kind != "Status" || status.Reason != metav1.StatusReasonTooManyRequests || status.Code != 429 || status.Details.RetryAfterSeconds != 7 {
		t.Errorf("answer is %s", raw)
	}
}
