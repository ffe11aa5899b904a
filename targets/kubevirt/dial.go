package kubevirt

import (
	"cmp"
	"context"
	"encoding/json"
	"net/http"
	"os"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	authorizationv1 "k8s.io/client-go/kubernetes/typed/authorization/v1"
	corev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	storagev1 "k8s.io/client-go/kubernetes/typed/storage/v1"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"
	cdiv1 "kubevirt.io/client-go/containerizeddataimporter/typed/core/v1beta1"
	uploadv1 "kubevirt.io/client-go/containerizeddataimporter/typed/upload/v1beta1"
	virtv1 "kubevirt.io/client-go/kubevirt/typed/core/v1"

	"landfall/engine/spec"
	"landfall/targets"
)

// Options are what a target takes from its surroundings. The zero value is the process's own.
type Options struct {
	Getenv  func(string) string
	Home    string
	Now     func() time.Time
	Timeout time.Duration // of one request; 0: 30 s
	// Stall is how long a delivery may go without a byte taken by the other side; 0: 5 min.
	Stall time.Duration
}

// quiet keeps the client libraries from writing to the terminal that the console draws on.
var quiet = sync.OnceFunc(func() { klog.SetLogger(logr.Discard()) })

// Dial connects to the cluster that the destination names and asks it for its version.
func Dial(ctx context.Context, d spec.Destination, o Options) (targets.Target, error) {
	quiet()
	if o.Getenv == nil {
		o.Getenv = os.Getenv
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Home == "" {
		o.Home, _ = os.UserHomeDir()
	}
	cfg, name, err := kubeconfig(d, o.Getenv, o.Home)
	if err != nil {
		return nil, err
	}
	cfg.Timeout = cmp.Or(o.Timeout, 30*time.Second)
	cfg.QPS, cfg.Burst = 50, 100
	cfg.UserAgent = "landfall"
	cfg.WarningHandler = rest.NoWarnings{}
	cfg.Wrap(func(next http.RoundTripper) http.RoundTripper { return settled{next} })
	if cfg.ExecProvider != nil {
		cfg.ExecProvider.StdinUnavailable = true
		cfg.ExecProvider.StdinUnavailableMessage = "landfall's engine runs without a terminal"
	}
	t := &Target{dest: d, context: name, config: cfg, now: o.Now, stall: cmp.Or(o.Stall, 5*time.Minute)}
	if err := t.clients(); err != nil {
		return nil, unusable("context %q: %w", name, err)
	}
	if _, err := t.discovery.RESTClient().Get().AbsPath("/version").Do(ctx).Raw(); err != nil {
		_ = t.Close()
		return nil, classify("connect to context "+name+" at "+cfg.Host, err)
	}
	return t, nil
}

func (t *Target) clients() (err error) {
	if t.http, err = rest.HTTPClientFor(t.config); err != nil {
		return err
	}
	// A limiter of one's own per client would multiply what the cluster is asked at once.
	c := rest.CopyConfig(t.config)
	c.RateLimiter = limiter(c.QPS, c.Burst)
	if t.discovery, err = discovery.NewDiscoveryClientForConfigAndClient(c, t.http); err != nil {
		return err
	}
	if t.dynamic, err = dynamic.NewForConfigAndClient(c, t.http); err != nil {
		return err
	}
	if t.core, err = corev1.NewForConfigAndClient(c, t.http); err != nil {
		return err
	}
	if t.storage, err = storagev1.NewForConfigAndClient(c, t.http); err != nil {
		return err
	}
	if t.access, err = authorizationv1.NewForConfigAndClient(c, t.http); err != nil {
		return err
	}
	if t.virt, err = virtv1.NewForConfigAndClient(c, t.http); err != nil {
		return err
	}
	if t.cdi, err = cdiv1.NewForConfigAndClient(c, t.http); err != nil {
		return err
	}
	t.upload, err = uploadv1.NewForConfigAndClient(c, t.http)
	return err
}

func gitVersion(raw []byte) string {
	var v struct {
		GitVersion string `json:"gitVersion"`
	}
	_ = json.Unmarshal(raw, &v)
	return bounded(v.GitVersion, 64)
}
