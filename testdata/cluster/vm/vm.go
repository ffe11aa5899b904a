// Package vm is the lab's layer vm: the real virt-api and virt-controller with KubeVirt's own roles, webhooks and aggregated
// APIs, and a node that is played by kwok, with a virt-handler that is played by stages of our own: an instance there runs
// as soon as its pod does, and nothing is in it.
package vm

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"landfall/testdata/cluster/build"
	"landfall/testdata/cluster/control"
	"landfall/testdata/cluster/lab"
)

const (
	namespace = "kubevirt"
	version   = "v1.7.0"
	// address is where virt-api serves. Endpoints of a service may not be loopback addresses, so that the loopback device
	// has one more that is none.
	address = "10.250.0.1"
)

var (
	versionFlags = "-X kubevirt.io/client-go/version.gitVersion=" + version

	virtAPI   = build.Program{Name: "virt-api", Pins: "kubevirt", Package: "kubevirt.io/kubevirt/cmd/virt-api", Flags: versionFlags, Cost: 280}
	virtCtl   = build.Program{Name: "virt-controller", Pins: "kubevirt", Package: "kubevirt.io/kubevirt/cmd/virt-controller", Flags: versionFlags, Cost: 29}
	manifests = build.Program{Name: "kubevirt-manifests", Pins: "kubevirt", Package: "./manifests", Cost: 83}
	kwok      = build.Program{Name: "kwok", Pins: "kwok", Package: "sigs.k8s.io/kwok/cmd/kwok", Cost: 159}
)

// Programs are what the layer is made of.
var Programs = []build.Program{virtAPI, virtCtl, manifests, kwok}

// Up starts the layer.
func Up(ctx context.Context, l *lab.Lab, b build.Builder) error {
	path := map[string]string{}
	for _, p := range Programs {
		var err error
		if path[p.Name], err = b.Path(p); err != nil {
			return err
		}
	}
	if err := lab.AddAddress(address); err != nil {
		return err
	}
	a, err := control.OpenAuthority(l.Path("pki"))
	if err != nil {
		return err
	}
	crt, key, err := a.Issue("virt-api", "virt-api", nil, address, "virt-api.kubevirt.svc", "virt-api.kubevirt.pod.cluster.local")
	if err != nil {
		return err
	}
	services, later, err := install(ctx, l, a, path["kubevirt-manifests"])
	if err != nil {
		return err
	}
	if err := l.Start(lab.Process{Name: "virt-api", Env: []string{"KUBECONFIG=" + control.Kubeconfig(l, "virt-api")}, Argv: []string{path["virt-api"],
		"--kubeconfig", control.Kubeconfig(l, "virt-api"), "--listen", address, "--port", "8443", "--console-server-port", "8186", "--subresources-only",
		"--tls-cert-file", crt, "--tls-key-file", key, "--handler-cert-file", crt, "--handler-key-file", key}}); err != nil {
		return err
	}
	if err := startHandler(l, path["kwok"]); err != nil {
		return err
	}
	if err := control.Apply(ctx, l, services...); err != nil {
		return err
	}
	if err := l.Until(ctx, "virt-api serves", 2*time.Minute, func(ctx context.Context) error { return served(ctx, l) }); err != nil {
		return err
	}
	// Its webhooks refuse what it does not answer for, and preferences pass them.
	if err := control.Apply(ctx, l, later...); err != nil {
		return err
	}
	if err := l.Start(lab.Process{Name: "virt-controller", Argv: []string{path["virt-controller"],
		"--kubeconfig", control.Kubeconfig(l, "virt-controller"), "--launcher-image", Launcher, "--exporter-image", Launcher, "--listen", address, "--port", "8444",
		"--prom-cert-file", crt, "--prom-key-file", key}}); err != nil {
		return err
	}
	return l.Until(ctx, "virt-controller leads", 2*time.Minute, func(ctx context.Context) error { return leads(ctx, l) })
}

// Launcher is the image of the pods that virt-controller makes for instances. A node of the layer data has one of this name.
const Launcher = "lab/virt-launcher:" + version

// served looks whether the API server reaches virt-api.
func served(ctx context.Context, l *lab.Lab) error {
	c, err := control.Config(l)
	if err != nil {
		return err
	}
	h, err := rest.HTTPClientFor(c)
	if err != nil {
		return err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, control.Server+"/apis/subresources.kubevirt.io/v1/version", nil)
	if err != nil {
		return err
	}
	a, err := h.Do(r)
	if err != nil {
		return err
	}
	defer a.Body.Close()
	var v struct {
		GitVersion string `json:"gitVersion"`
	}
	if err := json.NewDecoder(a.Body).Decode(&v); err != nil || a.StatusCode != http.StatusOK {
		return fmt.Errorf("it answers %s; see logs virt-api", a.Status)
	}
	return nil
}

// leads looks whether virt-controller has the lease that only one of them has.
func leads(ctx context.Context, l *lab.Lab) error {
	c, err := control.Config(l)
	if err != nil {
		return err
	}
	d, err := dynamic.NewForConfig(c)
	if err != nil {
		return err
	}
	lease, err := d.Resource(schema.GroupVersionResource{Group: "coordination.k8s.io", Version: "v1", Resource: "leases"}).Namespace(namespace).
		Get(ctx, "virt-controller", metav1.GetOptions{})
	if err != nil {
		return fmt.Errorf("%w; see logs virt-controller", err)
	}
	renewed, _, _ := unstructured.NestedString(lease.Object, "spec", "renewTime")
	at, err := time.Parse(time.RFC3339Nano, renewed)
	if err != nil || time.Since(at) > 15*time.Second {
		return fmt.Errorf("its lease was renewed last at %q; see logs virt-controller", renewed)
	}
	return nil
}
