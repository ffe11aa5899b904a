package kubesim

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
)

// seedLimit makes a LimitRange of claims.
func (s *Server) seedLimit(t tx, l Limit) {
	o := newObject(&limitranges, l.Namespace, l.Name)
	line := object{"type": "PersistentVolumeClaim"}
	if l.Min != "" {
		set(line, l.Min, "min", "storage")
	}
	if l.Max != "" {
		set(line, l.Max, "max", "storage")
	}
	o["spec"] = object{"limits": []any{line}}
	t.ensure(&limitranges, o)
}

// seedRanges tells the cluster's addresses in the way of its kind.
func (s *Server) seedRanges(t tx) {
	r := s.cfg.Ranges
	switch r.As {
	case AsObjects:
		o := newObject(&serviceCIDRs, "", "kubernetes")
		o["spec"] = object{"cidrs": anys(r.Services)}
		t.ensure(&serviceCIDRs, o)
		for i, n := range s.cfg.Nodes {
			if parts := nodeRanges(r.Pods, i); len(parts) > 0 {
				t.edit(&nodes, t.get(&nodes, "", n.Name), func(o object) {
					set(o, parts[0], "spec", "podCIDR")
					set(o, anys(parts), "spec", "podCIDRs")
				})
			}
		}
	case AsKubeadm:
		o := newObject(&configmaps, "kube-system", "kubeadm-config")
		set(o, fmt.Sprintf("apiVersion: kubeadm.k8s.io/v1beta4\nkind: ClusterConfiguration\nnetworking:\n  dnsDomain: cluster.local\n  podSubnet: %s\n  serviceSubnet: %s\n",
			strings.Join(r.Pods, ","), strings.Join(r.Services, ",")), "data", "ClusterConfiguration")
		t.ensure(&configmaps, o)
	case AsOpenShift:
		var pods []any
		for _, p := range r.Pods {
			pods = append(pods, object{"cidr": p, "hostPrefix": int64(23)})
		}
		o := newObject(&ocpNetworks, "", "cluster")
		o["spec"] = object{"clusterNetwork": pods, "serviceNetwork": anys(r.Services)}
		o["status"] = object{"clusterNetwork": pods, "serviceNetwork": anys(r.Services), "networkType": "OVNKubernetes"}
		t.ensure(&ocpNetworks, o)
	}
}

// nodeRanges gives the part of each range that node i hands out: a /24 of an IPv4 range, a /64 of an IPv6 one.
func nodeRanges(pods []string, i int) []string {
	var out []string
	for _, text := range pods {
		p, err := netip.ParsePrefix(text)
		if err != nil {
			continue
		}
		at := p.Addr().AsSlice()
		bits := 24
		if p.Addr().Is6() {
			bits = 64
		}
		at[bits/8-1] += byte(i)
		a, _ := netip.AddrFromSlice(at)
		out = append(out, netip.PrefixFrom(a, bits).String())
	}
	return out
}

func (s *Server) labelNamespaces(t tx) {
	if s.cfg.PodSecurity == "" {
		return
	}
	for _, n := range t.list(&namespaces, "") {
		if slices.Contains(s.cfg.Namespaces, name(n)) {
			t.edit(&namespaces, n, func(o object) {
				set(o, s.cfg.PodSecurity, "metadata", "labels", "pod-security.kubernetes.io/enforce")
			})
		}
	}
}

func (s *Server) seedPreference(t tx, p Preference) {
	k := &clusterPrefs
	if p.Namespace != "" {
		k = &localPrefs
		s.ensureNamespace(t, p.Namespace)
	}
	o := newObject(k, p.Namespace, p.Name)
	o["spec"] = object{"devices": object{"preferredDiskBus": "virtio", "preferredInterfaceModel": "virtio"}}
	if p.TPM {
		set(o, object{"persistent": true}, "spec", "devices", "preferredTPM")
	}
	if p.CPUs > 0 {
		set(o, int64(p.CPUs), "spec", "requirements", "cpu", "guest")
	}
	if p.Memory != "" {
		set(o, p.Memory, "spec", "requirements", "memory", "guest")
	}
	t.ensure(k, o)
}
