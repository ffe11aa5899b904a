package kubevirt

import (
	"context"
	"sync"
	"time"

	"landfall/engine/fault"
	"landfall/targets"
)

// Facts looks up what the rules need, all at once. Only a connection that ended is an error; every other failure leaves
// its own fact unknown. However many VMs are asked for, each kind of object is listed once.
func (t *Target) Facts(ctx context.Context, q targets.Question) (targets.Facts, error) {
	l := lookup{Target: t, q: q, facts: targets.Facts{
		Taken: t.now(), About: targets.About{Context: t.context, Server: t.config.Host},
		Unknown: map[string]string{}, Looked: map[string]time.Time{},
	}}
	var wg sync.WaitGroup
	for name, look := range map[string]func(context.Context) error{
		targets.FactAccess: l.access, targets.FactKubernetes: l.kubernetes, targets.FactKubeVirt: l.platform, targets.FactNamespace: l.namespace,
		targets.FactClasses: l.storage, targets.FactNetworks: l.networks, targets.FactMACs: l.macs, targets.FactName: l.names,
		targets.FactKVM: l.nodes, targets.FactServices: l.ranges, targets.FactQuota: l.quota, targets.FactLimits: l.limits,
		targets.FactPreferences: l.preferences, targets.FactInstancetypes: l.instancetypes,
	} {
		wg.Go(func() { l.done(name, look(ctx)) })
	}
	wg.Wait()
	l.podRanges()
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
	pods  podRanges
}

func (l *lookup) set(f func(*targets.Facts)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	f(&l.facts)
}

// done notes when a fact was looked at, and where that failed, why it is unknown.
func (l *lookup) done(fact string, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.facts.Looked[fact] = l.now()
	if err == nil {
		return
	}
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
		f.KubeVirt, f.CDI, f.Emulation = p.virt, p.cdi, p.emulation
		f.About.KubeVirt, f.About.CDI = p.virt.Version, p.cdi.Version
		f.KubeVirtReady, f.CDIReady = p.virt.Ready, p.cdi.Ready
	})
	l.done(targets.FactCDI, p.cdiUnknown)
	return p.virtUnknown
}
