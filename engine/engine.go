package engine

import (
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"
	"os"
	"sync"
	"time"

	"landfall/engine/preflight"
	"landfall/engine/spec"
	"landfall/sources"
	"landfall/targets"
)

// Config is what an engine works with. Store, Source, Target and Staging are required; the rest has defaults.
type Config struct {
	Store Store
	// Source and Target connect; the engine keeps and closes what they give. again: a person asks, after the credentials
	// were refused.
	Source func(ctx context.Context, s spec.Source, again bool) (sources.Source, error)
	Target func(ctx context.Context, d spec.Destination, again bool) (targets.Target, error)
	// Convert makes converted images; nil refuses every conversion but None.
	Convert Converter
	// Host looks at this machine for the rules.
	Host func(ctx context.Context, s spec.Spec) preflight.Host
	// Staging is the directory that artifacts lie in, one folder a migration.
	Staging string
	Now     func() time.Time
	Rand    func() float64 // in [0,1), for jitter
	Log     *slog.Logger
	Version string
	// Permits is how many disks are copied from one source at once; 0 pauses new copies.
	Permits int
	// Poll is how often a checkpoint that waits is looked at again.
	Poll time.Duration
	// Backoff is the first wait of a Retryable rest; it doubles with every attempt.
	Backoff time.Duration
	// InventoryEvery is how often the inventory of an endpoint is taken.
	InventoryEvery time.Duration
}

// Engine works migrations. There is one for a workspace; the caller holds the workspace's lock.
type Engine struct {
	Config
	jobs    *jobs
	permits *permits
	serving *serving
	sources *connections[spec.Source, sources.Source]
	targets *connections[spec.Destination, targets.Target]
	started time.Time

	mu      sync.Mutex
	runners map[string]*runner
	wg      sync.WaitGroup
}

// New gives an engine that does nothing until Run.
func New(c Config) *Engine {
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Rand == nil {
		c.Rand = rand.Float64
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	if c.Poll == 0 {
		c.Poll = 2 * time.Second
	}
	if c.Backoff == 0 {
		c.Backoff = 5 * time.Second
	}
	if c.InventoryEvery == 0 {
		c.InventoryEvery = time.Minute
	}
	if c.Host == nil {
		c.Host = func(context.Context, spec.Spec) preflight.Host {
			return preflight.Host{Staging: c.Staging, Free: 1 << 62}
		}
	}
	return &Engine{Config: c, jobs: newJobs(), permits: newPermits(c.Permits), serving: newServing(c.Now), runners: map[string]*runner{},
		sources: newConnections(c.Source, sourceKey), targets: newConnections(c.Target, targetKey)}
}

// Run works until ctx ends; it then stops the copies at a synced chunk, records and returns nil. A store that cannot be
// written any more ends it with an error.
func (e *Engine) Run(ctx context.Context) error {
	e.started = e.Now()
	e.Log.Info("engine started", "version", e.Version, "staging", e.Staging)
	e.wg.Add(1)
	go func() {
		defer e.wg.Done()
		e.listInventories(ctx)
	}()
	e.wg.Add(1)
	go func() {
		defer e.wg.Done()
		e.lookAtDrafts(ctx)
	}()
	err := e.supervise(ctx)
	e.jobs.stopAll()
	e.wg.Wait()
	e.serving.close()
	e.Close()
	e.Log.Info("engine stopped", "error", err)
	return err
}

// Close ends the connections of an engine that does not Run.
func (e *Engine) Close() {
	e.sources.close()
	e.targets.close()
}

// superviseEvery is how often the engine looks for new wishes of people: one number is read.
const superviseEvery = 200 * time.Millisecond

// supervise keeps one runner for every migration that is not terminal, and wakes those whose wishes changed.
func (e *Engine) supervise(ctx context.Context) error {
	tick := time.NewTicker(superviseEvery)
	defer tick.Stop()
	var seen int64 = -1
	var beat time.Time
	for {
		if now := e.Now(); now.Sub(beat) >= 2*time.Second || now.Before(beat) {
			beat = now
			host, _ := os.Hostname()
			if err := e.Store.Heartbeat(ctx, Heartbeat{PID: os.Getpid(), Host: host, Version: e.Version, Started: e.started, Beat: now, Limit: e.permits.limit()}); err != nil && ctx.Err() == nil {
				e.Log.Warn("heartbeat", "error", err)
			}
		}
		if n, err := e.Store.Changed(ctx); err == nil && n != seen {
			if err := e.look(ctx); err != nil {
				e.Log.Warn("look for work", "error", err)
			} else {
				seen = n
			}
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

// look starts runners for migrations that have none and wakes those that a person changed.
func (e *Engine) look(ctx context.Context) error {
	active, err := e.Store.Active(ctx)
	if err != nil {
		return err
	}
	for _, m := range active {
		wish, err := e.wish(ctx, m)
		if err != nil {
			return err
		}
		e.mu.Lock()
		r := e.runners[m.UID]
		if r == nil {
			r = &runner{e: e, uid: m.UID, wakeup: make(chan struct{}, 1)}
			e.runners[m.UID] = r
			e.wg.Add(1)
			go func() {
				defer e.wg.Done()
				r.run(ctx)
				e.mu.Lock()
				delete(e.runners, r.uid)
				e.mu.Unlock()
			}()
		} else if r.wish != wish {
			r.wake()
		}
		r.wish = wish
		e.mu.Unlock()
	}
	return nil
}

// wish is what a person can change of a migration; a runner is woken when it differs.
type wish struct {
	generation, retry int64
	want              Want
	answers           int
}

func (e *Engine) wish(ctx context.Context, m Migration) (wish, error) {
	w := wish{m.Generation, m.Retry, m.Want, 0}
	ds, err := e.Store.Decisions(ctx, m.UID)
	if err != nil && !errors.Is(err, ErrNotFound) {
		return w, err
	}
	for _, d := range ds {
		if d.Answer != "" {
			w.answers++
		}
	}
	return w, nil
}
