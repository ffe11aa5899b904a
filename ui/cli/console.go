package cli

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"

	"landfall/engine"
	"landfall/engine/preflight"
	"landfall/engine/spec"
	"landfall/store"
	console "landfall/ui/app"
)

// console opens the workspace and shows it; the engine is started when none runs.
func (a *app) console(ctx context.Context) error {
	s, err := a.open(ctx)
	if err != nil {
		return err
	}
	defer s.Close()
	if !a.readOnly {
		if err := a.startEngine(ctx); err != nil {
			return err
		}
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	known, err := followEndpoints(ctx, s)
	if err != nil {
		return err
	}
	return console.Run(ctx, console.Config{
		Desk: s, Person: a.person(), Workspace: filepath.Base(a.workspace), ReadOnly: a.readOnly, Plain: a.plain,
		In: a.In, Out: a.Out, Env: a.Lookup, Now: time.Now,
		EngineAlive: func() bool { return store.EngineAlive(a.workspace) },
		StartEngine: func() error { return a.startEngine(ctx) },
		DefaultSpec: func(l engine.Listed) spec.Document {
			for _, e := range *known.Load() {
				if e.Name == l.Endpoint {
					return documentFor(e, l)
				}
			}
			return documentFor(engine.Endpoint{}, l)
		},
		Verdict:  func(l engine.Listed) (string, preflight.Level) { return verdict(*known.Load(), l) },
		NoSource: "no source yet: landfall connect --help",
		Crash:    a.crash,
	})
}

// followEndpoints keeps the endpoints at hand, so that the console can ask for them without waiting.
func followEndpoints(ctx context.Context, s *store.Store) (*atomic.Pointer[[]engine.Endpoint], error) {
	var known atomic.Pointer[[]engine.Endpoint]
	read := func() error {
		es, err := s.Endpoints(ctx)
		if err == nil {
			known.Store(&es)
		}
		return err
	}
	if err := read(); err != nil {
		return nil, err
	}
	go func() {
		defer func() { _ = recover() }() // the console goes on with what it knows
		tick := time.NewTicker(time.Second)
		defer tick.Stop()
		for seen := int64(-1); ; {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
			if n, err := s.Changed(ctx); err == nil && n != seen && read() == nil {
				seen = n
			}
		}
	}()
	return &known, nil
}

// crash keeps the traces of a crash of the console in the workspace.
func (a *app) crash(reason string, stack []byte) string {
	path := filepath.Join(a.workspace, "crash-"+time.Now().UTC().Format("20060102T150405")+".txt")
	if err := os.WriteFile(path, fmt.Appendf(nil, "landfall %s\n%s\n\n%s", Version, reason, stack), 0o600); err != nil {
		return err.Error()
	}
	return path
}
