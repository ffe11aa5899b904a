package data

import (
	"context"
	"fmt"
	"time"

	"landfall/testdata/cluster/control"
	"landfall/testdata/cluster/data/dns"
	"landfall/testdata/cluster/lab"
)

// domain is the cluster's.
const domain = dns.Domain

// startServices lets pods and the lab's own processes reach services, by address and by name.
func startServices(ctx context.Context, l *lab.Lab, program string) error {
	kubeconfig, err := client(l, "kube-proxy", "system:kube-proxy", "")
	if err != nil {
		return err
	}
	config, err := write(l, "kube-proxy.yaml", fmt.Sprintf(`apiVersion: kubeproxy.config.k8s.io/v1alpha1
kind: KubeProxyConfiguration
mode: iptables
bindAddress: 0.0.0.0
healthzBindAddress: 127.0.0.1:10256
metricsBindAddress: 127.0.0.1:10249
clusterCIDR: %s
hostnameOverride: %s
clientConnection: {kubeconfig: %s}
# These are the machine's, and cannot be set from a namespace.
conntrack: {maxPerCore: 0, min: 0, tcpEstablishedTimeout: 0s, tcpCloseWaitTimeout: 0s}
iptables: {minSyncPeriod: 0s, syncPeriod: 30s}
`, Pods, NodeName, kubeconfig))
	if err != nil {
		return err
	}
	if err := l.Start(lab.Process{Name: "kube-proxy", Argv: []string{program, "--config", config}}); err != nil {
		return err
	}
	self, err := l.Self()
	if err != nil {
		return err
	}
	if err := l.Start(lab.Process{Name: "names", Argv: []string{self, "daemon", "names", Address + ":53"}, Env: []string{"KUBECONFIG=" + l.Kubeconfig()}}); err != nil {
		return err
	}
	// The API server does not say where it is itself, for it listens on all addresses of the namespace.
	if err := control.Apply(ctx, l, control.Object(`{apiVersion: discovery.k8s.io/v1, kind: EndpointSlice, metadata: {name: kubernetes, namespace: default, labels: {kubernetes.io/service-name: kubernetes}},
addressType: IPv4, ports: [{name: https, port: 6443, protocol: TCP}], endpoints: [{addresses: [%s], conditions: {ready: true}}]}`, Address)); err != nil {
		return err
	}
	return l.Until(ctx, "services have addresses and names", time.Minute, func(ctx context.Context) error {
		return dns.Look(ctx, Address+":53", "kubernetes.default.svc."+domain)
	})
}
