package kubesim_test

import (
	"context"
	"encoding/base64"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"kubevirt.io/client-go/kubecli"
	cdiv1 "kubevirt.io/containerized-data-importer-api/pkg/apis/core/v1beta1"

	"landfall/targets/kubesim"
)

const ns = "vms"

// start runs a cluster for one test, with the namespace ns.
func start(t *testing.T, cfg kubesim.Config) *kubesim.Server {
	t.Helper()
	if cfg.Dir == "" {
		cfg.Dir = t.TempDir()
	}
	if cfg.Pace == 0 {
		cfg.Pace = 3 * time.Millisecond
	}
	cfg.Namespaces = append(cfg.Namespaces, ns)
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

func core(t *testing.T, s *kubesim.Server) *kubernetes.Clientset {
	t.Helper()
	c, err := kubernetes.NewForConfig(s.RESTConfig(""))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func virt(t *testing.T, s *kubesim.Server) kubecli.KubevirtClient {
	t.Helper()
	c, err := kubecli.GetKubevirtClientFromRESTConfig(s.RESTConfig(""))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// eventually waits for what the controllers do on their own.
func eventually(t *testing.T, what string, true_ func() (bool, string)) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	for {
		ok, now := true_()
		if ok {
			return
		}
		select {
		case <-ctx.Done():
			t.Fatalf("waited too long for %s; it is %s", what, now)
		case <-time.After(2 * time.Millisecond):
		}
	}
}

func dataVolume(name, size string, source *cdiv1.DataVolumeSource) *cdiv1.DataVolume {
	return &cdiv1.DataVolume{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: ns},
		Spec: cdiv1.DataVolumeSpec{
			Source: source,
			Storage: &cdiv1.StorageSpec{Resources: corev1.VolumeResourceRequirements{
				Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse(size)},
			}},
		},
	}
}

func upload() *cdiv1.DataVolumeSource {
	return &cdiv1.DataVolumeSource{Upload: &cdiv1.DataVolumeSourceUpload{}}
}

func phase(t *testing.T, c kubecli.KubevirtClient, name string) string {
	t.Helper()
	dv, err := c.CdiClient().CdiV1beta1().DataVolumes(ns).Get(t.Context(), name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return string(dv.Status.Phase)
}

func awaitPhase(t *testing.T, c kubecli.KubevirtClient, name, want string) {
	t.Helper()
	eventually(t, "DataVolume "+name+" to be "+want, func() (bool, string) {
		now := phase(t, c, name)
		return now == want, now
	})
}

func base64Lines(raw []byte) string {
	return base64.StdEncoding.EncodeToString(raw) + "\n"
}
