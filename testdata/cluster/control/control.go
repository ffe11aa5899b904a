// Package control is the lab's layer api: etcd, the API server, the controller manager and the scheduler, with the kinds of
// KubeVirt and CDI. Nothing runs in it that would act on those kinds.
package control

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"strings"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"landfall/testdata/cluster/build"
	"landfall/testdata/cluster/lab"
)

const (
	// Server is the API server's address within the lab's network.
	Server = "https://127.0.0.1:6443"
	// Services is the range that services get their addresses from, and API the address that the API server has in it.
	Services, API = "10.96.0.0/16", "10.96.0.1"

	// Class is the storage class that binds at once, and WaitingClass the one that waits for a first consumer.
	Class, WaitingClass = "lab", "lab-waiting"

	etcdClients, etcdPeers = "http://127.0.0.1:2379", "http://127.0.0.1:2380"
)

const version = "v1.34.4"

var (
	versionFlags = "-X k8s.io/component-base/version.gitVersion=" + version + " -X k8s.io/component-base/version.gitMajor=1 -X k8s.io/component-base/version.gitMinor=34"

	etcd      = build.Program{Name: "etcd", Pins: "etcd", Package: "go.etcd.io/etcd/server/v3", Cost: 110}
	apiserver = build.Program{Name: "kube-apiserver", Pins: "kubernetes", Package: "k8s.io/kubernetes/cmd/kube-apiserver", Flags: versionFlags, Cost: 795}
	manager   = build.Program{Name: "kube-controller-manager", Pins: "kubernetes", Package: "k8s.io/kubernetes/cmd/kube-controller-manager", Flags: versionFlags, Cost: 258}
	scheduler = build.Program{Name: "kube-scheduler", Pins: "kubernetes", Package: "k8s.io/kubernetes/cmd/kube-scheduler", Flags: versionFlags, Cost: 33}
	virtKinds = build.Program{Name: "kubevirt-manifests", Pins: "kubevirt", Package: "./manifests", Cost: 83}
	cdiKinds  = build.Program{Name: "cdi-manifests", Pins: "cdi", Package: "./manifests", Cost: 2}
)

// Programs are what the layer is made of.
var Programs = []build.Program{etcd, apiserver, manager, scheduler, virtKinds, cdiKinds}

// Up starts the layer.
func Up(ctx context.Context, l *lab.Lab, b build.Builder) error {
	a, err := OpenAuthority(l.Path("pki"))
	if err != nil {
		return err
	}
	path := map[string]string{}
	for _, p := range Programs {
		if path[p.Name], err = b.Path(p); err != nil {
			return err
		}
	}
	if err := l.Start(lab.Process{Name: "etcd", Argv: []string{path["etcd"], "--data-dir", l.Path("etcd"), "--name", "lab", "--listen-client-urls", etcdClients,
		"--advertise-client-urls", etcdClients, "--listen-peer-urls", etcdPeers, "--initial-advertise-peer-urls", etcdPeers, "--initial-cluster", "lab=" + etcdPeers,
		"--log-level", "warn", "--unsafe-no-fsync"}}); err != nil {
		return err
	}
	if err := startAPI(l, a, path["kube-apiserver"]); err != nil {
		return err
	}
	if err := l.Until(ctx, "the API server is ready", 3*time.Minute, func(ctx context.Context) error { return healthy(ctx, l) }); err != nil {
		return err
	}
	if err := l.Start(lab.Process{Name: "kube-controller-manager", Argv: []string{path["kube-controller-manager"], "--kubeconfig", Kubeconfig(l, "controller-manager"),
		"--service-account-private-key-file", a.Path("accounts.key"), "--root-ca-file", a.Path("ca.crt"), "--use-service-account-credentials=false", "--leader-elect=false",
		"--cluster-signing-cert-file", a.Path("ca.crt"), "--cluster-signing-key-file", a.Path("ca.key"), "--bind-address", "127.0.0.1",
		"--cert-dir", l.Path("pki", "manager"), "--controllers", "*,-nodeipam,-cloud-node-lifecycle-controller,-service-lb-controller,-node-route-controller"}}); err != nil {
		return err
	}
	if err := l.Start(lab.Process{Name: "kube-scheduler", Argv: []string{path["kube-scheduler"], "--kubeconfig", Kubeconfig(l, "scheduler"), "--leader-elect=false",
		"--bind-address", "127.0.0.1", "--cert-dir", l.Path("pki", "scheduler"), "--authentication-skip-lookup"}}); err != nil {
		return err
	}
	if err := kinds(ctx, l, path["kubevirt-manifests"], path["cdi-manifests"]); err != nil {
		return err
	}
	for class, binding := range map[string]string{Class: "Immediate", WaitingClass: "WaitForFirstConsumer"} {
		if err := Apply(ctx, l, Object("{apiVersion: storage.k8s.io/v1, kind: StorageClass, metadata: {name: %s}, provisioner: kubernetes.io/no-provisioner, reclaimPolicy: Delete, volumeBindingMode: %s}", class, binding)); err != nil {
			return err
		}
	}
	return nil
}

func startAPI(l *lab.Lab, a *Authority, program string) error {
	tokens, err := tokens(l, a)
	if err != nil {
		return err
	}
	key, err := a.accountKey()
	if err != nil {
		return err
	}
	crt, crtKey, err := a.Issue("apiserver", "kube-apiserver", nil, "127.0.0.1", API, "localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc")
	if err != nil {
		return err
	}
	front, frontKey, err := a.Issue("front-proxy", "front-proxy", nil)
	if err != nil {
		return err
	}
	kubelet, kubeletKey, err := a.Issue("kubelet-client", "kubelet-client", []string{"system:masters"})
	if err != nil {
		return err
	}
	return l.Start(lab.Process{Name: "kube-apiserver", Argv: []string{program,
		"--etcd-servers", etcdClients, "--bind-address", "0.0.0.0", "--advertise-address", "127.0.0.1", "--secure-port", "6443",
		"--tls-cert-file", crt, "--tls-private-key-file", crtKey, "--client-ca-file", a.Path("ca.crt"), "--token-auth-file", tokens,
		"--authorization-mode", "Node,RBAC", "--service-cluster-ip-range", Services, "--endpoint-reconciler-type", "none", "--allow-privileged",
		"--service-account-key-file", key, "--service-account-signing-key-file", key, "--service-account-issuer", "https://kubernetes.default.svc",
		"--enable-aggregator-routing", "--requestheader-client-ca-file", a.Path("ca.crt"), "--requestheader-allowed-names", "front-proxy",
		"--requestheader-extra-headers-prefix", "X-Remote-Extra-", "--requestheader-group-headers", "X-Remote-Group", "--requestheader-username-headers", "X-Remote-User",
		"--proxy-client-cert-file", front, "--proxy-client-key-file", frontKey,
		"--kubelet-client-certificate", kubelet, "--kubelet-client-key", kubeletKey, "--kubelet-preferred-address-types", "InternalIP"}})
}

// Config is the administrator's way to the API server.
func Config(l *lab.Lab) (*rest.Config, error) {
	c, err := clientcmd.BuildConfigFromFlags("", l.Kubeconfig())
	if err != nil {
		return nil, fmt.Errorf("the lab's kubeconfig: %w", err)
	}
	c.QPS, c.Burst = 200, 400
	return c, nil
}

func healthy(ctx context.Context, l *lab.Lab) error {
	c, err := Config(l)
	if err != nil {
		return err
	}
	c.Timeout = 5 * time.Second
	h, err := rest.HTTPClientFor(c)
	if err != nil {
		return err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, Server+"/readyz", nil)
	if err != nil {
		return err
	}
	a, err := h.Do(r)
	if err != nil {
		if p, e := l.Process("kube-apiserver"); e == nil && !p.Running() {
			return fmt.Errorf("it has ended; see %s: %s", l.Log("kube-apiserver"), lastLine(l.Log("kube-apiserver")))
		}
		return err
	}
	defer a.Body.Close()
	if a.StatusCode != http.StatusOK {
		return fmt.Errorf("it answers %s", a.Status)
	}
	return nil
}

func lastLine(path string) string {
	b, err := os.ReadFile(path)
	if err != nil {
		return err.Error()
	}
	lines := strings.Split(strings.TrimSpace(string(b)), "\n")
	return lines[len(lines)-1]
}
