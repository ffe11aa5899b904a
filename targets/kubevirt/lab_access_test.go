package kubevirt_test

import (
	"slices"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"landfall/engine/fault"
	"landfall/engine/machine"
	"landfall/engine/spec"
	"landfall/targets"
	"landfall/targets/kubevirt"
)

// One verb less than documented, and the facts name just that verb; with all of them nothing is missing.
func TestLabOneVerbLess(t *testing.T) {
	l := openLab(t, "api")
	ns := l.namespace(t)
	l.allow(t, "complete", ns, nil)
	denied := func(user string, d spec.Delivery) []string {
		f, err := l.dial(t, user, ns, nil).Facts(t.Context(), targets.Question{Namespace: ns, VMName: "web", Owner: targets.Owner{UID: "u", Namespace: ns}, Delivery: d})
		if err != nil {
			t.Fatal(err)
		}
		return f.Denied
	}
	for _, d := range []spec.Delivery{spec.Upload, spec.DeliverHTTP} {
		if got := denied("complete", d); len(got) > 0 {
			t.Errorf("with the documented roles and delivery %s, denied are %v", d, got)
		}
	}
	seen := map[string]bool{}
	for _, a := range kubevirt.Accesses {
		if a.Optional || a.Cluster {
			continue
		}
		d := spec.Upload
		if len(a.Only) > 0 {
			d = a.Only[0]
		}
		for _, verb := range a.Verbs {
			want := verb + " " + a.Name()
			if seen[want] {
				continue
			}
			seen[want] = true
			t.Run(want, func(t *testing.T) {
				user := strings.NewReplacer(" ", "-", "/", "-").Replace(want)
				l.roleWithout(t, ns, a, verb, user)
				// What may be done everywhere may be done here.
				l.allow(t, user, l.namespace(t), func(_ *rbacv1.Role, facts *rbacv1.ClusterRole) { facts.Rules = without(facts.Rules, a, verb) })
				if got := denied(user, d); !slices.Equal(got, []string{want}) {
					t.Errorf("denied are %v, want %s alone", got, want)
				}
			})
		}
	}
}

// roleWithout binds the user to the documented role of a namespace less one verb.
func (l *lab) roleWithout(t *testing.T, namespace string, less kubevirt.Access, verb, user string) {
	t.Helper()
	role := l.role(t)
	role.Name, role.Rules = "less-"+strings.ReplaceAll(user, ".", "-"), without(role.Rules, less, verb)
	rbac := l.core.RbacV1()
	if _, err := rbac.Roles(namespace).Create(t.Context(), &role, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := rbac.RoleBindings(namespace).Create(t.Context(), &rbacv1.RoleBinding{ObjectMeta: metav1.ObjectMeta{Name: role.Name},
		Subjects: []rbacv1.Subject{{Kind: "User", APIGroup: rbacv1.GroupName, Name: user}},
		RoleRef:  rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: role.Name}}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}

func without(rules []rbacv1.PolicyRule, less kubevirt.Access, verb string) (out []rbacv1.PolicyRule) {
	for _, r := range rules {
		if r.APIGroups[0] == less.Group && slices.Contains(r.Resources, less.Resource) {
			r.Verbs = slices.DeleteFunc(slices.Clone(r.Verbs), func(v string) bool { return v == verb })
		}
		if len(r.Verbs) > 0 {
			out = append(out, r)
		}
	}
	return out
}

// What the API server and KubeVirt's own admission refuse is shown in their words, and nothing is made.
func TestLabRefusals(t *testing.T) {
	l := openLab(t, "vm")
	for _, c := range []struct {
		situation string
		spoil     func(vm map[string]any)
	}{
		{"a bus that KubeVirt does not know", func(vm map[string]any) {
			set(vm, []any{map[string]any{"name": "disk-0", "disk": map[string]any{"bus": "nonsense"}}}, "spec", "template", "spec", "domain", "devices", "disks")
		}},
		{"a run strategy that there is not", func(vm map[string]any) { set(vm, "Nope", "spec", "runStrategy") }},
		{"two networks of the pod", func(vm map[string]any) {
			set(vm, []any{map[string]any{"name": "a", "pod": map[string]any{}}, map[string]any{"name": "b", "pod": map[string]any{}}}, "spec", "template", "spec", "networks")
			set(vm, []any{map[string]any{"name": "a", "masquerade": map[string]any{}}, map[string]any{"name": "b", "masquerade": map[string]any{}}}, "spec", "template", "spec", "domain", "devices", "interfaces")
		}},
	} {
		t.Run(c.situation, func(t *testing.T) {
			ns := l.namespace(t)
			l.allow(t, "migrator", ns, nil)
			k := l.dial(t, "migrator", ns, nil)
			o := targets.Owner{UID: "refused", Name: "refused", Namespace: ns}
			p, err := k.Render(targets.Input{Owner: o, Spec: spec.Spec{Destination: spec.Destination{Namespace: ns}}, VM: machine.VM{
				Summary: machine.Summary{Name: "web", GuestID: "debian12_64Guest", CPUs: 1, MemoryMiB: 256}, Firmware: "bios"}})
			if err != nil {
				t.Fatal(err)
			}
			var vm map[string]any
			if err := yaml.Unmarshal([]byte(p.Manifest), &vm); err != nil {
				t.Fatal(err)
			}
			c.spoil(vm)
			b, err := yaml.Marshal(vm)
			if err != nil {
				t.Fatal(err)
			}
			p.Manifest = string(b)
			objects := objects{rest: l.admin}
			_, said := objects.of(t, "virtualmachine", ns).Create(t.Context(), &unstructured.Unstructured{Object: vm}, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
			if said == nil {
				t.Fatal("the cluster takes it")
			}
			err = k.ApplyMachine(t.Context(), o, p)
			if fault.ClassOf(err) != fault.Blocked || !fault.Is(err, fault.Refused) || fault.HintOf(err) == "" {
				t.Errorf("got %v (%s, %s), hint %q", err, fault.ClassOf(err), fault.ReasonOf(err), fault.HintOf(err))
			}
			if err == nil || !strings.Contains(err.Error(), said.Error()) {
				t.Errorf("%v\ndoes not give the cluster's words:\n%v", err, said)
			}
			if objects.Exists(t, "virtualmachine", ns, p.Name) {
				t.Error("it was made all the same")
			}
		})
	}
}

func set(o map[string]any, v any, path ...string) {
	if err := unstructured.SetNestedField(o, v, path...); err != nil {
		panic(err)
	}
}
