package main

import (
	"maps"
	"testing"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	virt "kubevirt.io/api/core/v1"
)

func TestWantedPorts(t *testing.T) {
	endpoints := func(address string, protocol corev1.Protocol, port int32) discoveryv1.EndpointSlice {
		return discoveryv1.EndpointSlice{Endpoints: []discoveryv1.Endpoint{{Addresses: []string{address}}}, Ports: []discoveryv1.EndpointPort{{Port: &port, Protocol: &protocol}}}
	}
	list := []discoveryv1.EndpointSlice{endpoints("10.244.1.7", corev1.ProtocolTCP, 80), endpoints("10.244.1.7", corev1.ProtocolUDP, 53),
		endpoints("10.244.1.8", corev1.ProtocolTCP, 22), endpoints("10.244.1.7", corev1.ProtocolSCTP, 9)}
	for _, c := range []struct {
		what string
		only []virt.Port
		want map[string]bool
	}{
		{"all that services lead to", nil, map[string]bool{"tcp:80": true, "udp:53": true}},
		{"those that the interface names", []virt.Port{{Port: 80}, {Port: 443}}, map[string]bool{"tcp:80": true}},
	} {
		if got := wanted(list, "10.244.1.7", c.only); !maps.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", c.what, got, c.want)
		}
	}
}
