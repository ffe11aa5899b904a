package main

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	virt "kubevirt.io/api/core/v1"
)

func TestFilesOfClaims(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "disk.img"), []byte("disk"), 0o600); err != nil {
		t.Fatal(err)
	}
	claim := func(name, volume string, phase corev1.PersistentVolumeClaimPhase) *corev1.PersistentVolumeClaim {
		return &corev1.PersistentVolumeClaim{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "PersistentVolumeClaim"}, ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name}, Spec: corev1.PersistentVolumeClaimSpec{VolumeName: volume},
			Status: corev1.PersistentVolumeClaimStatus{Phase: phase}}
	}
	at := func(name string, source corev1.PersistentVolumeSource) *corev1.PersistentVolume {
		return &corev1.PersistentVolume{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "PersistentVolume"}, ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: corev1.PersistentVolumeSpec{PersistentVolumeSource: source}}
	}
	h := &handler{core: serving(t,
		claim("local", "v1", corev1.ClaimBound), at("v1", corev1.PersistentVolumeSource{Local: &corev1.LocalVolumeSource{Path: dir}}),
		claim("host", "v2", corev1.ClaimBound), at("v2", corev1.PersistentVolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: dir}}),
		claim("waiting", "", corev1.ClaimPending),
		claim("empty", "v3", corev1.ClaimBound), at("v3", corev1.PersistentVolumeSource{Local: &corev1.LocalVolumeSource{Path: filepath.Join(dir, "none")}}),
		claim("far", "v4", corev1.ClaimBound), at("v4", corev1.PersistentVolumeSource{NFS: &corev1.NFSVolumeSource{Path: dir}}),
	)}
	for _, c := range []struct {
		claim string
		found bool
	}{{"local", true}, {"host", true}, {"waiting", false}, {"empty", false}, {"far", false}, {"absent", false}} {
		vmi := instance(func(v *virt.VirtualMachineInstance) {
			v.Spec.Volumes = []virt.Volume{{Name: "a", VolumeSource: virt.VolumeSource{DataVolume: &virt.DataVolumeSource{Name: c.claim}}}}
		})
		files, err := h.files(t.Context(), vmi)
		if c.found != (err == nil) || c.found && files["a"] != filepath.Join(dir, "disk.img") {
			t.Errorf("claim %s: %v, %v", c.claim, files, err)
		}
	}
}

// serving is a client of a server that has the objects and nothing else.
func serving(t *testing.T, objects ...metav1.Object) kubernetes.Interface {
	t.Helper()
	mux := http.NewServeMux()
	for _, o := range objects {
		path := "/api/v1/persistentvolumes/" + o.GetName()
		if o.GetNamespace() != "" {
			path = "/api/v1/namespaces/" + o.GetNamespace() + "/persistentvolumeclaims/" + o.GetName()
		}
		mux.HandleFunc(path, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			_ = json.NewEncoder(w).Encode(o)
		})
	}
	s := httptest.NewServer(mux)
	t.Cleanup(s.Close)
	c, err := kubernetes.NewForConfig(&rest.Config{Host: s.URL, ContentConfig: rest.ContentConfig{ContentType: "application/json"}})
	if err != nil {
		t.Fatal(err)
	}
	return c
}
