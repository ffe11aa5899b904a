package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"

	"github.com/spf13/cobra"

	"landfall/engine"
	"landfall/engine/fault"
	"landfall/store"
)

// cleanup shows what ended migrations hold, and removes it on demand.
func (a *app) cleanup() *cobra.Command {
	var execute, leases bool
	cmd := &cobra.Command{Use: "cleanup [MIGRATION]", Short: "Show what ended migrations left behind; --execute removes it", Args: cobra.MaximumNArgs(1),
		Long: "Show what ended migrations left behind. Nothing is removed without --execute; the results of completed migrations are never\nremoved, nor anything that does not carry the migration's label.",
		RunE: a.withStore(func(ctx context.Context, s *store.Store, args []string) error {
			ms, err := ended(ctx, s, args)
			if err != nil {
				return err
			}
			var left []engine.Held
			for _, m := range ms {
				held, err := engine.Leftover(ctx, s, m)
				if err != nil {
					return err
				}
				left = append(left, slices.DeleteFunc(held, func(h engine.Held) bool { return leases && !h.Lease() })...)
			}
			if !execute {
				return a.print(left, func(w io.Writer) {
					lines := make([][]string, len(left))
					for i, h := range left {
						lines[i] = []string{h.Migration[:8], h.Kind, h.Where, h.Name, h.Note}
					}
					rows(w, "MIGRATION | KIND | WHERE | NAME | NOTE", lines)
					if len(left) > 0 {
						fmt.Fprintln(w, "\ndry run: --execute removes what is listed")
					}
				})
			}
			if err := a.mayChange(); err != nil {
				return err
			}
			if store.EngineAlive(a.workspace) {
				return fault.Hint(errors.New("the engine runs"), "stop it first (landfall engine stop): two must not clean up at once")
			}
			return a.clean(ctx, s, ms, leases)
		})}
	cmd.Flags().BoolVar(&leases, "leases", false, "only what is on the source: snapshots of ours, change tracking that we switched on")
	cmd.Flags().BoolVar(&execute, "execute", false, "remove what is listed")
	return cmd
}

func ended(ctx context.Context, s *store.Store, args []string) (ms []engine.Migration, err error) {
	if len(args) > 0 {
		m, err := s.Find(ctx, args[0])
		if err == nil && !m.Status.Phase.Terminal() {
			err = fault.Hint(fmt.Errorf("migration %s is %s", m.UID[:8], m.Status.Phase), "cancel it first: cancelling cleans up")
		}
		return []engine.Migration{m}, err
	}
	lines, err := s.Lines(ctx)
	if err != nil {
		return nil, err
	}
	for _, l := range lines {
		if !l.Phase.Terminal() {
			continue
		}
		m, err := s.Migration(ctx, l.UID)
		if err != nil {
			return nil, err
		}
		ms = append(ms, m)
	}
	return ms, nil
}

func (a *app) clean(ctx context.Context, s *store.Store, ms []engine.Migration, leases bool) error {
	lock, err := store.LockEngine(a.workspace)
	if err != nil {
		return err
	}
	defer func() { _ = lock.Unlock() }()
	e, err := newEngine(a.workspace, s, slog.New(slog.DiscardHandler), engineOptions{})
	if err != nil {
		return err
	}
	var errs []error
	for _, m := range ms {
		gone, err := e.CleanUp(ctx, m, leases)
		for _, h := range gone {
			rows(a.Out, "removed", [][]string{{h.String()}})
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}
