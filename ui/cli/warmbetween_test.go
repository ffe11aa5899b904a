package cli

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"time"

	"landfall/engine"
	"landfall/engine/convert"
	"landfall/engine/machine"
	"landfall/engine/preflight"
	"landfall/engine/spec"
	"landfall/sources"
	"landfall/sources/esxsim"
	"landfall/sources/vsphere"
	"landfall/store"
)

// look is called whenever the engine is about to look at a VM; an error is what the engine gets instead.
type look func(ctx context.Context, ref machine.Ref) error

// between is a source with somebody who comes between it and the engine.
type between struct {
	*vsphere.Source
	look look
	told []func(*sources.Snapshot) // are called when the engine has been told what changed
}

func (b between) Inspect(ctx context.Context, ref machine.Ref) (machine.VM, error) {
	if b.look != nil {
		if err := b.look(ctx, ref); err != nil {
			return machine.VM{}, err
		}
	}
	return b.Source.Inspect(ctx, ref)
}

func (b between) Changed(ctx context.Context, vm machine.VM, s *sources.Snapshot, d machine.Disk, since string, offset int64) (sources.Changes, error) {
	c, err := b.Source.Changed(ctx, vm, s, d, since, offset)
	for _, f := range b.told {
		f(s)
	}
	return c, err
}

// Probe leaves the ports out: the hosts of a simulated vCenter have names that lead nowhere.
func (b between) Probe(ctx context.Context, vm machine.VM) (sources.Capabilities, error) {
	c, err := b.Source.Probe(ctx, vm)
	c.Ports = nil
	return c, err
}

// engineBetween runs an engine in the test's process, so that the test can come between it and the source, and set its clock.
func (w *testWorld) engineBetween(l look, now func() time.Time, told ...func(*sources.Snapshot)) (stop func()) {
	w.t.Helper()
	s, err := store.Open(w.t.Context(), w.workspace, store.Options{})
	if err != nil {
		w.t.Fatal(err)
	}
	lock, err := store.LockEngine(w.workspace)
	if err != nil {
		w.t.Fatal(err)
	}
	staging := filepath.Join(w.workspace, "staging")
	if err := os.MkdirAll(staging, 0o700); err != nil {
		w.t.Fatal(err)
	}
	log, err := os.OpenFile(filepath.Join(w.workspace, logName), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		w.t.Fatal(err)
	}
	e := engine.New(engine.Config{
		Store: s, Target: dialTarget, Convert: convert.QemuImg{}, Staging: staging, Now: now, Log: slog.New(slog.NewTextHandler(log, nil)),
		Source: func(ctx context.Context, d spec.Source, again bool) (sources.Source, error) {
			src, err := dialSource(ctx, d, again)
			if err != nil {
				return nil, err
			}
			return between{src.(*vsphere.Source), l, told}, nil
		},
		Host:    func(ctx context.Context, o spec.Spec) preflight.Host { return hostFacts(ctx, staging, o) },
		Version: "test", Permits: 2, Poll: 50 * time.Millisecond, Backoff: 50 * time.Millisecond,
	})
	ctx, cancel := context.WithCancel(context.WithoutCancel(w.t.Context()))
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = e.Run(ctx)
	}()
	stop = sync.OnceFunc(func() {
		cancel()
		<-done
		_ = lock.Unlock()
		_ = s.Close()
		_ = log.Close()
	})
	w.t.Cleanup(stop)
	return stop
}

// once gives a look that does something in the first look of a migration for which cond holds, as it is recorded then.
func (w *testWorld) once(uid string, cond func(engine.Migration) bool, do func() error) look {
	var mu sync.Mutex
	did := false
	return func(ctx context.Context, _ machine.Ref) error {
		mu.Lock()
		defer mu.Unlock()
		if did {
			return nil
		}
		m, err := w.store.Migration(ctx, uid)
		if err != nil || !cond(m) {
			return err
		}
		did = true
		return do()
	}
}

// underVCenter puts a vCenter with the VMs in the place of the lone host.
func (w *testWorld) underVCenter(vms ...esxsim.VM) {
	w.t.Helper()
	host, err := esxsim.Start(w.t.Context(), esxsim.Config{Dir: filepath.Join(w.dir, "vcenter"), VCenter: true, Password: testPassword, VMs: vms, Networks: []string{"DMZ"}})
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(host.Close)
	url := host.URL()
	w.host = host
	w.endpoint.Source.Address, w.endpoint.Source.Username, w.endpoint.Source.TLS.Thumbprint = url.Host, url.User.Username(), host.Fingerprint()
}

// events gives the messages of a migration's events with a reason.
func (w *testWorld) events(uid, reason string) (messages []string) {
	w.t.Helper()
	all, err := w.store.Events(w.t.Context(), uid, 0, 10000)
	if err != nil {
		w.t.Fatal(err)
	}
	for _, e := range all {
		if e.Reason == reason {
			messages = append(messages, e.Message)
		}
	}
	return messages
}

// rounds is how many passes the first disk has made.
func rounds(m engine.Migration) int { return m.Status.Warm.Workers[0].Count }

// goesOn waits for some more rounds of a disk.
func (w *testWorld) goesOn(m engine.Migration) engine.Migration {
	w.t.Helper()
	before := rounds(m)
	return w.until(m.UID, "more rounds", func(m engine.Migration) bool {
		if m.Status.Phase.Terminal() || m.Status.Phase == engine.ManualInterventionRequired {
			w.t.Fatalf("%s: %s", m.Status.Phase, m.Status.Message)
		}
		return rounds(m) >= before+2
	})
}

// cutAndComplete gives the word and looks that the volume is what the source is, and that nothing of ours is left there.
func (w *testWorld) cutAndComplete(m engine.Migration, vm string) engine.Migration {
	w.t.Helper()
	w.cut(m)
	m = w.phase(m.UID, engine.Completed)
	w.equal(m)
	w.noSnapshots(vm)
	return m
}
