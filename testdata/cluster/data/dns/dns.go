// Package dns answers the names of services, as a cluster's CoreDNS does: <service>.<namespace>.svc.cluster.local, and every
// name below it, is the service's address, or those of its endpoints where it has none. It must not know what a service is for,
// and asks nobody but the API server: other names do not exist.
package dns

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"net/netip"
	"strings"
	"time"

	"golang.org/x/net/dns/dnsmessage"
	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

// Domain is the one that the names of services end in.
const Domain = "cluster.local"

// Look asks the server for a name; an error says that it has no address.
func Look(ctx context.Context, server, name string) error {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	r := net.Resolver{PreferGo: true, Dial: func(ctx context.Context, network, _ string) (net.Conn, error) {
		var d net.Dialer
		return d.DialContext(ctx, network, server)
	}}
	_, err := r.LookupHost(ctx, name+".")
	return err
}

type names struct{ core kubernetes.Interface }

// Serve answers at an address until the context ends.
func Serve(ctx context.Context, c *rest.Config, at string) error {
	k, err := kubernetes.NewForConfig(c)
	if err != nil {
		return err
	}
	n := names{k}
	packets, err := net.ListenPacket("udp", at)
	if err != nil {
		return fmt.Errorf("answer names: %w", err)
	}
	streams, err := net.Listen("tcp", at)
	if err != nil {
		return fmt.Errorf("answer names: %w", err)
	}
	context.AfterFunc(ctx, func() { packets.Close(); streams.Close() })
	go n.streams(ctx, streams)
	b := make([]byte, 4096)
	for {
		size, from, err := packets.ReadFrom(b)
		if err != nil {
			return ctx.Err()
		}
		go func(asked []byte) {
			if answer, err := n.answer(ctx, asked); err == nil {
				_, _ = packets.WriteTo(answer, from)
			}
		}(bytes.Clone(b[:size]))
	}
}

// answer is the answer to one message.
func (n names) answer(ctx context.Context, b []byte) ([]byte, error) {
	var p dnsmessage.Parser
	h, err := p.Start(b)
	if err != nil {
		return nil, err
	}
	q, err := p.Question()
	if err != nil {
		return nil, err
	}
	addresses, known, err := n.find(ctx, strings.ToLower(strings.TrimSuffix(q.Name.String(), ".")))
	head := dnsmessage.Header{ID: h.ID, Response: true, Authoritative: true, RecursionDesired: h.RecursionDesired, RecursionAvailable: true}
	switch {
	case err != nil:
		head.RCode = dnsmessage.RCodeServerFailure
	case !known:
		head.RCode = dnsmessage.RCodeNameError
	}
	m := dnsmessage.NewBuilder(nil, head)
	m.EnableCompression()
	if err := m.StartQuestions(); err != nil {
		return nil, err
	}
	if err := m.Question(q); err != nil {
		return nil, err
	}
	if err := m.StartAnswers(); err != nil {
		return nil, err
	}
	for _, a := range addresses {
		if q.Type != dnsmessage.TypeA || !a.Is4() {
			continue
		}
		if err := m.AResource(dnsmessage.ResourceHeader{Name: q.Name, Class: q.Class, TTL: 2}, dnsmessage.AResource{A: a.As4()}); err != nil {
			return nil, err
		}
	}
	return m.Finish()
}

// find gives the addresses of a name, and whether it exists.
func (n names) find(ctx context.Context, name string) (all []netip.Addr, known bool, err error) {
	rest, ok := strings.CutSuffix(name, ".svc."+Domain)
	parts := strings.Split(rest, ".")
	if !ok || len(parts) < 2 {
		return nil, false, nil
	}
	ns, service := parts[len(parts)-1], parts[len(parts)-2]
	s, err := n.core.CoreV1().Services(ns).Get(ctx, service, metav1.GetOptions{})
	if apierrors.IsNotFound(err) || apierrors.IsBadRequest(err) {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, err
	}
	if a, err := netip.ParseAddr(s.Spec.ClusterIP); err == nil {
		return []netip.Addr{a}, true, nil
	}
	slices, err := n.core.DiscoveryV1().EndpointSlices(ns).List(ctx, metav1.ListOptions{LabelSelector: discoveryv1.LabelServiceName + "=" + service})
	if err != nil {
		return nil, false, err
	}
	for _, slice := range slices.Items {
		for _, e := range slice.Endpoints {
			if e.Conditions.Ready != nil && !*e.Conditions.Ready {
				continue
			}
			for _, text := range e.Addresses {
				if a, err := netip.ParseAddr(text); err == nil {
					all = append(all, a)
				}
			}
		}
	}
	return all, true, nil
}
