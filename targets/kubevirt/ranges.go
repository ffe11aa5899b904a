package kubevirt

import (
	"context"
	"errors"
	"net/netip"
	"slices"
	"strings"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"landfall/engine/fault"
	"landfall/targets"
)

var (
	serviceCIDRs  = schema.GroupVersionResource{Group: "networking.k8s.io", Version: "v1", Resource: "servicecidrs"}
	clusterConfig = schema.GroupVersionResource{Group: "config.openshift.io", Version: "v1", Resource: "networks"}
)

// errSilent is a place that was read and tells nothing.
var errSilent = errors.New("no ServiceCIDR object, kubeadm configuration, OpenShift network or node tells it")

// podRanges gathers the pods' addresses from the several places that may tell them.
type podRanges struct {
	mu    sync.Mutex
	found []string
	errs  []error
}

func (p *podRanges) see(list []string, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.found = append(p.found, list...)
	if err != nil {
		p.errs = append(p.errs, err)
	}
}

// podRanges says at the end what was found of the pods' addresses.
func (l *lookup) podRanges() {
	found := prefixes(l.pods.found)
	l.set(func(f *targets.Facts) { f.Ranges.Pods = found })
	var err error
	if len(found) == 0 {
		err = errors.Join(append(l.pods.errs, errSilent)...)
	}
	l.done(targets.FactPods, err)
}

// ranges looks for the services' addresses, and on the way for the pods': in the objects of newer clusters, in what kubeadm
// keeps, in what OpenShift keeps. One that tells is enough.
func (l *lookup) ranges(ctx context.Context) error {
	var services []string
	var errs []error
	for _, look := range []func(context.Context) (pods, services []string, err error){l.serviceCIDRs, l.kubeadm, l.openshift} {
		p, s, err := look(ctx)
		if fault.Is(err, fault.NotFound) || fault.Is(err, fault.Unsupported) {
			err = nil // another kind of cluster
		}
		l.pods.see(p, err)
		services = append(services, s...)
		if err != nil {
			errs = append(errs, err)
		}
	}
	found := prefixes(services)
	l.set(func(f *targets.Facts) { f.Ranges.Services = found })
	if len(found) == 0 {
		return errors.Join(append(errs, errSilent)...)
	}
	return nil
}

func (l *lookup) serviceCIDRs(ctx context.Context) (_, services []string, err error) {
	list, err := l.dynamic.Resource(serviceCIDRs).List(ctx, metav1.ListOptions{Limit: 100})
	if err != nil {
		return nil, nil, classify("list servicecidrs", err)
	}
	for _, u := range list.Items {
		cidrs, _, _ := unstructured.NestedStringSlice(u.Object, "spec", "cidrs")
		services = append(services, cidrs...)
	}
	return nil, services, nil
}

func (l *lookup) kubeadm(ctx context.Context) (pods, services []string, err error) {
	m, err := l.core.ConfigMaps(metav1.NamespaceSystem).Get(ctx, "kubeadm-config", metav1.GetOptions{})
	if err != nil {
		return nil, nil, classify("look at configmap kube-system/kubeadm-config", err)
	}
	var c struct {
		Networking struct{ PodSubnet, ServiceSubnet string }
	}
	if err := yaml.Unmarshal([]byte(m.Data["ClusterConfiguration"]), &c); err != nil {
		return nil, nil, fault.Newf(fault.Blocked, fault.Unsupported, "read configmap kube-system/kubeadm-config: %w", err)
	}
	return strings.Split(c.Networking.PodSubnet, ","), strings.Split(c.Networking.ServiceSubnet, ","), nil
}

func (l *lookup) openshift(ctx context.Context) (pods, services []string, err error) {
	u, err := l.dynamic.Resource(clusterConfig).Get(ctx, "cluster", metav1.GetOptions{})
	if err != nil {
		return nil, nil, classify("look at networks.config.openshift.io cluster", err)
	}
	services, _, _ = unstructured.NestedStringSlice(u.Object, "status", "serviceNetwork")
	networks, _, _ := unstructured.NestedSlice(u.Object, "status", "clusterNetwork")
	for _, n := range networks {
		if m, ok := n.(map[string]any); ok {
			cidr, _ := m["cidr"].(string)
			pods = append(pods, cidr)
		}
	}
	return pods, services, nil
}

// prefixes gives each range once, in order, without those that lie within another; what is no address is left out.
func prefixes(list []string) []string {
	var found []netip.Prefix
	for _, s := range list {
		s = strings.TrimSpace(s)
		p, err := netip.ParsePrefix(s)
		if err != nil {
			a, err := netip.ParseAddr(s)
			if err != nil {
				continue
			}
			a = a.Unmap().WithZone("")
			p = netip.PrefixFrom(a, a.BitLen())
		}
		found = append(found, p.Masked())
	}
	slices.SortFunc(found, func(a, b netip.Prefix) int {
		if c := a.Addr().Compare(b.Addr()); c != 0 {
			return c
		}
		return a.Bits() - b.Bits() // the wider one first
	})
	var out []string
	var last netip.Prefix
	for _, p := range found {
		if last.IsValid() && last.Overlaps(p) {
			continue
		}
		last = p
		out = append(out, p.String())
	}
	return out
}
