package kubevirt

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sync/errgroup"
	authv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"landfall/engine/spec"
)

// Access is one row of what the kubeconfig's user may do. A ClusterRole is written from this table.
type Access struct {
	Group, Resource string
	Names           []string // only these objects; none: any
	Verbs           []string
	Cluster         bool            // over all namespaces, else in the target's
	Optional        bool            // without it a fact stays unknown, or another way is taken
	Only            []spec.Delivery // empty: always
	Why             string
}

// Accesses lists every verb that is used.
var Accesses = []Access{
	{Group: "kubevirt.io", Resource: "virtualmachines", Verbs: []string{"get", "list", "create", "update", "patch", "delete"}, Why: "the migrated VM"},
	{Group: "kubevirt.io", Resource: "virtualmachineinstances", Verbs: []string{"get"}, Why: "watch it start"},
	{Group: "cdi.kubevirt.io", Resource: "datavolumes", Verbs: []string{"get", "list", "create", "delete"}, Why: "its disks"},
	{Resource: "persistentvolumeclaims", Verbs: []string{"get", "list", "delete"}, Why: "its disks' claims"},
	{Resource: "services", Verbs: []string{"get", "list", "create", "update", "delete"}, Why: "reach the guest for checks of type HTTP"},
	{Resource: "services/proxy", Verbs: []string{"get"}, Why: "fetch the guest's page for checks of type HTTP"},
	{Resource: "secrets", Verbs: []string{"get", "list", "create", "update", "delete"}, Only: []spec.Delivery{spec.DeliverHTTP}, Why: "credentials with which CDI fetches a disk"},
	{Resource: "configmaps", Verbs: []string{"get", "list", "create", "update", "delete"}, Only: []spec.Delivery{spec.DeliverHTTP}, Why: "the authority of the engine's certificate"},
	{Resource: "secrets", Verbs: []string{"list"}, Only: []spec.Delivery{spec.Upload}, Why: "list what is left after a migration"},
	{Resource: "configmaps", Verbs: []string{"list"}, Only: []spec.Delivery{spec.Upload}, Why: "list what is left after a migration"},
	{Group: "upload.cdi.kubevirt.io", Resource: "uploadtokenrequests", Verbs: []string{"create"}, Only: []spec.Delivery{spec.Upload}, Why: "a token for every upload"},

	{Group: "cdi.kubevirt.io", Resource: "datavolumes", Verbs: []string{"patch"}, Optional: true, Why: "write a warm migration's digests on its disks"},
	{Resource: "persistentvolumeclaims", Verbs: []string{"patch"}, Optional: true, Why: "likewise, on their claims"},
	{Resource: "events", Verbs: []string{"list"}, Optional: true, Why: "say in the cluster's words why a volume waits"},
	{Resource: "resourcequotas", Verbs: []string{"list"}, Optional: true, Why: "judge quotas beforehand"},
	{Resource: "limitranges", Verbs: []string{"list"}, Optional: true, Why: "judge limits beforehand"},
	{Group: "k8s.cni.cncf.io", Resource: "network-attachment-definitions", Verbs: []string{"get", "list"}, Optional: true, Why: "offer networks, see that one exists"},
	{Group: "instancetype.kubevirt.io", Resource: "virtualmachinepreferences", Verbs: []string{"list"}, Optional: true, Why: "find the preference of a guest"},
	{Group: "instancetype.kubevirt.io", Resource: "virtualmachineinstancetypes", Verbs: []string{"list"}, Optional: true, Why: "offer instance types"},
	{Group: "subresources.kubevirt.io", Resource: "virtualmachineinstances/guestosinfo", Verbs: []string{"get"}, Optional: true, Why: "show what the guest agent tells"},
	{Resource: "namespaces", Verbs: []string{"get"}, Cluster: true, Optional: true, Why: "see that the namespace exists"},
	{Resource: "namespaces", Verbs: []string{"create"}, Cluster: true, Optional: true, Why: "make the namespace where a person asks for it"},
	{Resource: "nodes", Verbs: []string{"list"}, Cluster: true, Optional: true, Why: "see which nodes offer /dev/kvm"},
	{Group: "k8s.cni.cncf.io", Resource: "network-attachment-definitions", Verbs: []string{"get", "list"}, Cluster: true, Optional: true, Why: "networks of the namespace default, and of others that a mapping names"},
	{Group: "instancetype.kubevirt.io", Resource: "virtualmachineclusterpreferences", Verbs: []string{"list"}, Cluster: true, Optional: true, Why: "find the preference of a guest"},
	{Group: "instancetype.kubevirt.io", Resource: "virtualmachineclusterinstancetypes", Verbs: []string{"list"}, Cluster: true, Optional: true, Why: "offer instance types"},
	{Group: "networking.k8s.io", Resource: "servicecidrs", Verbs: []string{"list"}, Cluster: true, Optional: true, Why: "see addresses that overlap the guest's"},
	{Resource: "configmaps", Names: []string{"kubeadm-config"}, Verbs: []string{"get"}, Cluster: true, Optional: true, Why: "likewise, where kubeadm made the cluster (in kube-system)"},
	{Group: "config.openshift.io", Resource: "networks", Names: []string{"cluster"}, Verbs: []string{"get"}, Cluster: true, Optional: true, Why: "likewise, on OpenShift"},
	{Resource: "services", Verbs: []string{"list"}, Cluster: true, Optional: true, Only: []spec.Delivery{spec.Upload}, Why: "find CDI's upload proxy"},
	{Resource: "pods", Verbs: []string{"list"}, Cluster: true, Optional: true, Only: []spec.Delivery{spec.Upload}, Why: "find CDI's upload proxy, where its address is not published"},
	{Resource: "pods/portforward", Verbs: []string{"create", "get"}, Cluster: true, Optional: true, Only: []spec.Delivery{spec.Upload}, Why: "reach it through the API server"},
	{Resource: "configmaps", Names: []string{"cdi-uploadproxy-signer-bundle"}, Verbs: []string{"get"}, Cluster: true, Optional: true, Only: []spec.Delivery{spec.Upload}, Why: "trust its certificate, whose authority CDI publishes there alone"},
	{Group: "storage.k8s.io", Resource: "storageclasses", Verbs: []string{"list"}, Cluster: true, Optional: true, Why: "offer storage classes"},
	{Group: "storage.k8s.io", Resource: "csistoragecapacities", Verbs: []string{"list"}, Cluster: true, Optional: true, Why: "judge capacity beforehand"},
	{Group: "cdi.kubevirt.io", Resource: "storageprofiles", Verbs: []string{"list"}, Cluster: true, Optional: true, Why: "access and volume modes of a class"},
	{Group: "cdi.kubevirt.io", Resource: "cdiconfigs", Verbs: []string{"get"}, Cluster: true, Optional: true, Why: "file-system overhead, address of the upload proxy"},
	{Group: "cdi.kubevirt.io", Resource: "cdis", Verbs: []string{"list"}, Cluster: true, Optional: true, Why: "CDI's version and health"},
	{Group: "kubevirt.io", Resource: "kubevirts", Verbs: []string{"list"}, Cluster: true, Optional: true, Why: "KubeVirt's version and health"},
	{Group: "kubevirt.io", Resource: "virtualmachines", Verbs: []string{"list"}, Cluster: true, Optional: true, Why: "find hardware addresses in use"},
	{Group: "kubevirt.io", Resource: "virtualmachineinstances", Verbs: []string{"list"}, Cluster: true, Optional: true, Why: "find hardware addresses in use"},
}

// uses tells whether the delivery needs the row.
func (a Access) uses(d spec.Delivery) bool { return len(a.Only) == 0 || slices.Contains(a.Only, d) }

// Name is the resource with its group: "datavolumes.cdi.kubevirt.io".
func (a Access) Name() string {
	if a.Group == "" {
		return a.Resource
	}
	return a.Resource + "." + a.Group
}

// denied asks the cluster for every verb that cannot be done without, and names those that are not allowed.
func (t *Target) denied(ctx context.Context, namespace string, d spec.Delivery) ([]string, error) {
	var (
		mu   sync.Mutex
		deny = map[string]bool{}
		g, c = errgroup.WithContext(ctx)
		rows []string
	)
	g.SetLimit(8)
	for _, a := range Accesses {
		if a.Optional || !a.uses(d) {
			continue
		}
		for _, verb := range a.Verbs {
			name := verb + " " + a.Name()
			rows = append(rows, name)
			g.Go(func() error {
				ok, err := t.may(c, namespace, a, verb)
				mu.Lock()
				defer mu.Unlock()
				deny[name] = err == nil && !ok
				return err
			})
		}
	}
	if err := g.Wait(); err != nil {
		return nil, err
	}
	return slices.DeleteFunc(rows, func(s string) bool { return !deny[s] }), nil
}

func (t *Target) may(ctx context.Context, namespace string, a Access, verb string) (bool, error) {
	resource, sub, _ := strings.Cut(a.Resource, "/")
	r, err := t.access.SelfSubjectAccessReviews().Create(ctx, &authv1.SelfSubjectAccessReview{
		Spec: authv1.SelfSubjectAccessReviewSpec{ResourceAttributes: &authv1.ResourceAttributes{
			Namespace: namespace, Verb: verb, Group: a.Group, Resource: resource, Subresource: sub,
		}},
	}, metav1.CreateOptions{})
	if err != nil {
		return false, classify(fmt.Sprintf("ask whether we may %s %s", verb, a.Name()), err)
	}
	return r.Status.Allowed, nil
}
