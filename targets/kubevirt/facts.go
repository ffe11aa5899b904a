package kubevirt

import (
	"context"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"landfall/engine/fault"
	"landfall/targets"
)

// Facts looks up what the rules need, all at once. Only a connection that ended is an error; every other failure leaves
// its own fact unknown.
func (t *Target) Facts(ctx context.Context, q targets.Question) (targets.Facts, error) {
	l := lookup{Target: t, q: q, facts: targets.Facts{
		Taken: t.now(), About: targets.About{Context: t.context, Server: t.config.Host}, Unknown: map[string]string{},
	}}
	var wg sync.WaitGroup
	for name, look := range map[string]func(context.Context) error{
		targets.FactAccess: l.access, targets.FactKubernetes: l.kubernetes, targets.FactKubeVirt: l.platform, targets.FactNamespace: l.namespace,
		targets.FactClasses: l.storage, targets.FactNetworks: l.networks, targets.FactMACs: l.macs, targets.FactName: l.name, targets.FactKVM: l.kvm, targets.FactQuota: l.quota,
	} {
		wg.Go(func() {
			if err := look(ctx); err != nil {
				l.unknown(name, err)
			}
		})
	}
	wg.Wait()
	if err := ctx.Err(); err != nil {
		return l.facts, classify("look up facts", err)
	}
	if l.lost != nil {
		return l.facts, l.lost
	}
	return l.facts, nil
}

// lookup is one round of looking up. Parts run side by side and write under its lock.
type lookup struct {
	*Target
	q     targets.Question
	mu    sync.Mutex
	facts targets.Facts
	lost  error // the credentials or the connection, not the fact, are the matter
}

func (l *lookup) set(f func(*targets.Facts)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	f(&l.facts)
}

func (l *lookup) unknown(fact string, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.facts.Unknown[fact] = bounded(err.Error(), 512)
	if l.lost == nil && (fault.Is(err, fault.WrongCredentials) || fault.Is(err, fault.Certificate) || fact == targets.FactKubernetes && fault.Is(err, fault.Unreachable)) {
		l.lost = err
	}
}

func (l *lookup) access(ctx context.Context) error {
	d, err := l.denied(ctx, l.q.Namespace, l.q.Delivery)
	l.set(func(f *targets.Facts) { f.Denied = d })
	return err
}

func (l *lookup) kubernetes(ctx context.Context) error {
	raw, err := l.discovery.RESTClient().Get().AbsPath("/version").Do(ctx).Raw()
	if err != nil {
		return classify("ask the cluster's version", err)
	}
	l.set(func(f *targets.Facts) { f.About.Kubernetes = gitVersion(raw) })
	return nil
}

func (l *lookup) platform(ctx context.Context) error {
	p := l.Target.platform(ctx)
	l.set(func(f *targets.Facts) {
		f.About.KubeVirt, f.About.CDI = p.virtVersion, p.cdiVersion
		f.KubeVirtReady, f.CDIReady = p.virtReady, p.cdiReady
	})
	if p.cdiUnknown != nil {
		l.unknown(targets.FactCDI, p.cdiUnknown)
	}
	return p.virtUnknown
}

func (l *lookup) namespace(ctx context.Context) error {
	_, err := l.core.Namespaces().Get(ctx, l.q.Namespace, metav1.GetOptions{})
	if absent(err) {
		return nil
	}
	if err != nil {
		return classify("look at namespace "+l.q.Namespace, err)
	}
	l.set(func(f *targets.Facts) { f.NamespaceExists = true })
	return nil
}
