package kubevirt

import (
	"context"
	"fmt"
	"net"
	"net/url"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	cdi "kubevirt.io/containerized-data-importer-api/pkg/apis/core/v1beta1"

	"landfall/engine/fault"
)

const (
	proxyService = "cdi-uploadproxy"
	proxyLabel   = "cdi.kubevirt.io=" + proxyService
)

// endpoint is a way to CDI's upload proxy.
type endpoint struct {
	name       string // as a person knows it
	base       string // URL
	serverName string // that its certificate must bear
	namespace  string // CDI's, where known
	inCluster  bool   // reached through the API server
	dial       func(ctx context.Context) (net.Conn, error)
}

// cdiConfig is CDI's configuration, nil where it may not be read.
func (t *Target) cdiConfig(ctx context.Context) (*cdi.CDIConfig, error) {
	c, err := t.cdi.CDIConfigs().Get(ctx, "config", metav1.GetOptions{})
	if err != nil {
		return nil, classify("read CDI's configuration", err)
	}
	return c, nil
}

// endpoint finds the way: the spec's word, else what CDI publishes, else through the API server.
func (t *Target) endpoint(ctx context.Context, config *cdi.CDIConfig) (endpoint, error) {
	address := t.dest.UploadProxy.URL
	if address == "" && config != nil && config.Status.UploadProxyURL != nil {
		address = *config.Status.UploadProxyURL
	}
	if address == "" && config != nil && config.Spec.UploadProxyURLOverride != nil {
		address = *config.Spec.UploadProxyURLOverride
	}
	if address != "" {
		return direct(address)
	}
	return t.forwarded(ctx)
}

func direct(address string) (endpoint, error) {
	if !strings.Contains(address, "://") {
		address = "https://" + address
	}
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "https" || u.Hostname() == "" {
		return endpoint{}, fault.Newf(fault.Blocked, fault.Refused, "upload proxy %q is not an https address", bounded(address, 256))
	}
	host := net.JoinHostPort(u.Hostname(), orPort(u.Port()))
	dialer := &net.Dialer{Timeout: 15 * time.Second, KeepAlive: 15 * time.Second}
	return endpoint{
		name: host, base: "https://" + host + strings.TrimSuffix(u.Path, "/"), serverName: u.Hostname(),
		namespace: serviceNamespace(u.Hostname()),
		dial:      func(ctx context.Context) (net.Conn, error) { return dialer.DialContext(ctx, "tcp", host) },
	}, nil
}

func orPort(p string) string {
	if p == "" {
		return "443"
	}
	return p
}

// serviceNamespace reads CDI's namespace from a name within the cluster, "cdi-uploadproxy.cdi.svc".
func serviceNamespace(host string) string {
	parts := strings.Split(host, ".")
	if len(parts) >= 3 && parts[0] == proxyService && parts[2] == "svc" {
		return parts[1]
	}
	return ""
}

// forwarded goes through the API server to a running pod of the upload proxy.
func (t *Target) forwarded(ctx context.Context) (endpoint, error) {
	ns, err := t.cdiNamespace(ctx)
	if err != nil {
		return endpoint{}, err
	}
	what := "find the upload proxy's pod in namespace " + ns
	pods, err := t.core.Pods(ns).List(ctx, metav1.ListOptions{LabelSelector: proxyLabel})
	if err != nil {
		return endpoint{}, fault.Hint(classify(what, err), "or set spec.destination.uploadProxy.url to an address of the upload proxy that this host reaches")
	}
	for _, p := range pods.Items {
		if p.Status.Phase != "Running" || p.DeletionTimestamp != nil {
			continue
		}
		port := 8443
		for _, c := range p.Spec.Containers {
			if len(c.Ports) > 0 {
				port = int(c.Ports[0].ContainerPort)
			}
		}
		name := fmt.Sprintf("pod %s/%s through the API server", ns, p.Name)
		return endpoint{
			name: name, base: "https://" + proxyService + "." + ns + ".svc", serverName: proxyService + "." + ns + ".svc",
			namespace: ns, inCluster: true,
			dial: func(ctx context.Context) (net.Conn, error) { return t.forward(ctx, ns, p.Name, port) },
		}, nil
	}
	return endpoint{}, fault.Hint(fault.Newf(fault.Transient, fault.Unreachable, "%s: none is running", what), "is CDI healthy? its uploadproxy deployment must be available")
}

// cdiNamespace finds where CDI lives: by looking everywhere, else in the places where it is usually installed.
func (t *Target) cdiNamespace(ctx context.Context) (string, error) {
	all, err := t.core.Services(metav1.NamespaceAll).List(ctx, metav1.ListOptions{LabelSelector: proxyLabel})
	if err == nil {
		for _, s := range all.Items {
			return s.Namespace, nil
		}
	}
	for _, ns := range []string{"cdi", "openshift-cnv", "kubevirt", "kubevirt-hyperconverged", "harvester-system"} {
		if _, err := t.core.Services(ns).Get(ctx, proxyService, metav1.GetOptions{}); err == nil {
			return ns, nil
		}
	}
	if err == nil {
		err = fault.Newf(fault.Blocked, fault.Unsupported, "no service %s is in the cluster", proxyService)
	}
	return "", fault.Hint(classify("find CDI's upload proxy", err), "set spec.destination.uploadProxy.url")
}
