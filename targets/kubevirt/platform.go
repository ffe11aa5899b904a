package kubevirt

import (
	"context"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	virt "kubevirt.io/api/core/v1"
	sdk "kubevirt.io/controller-lifecycle-operator-sdk/api"

	"landfall/targets"
)

// platform is what runs VMs and fills volumes in the cluster.
type platform struct {
	virt, cdi               targets.Component
	emulation               bool
	virtUnknown, cdiUnknown error // why it could not be looked up
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
	groups, err := t.groups(ctx)
	if err != nil {
		p.virtUnknown, p.cdiUnknown = err, err
		return p
	}
	if p.virt.Served = groups[machines.Group]; p.virt.Served {
		t.virtHealth(ctx, &p)
	}
	if p.cdi.Served = groups["cdi.kubevirt.io"]; p.cdi.Served {
		t.cdiHealth(ctx, &p)
	}
	judgeRelease(&p.virt, virtMinimum, virtFeatures)
	judgeRelease(&p.cdi, cdiMinimum, cdiFeatures)
	return p
}

func (t *Target) virtHealth(ctx context.Context, p *platform) {
	list, err := t.virt.KubeVirts(metav1.NamespaceAll).List(ctx, metav1.ListOptions{})
	if err != nil {
		p.virtUnknown = classify("list kubevirts", err)
		// Who may not see the installation may still ask its API for the version.
		if raw, err := t.discovery.RESTClient().Get().AbsPath("/apis/subresources.kubevirt.io/v1/version").Do(ctx).Raw(); err == nil {
			p.virt.Version = gitVersion(raw)
		}
		return
	}
	if len(list.Items) == 0 {
		p.virt.Wrong = []string{"its API is served, but there is no KubeVirt object: nothing is installed by it"}
	}
	for _, k := range list.Items {
		h := health{phase: string(k.Status.Phase), want: string(virt.KubeVirtPhaseDeployed)}
		for _, c := range k.Status.Conditions {
			h.see(string(c.Type), c.Status, c.Reason, c.Message)
		}
		p.virt.Version = bounded(k.Status.ObservedKubeVirtVersion, 64)
		p.virt.Ready, p.virt.Wrong = h.ready(), h.wrong()
		if d := k.Spec.Configuration.DeveloperConfiguration; d != nil {
			p.emulation = d.UseEmulation
		}
		if p.virt.Ready {
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
	if len(list.Items) == 0 {
		p.cdi.Wrong = []string{"its API is served, but there is no CDI object: nothing is installed by it"}
	}
	for _, c := range list.Items {
		h := health{phase: string(c.Status.Phase), want: string(sdk.PhaseDeployed)}
		for _, c := range c.Status.Conditions {
			h.see(string(c.Type), c.Status, c.Reason, c.Message)
		}
		p.cdi.Version = bounded(c.Status.ObservedVersion, 64)
		p.cdi.Ready, p.cdi.Wrong = h.ready(), h.wrong()
		if p.cdi.Ready {
			return
		}
	}
}

// health is what an operator says of its component.
type health struct {
	phase, want string
	unavailable bool
	lines       []string
}

// see takes in one condition: both operators use Available, Progressing and Degraded.
func (h *health) see(kind string, status corev1.ConditionStatus, reason, message string) {
	bad := status == corev1.ConditionTrue && (kind == "Degraded" || kind == "Progressing") || status != corev1.ConditionTrue && kind == "Available"
	if !bad {
		return
	}
	h.unavailable = h.unavailable || kind == "Available"
	words := strings.Trim(bounded(reason, 128)+": "+bounded(message, 512), ": ")
	h.lines = append(h.lines, strings.TrimSuffix(fmt.Sprintf("%s is %s: %s", kind, status, words), ": "))
}

func (h *health) ready() bool { return h.phase == h.want && !h.unavailable }

func (h *health) wrong() []string {
	if h.phase == h.want {
		return h.lines
	}
	return append([]string{"phase is " + orNone(h.phase)}, h.lines...)
}
