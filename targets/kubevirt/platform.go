package kubevirt

import (
	"context"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	virt "kubevirt.io/api/core/v1"
	sdk "kubevirt.io/controller-lifecycle-operator-sdk/api"
)

// platform is what runs VMs and fills volumes in the cluster.
type platform struct {
	virtVersion, cdiVersion string
	virtReady, cdiReady     bool
	virtUnknown, cdiUnknown error // why it could not be looked up
	groups                  map[string]bool
	groupsErr               error
}

// groups are the API groups that the cluster serves.
func (t *Target) groups(ctx context.Context) (map[string]bool, error) {
	var list metav1.APIGroupList
	if err := t.discovery.RESTClient().Get().AbsPath("/apis").Do(ctx).Into(&list); err != nil {
		return nil, classify("list the API groups", err)
	}
	g := make(map[string]bool, len(list.Groups))
	for _, x := range list.Groups {
		g[x.Name] = true
	}
	return g, nil
}

func (t *Target) platform(ctx context.Context) platform {
	var p platform
	p.groups, p.groupsErr = t.groups(ctx)
	if p.groupsErr != nil {
		p.virtUnknown, p.cdiUnknown = p.groupsErr, p.groupsErr
		return p
	}
	if p.groups[machines.Group] {
		t.virtHealth(ctx, &p)
	}
	if p.groups["cdi.kubevirt.io"] {
		t.cdiHealth(ctx, &p)
	}
	return p
}

func (t *Target) virtHealth(ctx context.Context, p *platform) {
	list, err := t.virt.KubeVirts(metav1.NamespaceAll).List(ctx, metav1.ListOptions{})
	if err != nil {
		p.virtUnknown = classify("list kubevirts", err)
		// Who may not see the installation may still ask its API for the version.
		if raw, err := t.discovery.RESTClient().Get().AbsPath("/apis/subresources.kubevirt.io/v1/version").Do(ctx).Raw(); err == nil {
			p.virtVersion = gitVersion(raw)
		}
		return
	}
	for _, k := range list.Items {
		p.virtVersion = bounded(k.Status.ObservedKubeVirtVersion, 64)
		ready := k.Status.Phase == virt.KubeVirtPhaseDeployed
		for _, c := range k.Status.Conditions {
			if c.Type == virt.KubeVirtConditionAvailable && c.Status != corev1.ConditionTrue {
				ready = false
			}
		}
		if p.virtReady = ready; ready {
			return
		}
	}
}

func (t *Target) cdiHealth(ctx context.Context, p *platform) {
	list, err := t.cdi.CDIs().List(ctx, metav1.ListOptions{})
	if err != nil {
		p.cdiUnknown = classify("list cdis", err)
		return
	}
	for _, c := range list.Items {
		p.cdiVersion = bounded(c.Status.ObservedVersion, 64)
		if p.cdiReady = c.Status.Phase == sdk.PhaseDeployed; p.cdiReady {
			return
		}
	}
}

// readsZstd tells whether a release of CDI is known to read zstd: from 1.58 on.
func readsZstd(version string) bool {
	parts := strings.SplitN(strings.TrimPrefix(version, "v"), ".", 3)
	if len(parts) < 2 {
		return false
	}
	major, err1 := strconv.Atoi(parts[0])
	minor, err2 := strconv.Atoi(parts[1])
	return err1 == nil && err2 == nil && (major > 1 || major == 1 && minor >= 58)
}
