// Package kubevirt is the target that runs KubeVirt with the Containerized Data Importer, reached through one kubeconfig
// context. It renders, creates, fills, starts and watches, and classes what the cluster answers. It must not know phases,
// budgets or the store: what to do about what it saw is decided elsewhere.
package kubevirt

import (
	"context"
	"net/http"
	"time"

	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	authorizationv1 "k8s.io/client-go/kubernetes/typed/authorization/v1"
	corev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	storagev1 "k8s.io/client-go/kubernetes/typed/storage/v1"
	"k8s.io/client-go/rest"
	cdiv1 "kubevirt.io/client-go/containerizeddataimporter/typed/core/v1beta1"
	uploadv1 "kubevirt.io/client-go/containerizeddataimporter/typed/upload/v1beta1"
	virtv1 "kubevirt.io/client-go/kubevirt/typed/core/v1"

	"landfall/engine/spec"
	"landfall/targets"
)

// Target is one cluster.
type Target struct {
	dest    spec.Destination
	context string
	config  *rest.Config
	http    *http.Client
	now     func() time.Time
	stall   time.Duration

	discovery *discovery.DiscoveryClient
	dynamic   dynamic.Interface
	core      corev1.CoreV1Interface
	storage   storagev1.StorageV1Interface
	access    authorizationv1.AuthorizationV1Interface
	virt      virtv1.KubevirtV1Interface
	cdi       cdiv1.CdiV1beta1Interface
	upload    uploadv1.UploadV1beta1Interface
}

var _ targets.Target = (*Target)(nil)

// Close gives up the connections that are kept.
func (t *Target) Close() error {
	t.http.CloseIdleConnections()
	return nil
}

// About tells which cluster this is. A version that may not be looked up is left out.
func (t *Target) About(ctx context.Context) (targets.About, error) {
	a := targets.About{Context: t.context, Server: t.config.Host}
	v, err := t.discovery.RESTClient().Get().AbsPath("/version").Do(ctx).Raw()
	if err != nil {
		return a, classify("ask the cluster's version", err)
	}
	a.Kubernetes = gitVersion(v)
	p := t.platform(ctx)
	a.KubeVirt, a.CDI = p.virt.Version, p.cdi.Version
	return a, nil
}
