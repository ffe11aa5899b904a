package kubevirt_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/yaml"

	"landfall/targets/kubesim"
)

// Every document of every whole VM is taken by the cluster's own admission, unknown fields refused.
func TestGoldensAreAdmitted(t *testing.T) {
	s := start(t, kubesim.Config{
		Classes: []kubesim.StorageClass{{Name: "fast", VolumeMode: "Block"}, {Name: "files", WaitForFirstConsumer: true}},
		Preferences: []kubesim.Preference{
			{Name: "debian"}, {Name: "debian", Namespace: ns}, {Name: "windows.2k19"}, {Name: "windows.2k22.virtio"}, {Name: "windows.11", TPM: true, CPUs: 2, Memory: "4Gi"},
		},
		Instancetypes: []kubesim.Instancetype{{Name: "u1.medium", CPU: 1, Memory: "4Gi"}, {Namespace: ns, Name: "small", CPU: 1}},
	})
	admitGoldens(t, s.RESTConfig(""), ns)
}

// admitGoldens has a cluster judge every document in a namespace, and makes nothing.
func admitGoldens(t *testing.T, cluster *rest.Config, namespace string) {
	t.Helper()
	client, err := dynamic.NewForConfig(cluster)
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob("testdata/golden/*.yaml")
	if err != nil || len(files) < 25 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	for _, f := range files {
		t.Run(strings.TrimSuffix(filepath.Base(f), ".yaml"), func(t *testing.T) {
			b, err := os.ReadFile(f)
			if err != nil {
				t.Fatal(err)
			}
			for _, doc := range strings.Split(string(b), "---\n") {
				var u unstructured.Unstructured
				if err := yaml.Unmarshal([]byte(doc), &u.Object); err != nil {
					t.Fatal(err)
				}
				if u.GetKind() == "" {
					continue // the notes at the head
				}
				gv, err := schema.ParseGroupVersion(u.GetAPIVersion())
				if err != nil {
					t.Fatal(err)
				}
				u.SetNamespace(namespace)
				_, err = client.Resource(gv.WithResource(strings.ToLower(u.GetKind())+"s")).Namespace(namespace).
					Create(t.Context(), &u, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}, FieldValidation: metav1.FieldValidationStrict})
				if err != nil {
					t.Errorf("%s %s: %v", u.GetKind(), u.GetName(), err)
				}
			}
		})
	}
}
