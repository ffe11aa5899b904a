package preflight

import (
	"fmt"
	"net/netip"
	"strings"

	"landfall/targets"
)

// guestNetwork is what KubeVirt gives a guest behind masquerade, unless it is told otherwise.
var guestNetwork = netip.MustParsePrefix("10.0.2.0/24")

// overlaps finds addresses of ours that the cluster has too: the network behind masquerade, and the source's own address.
func overlaps(f Facts) (hits []hit) {
	if f.Target == nil {
		return nil
	}
	var masked []string
	for i, n := range f.VM.NICs {
		if m, ok := f.Spec.NetworkFor(n); ok && m.Type == "Pod" && m.Binding == "masquerade" {
			masked = append(masked, nicName(i))
		}
	}
	host := sourceAddress(f.Spec.Source.Address)
	if len(masked) == 0 && !host.IsValid() {
		return nil
	}
	for _, r := range []struct {
		what, fact string
		nets       []string
	}{
		{"pods", targets.FactPods, f.Target.Ranges.Pods}, {"services", targets.FactServices, f.Target.Ranges.Services}, {"nodes", targets.FactNodes, f.Target.Ranges.Nodes},
	} {
		if why := f.Target.Unknown[r.fact]; why != "" && len(r.nets) == 0 {
			hits = append(hits, hit{subject: r.what, found: "could not check: " + why, unchecked: true})
			continue
		}
		for _, text := range r.nets {
			p, err := netip.ParsePrefix(text)
			if err != nil {
				continue
			}
			for _, n := range masked {
				if p.Overlaps(guestNetwork) {
					hits = append(hits, hit{subject: n + ", " + r.what + " " + text, found: fmt.Sprintf("the guest's network %s overlaps the %s of the cluster, %s", guestNetwork, r.what, text)})
				}
			}
			if host.IsValid() && r.what != "nodes" && p.Contains(host) {
				hits = append(hits, hit{subject: "source, " + r.what + " " + text, found: fmt.Sprintf("the source's address %s lies in the %s of the cluster, %s", host, r.what, text)})
			}
		}
	}
	return hits
}

// sourceAddress is the address of an endpoint that is given by one, not by a name.
func sourceAddress(address string) netip.Addr {
	a := strings.TrimPrefix(strings.TrimSpace(address), "https://")
	a, _, _ = strings.Cut(a, "/")
	if p, err := netip.ParseAddrPort(a); err == nil {
		return p.Addr()
	}
	ip, err := netip.ParseAddr(strings.Trim(a, "[]"))
	if err != nil {
		return netip.Addr{}
	}
	return ip
}
