package kubevirt

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	rbacv1 "k8s.io/api/rbac/v1"
	"sigs.k8s.io/yaml"
)

// TestRoles keeps the roles in the documents the same as the verbs in the code.
func TestRoles(t *testing.T) {
	const path = "../../docs/rbac.yaml"
	want := roles()
	if *update {
		if err := os.WriteFile(path, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	have, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(string(have), want); d != "" {
		t.Errorf("docs/rbac.yaml is old (-file +code), write it with go test ./targets/kubevirt -run TestRoles -update:\n%s", d)
	}
	for i, doc := range strings.Split(want, "\n---\n") {
		var r rbacv1.ClusterRole
		if err := yaml.UnmarshalStrict([]byte(doc), &r); err != nil || len(r.Rules) == 0 {
			t.Errorf("document %d is no role: %v", i, err)
		}
	}
}

func roles() string {
	var b strings.Builder
	b.WriteString(`# What Landfall's user may do in the cluster. Written from the code: go test ./targets/kubevirt -run TestRoles -update
#
# The Role is needed, in every namespace that VMs are moved to. The ClusterRole is for facts and ways: without a line of it a
# fact stays unknown and a person is asked instead, or another way is taken.
#
#   kubectl -n NAMESPACE apply -f docs/rbac.yaml
#   kubectl -n NAMESPACE create rolebinding landfall --role=landfall --user=USER
#   kubectl create clusterrolebinding landfall-facts --clusterrole=landfall-facts --user=USER
`)
	b.WriteString(`apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata:
  name: landfall
rules:
`)
	rows(&b, false)
	b.WriteString(`---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata:
  name: landfall-facts
rules:
`)
	rows(&b, true)
	return b.String()
}

func rows(b *strings.Builder, cluster bool) {
	for _, a := range Accesses {
		if a.Cluster != cluster {
			continue
		}
		why := a.Why
		if len(a.Only) > 0 {
			why += fmt.Sprintf(" (delivery %s)", a.Only[0])
		}
		if a.Optional && !cluster {
			why += " (can be done without)"
		}
		fmt.Fprintf(b, "  - apiGroups: [%q] # %s\n    resources: [%s]\n", a.Group, why, a.Resource)
		if len(a.Names) > 0 {
			fmt.Fprintf(b, "    resourceNames: [%s]\n", strings.Join(a.Names, ", "))
		}
		fmt.Fprintf(b, "    verbs: [%s]\n", strings.Join(a.Verbs, ", "))
	}
}
