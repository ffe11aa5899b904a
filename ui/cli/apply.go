package cli

import (
	"context"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/spf13/cobra"

	"landfall/engine"
	"landfall/engine/spec"
	"landfall/store"
)

func (a *app) apply() *cobra.Command {
	var file string
	var wait, dry bool
	cmd := &cobra.Command{Use: "apply -f FILE", Short: "Start the migrations that a document describes", Args: cobra.NoArgs,
		Long: "Start the migrations that a document describes; the document of a plan holds several.\n--dry-run starts nothing and changes nothing: it says what was found, what would be created, and what it would cost.\n\n" + exitCodes,
		RunE: a.withStore(func(ctx context.Context, s *store.Store, _ []string) error {
			docs, err := a.read(file)
			if err != nil {
				return err
			}
			if dry {
				return a.dryRun(ctx, s, docs)
			}
			if err := a.mayChange(); err != nil {
				return err
			}
			return a.begin(ctx, s, docs, wait)
		})}
	cmd.Flags().BoolVar(&dry, "dry-run", false, "say what would happen, change nothing")
	cmd.Flags().StringVarP(&file, "file", "f", "", "the document, - for standard input")
	cmd.Flags().BoolVar(&wait, "wait", false, "wait until every migration has ended")
	_ = cmd.MarkFlagRequired("file")
	return cmd
}

func (a *app) read(file string) ([]spec.Document, error) {
	var r io.Reader = a.In
	if file != "-" {
		f, err := os.Open(file)
		if err != nil {
			return nil, err
		}
		defer f.Close()
		r = f
	}
	docs, err := spec.Read(r)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return docs, nil
}

// begin starts migrations; the first that is refused ends it, and what was started before is said.
func (a *app) begin(ctx context.Context, s *store.Store, docs []spec.Document, wait bool) error {
	var started []string
	for _, d := range docs {
		m, err := s.Apply(ctx, d, a.person())
		if err != nil {
			return fmt.Errorf("%s: %w (%d of %d were started)", d.Metadata.Name, err, len(started), len(docs))
		}
		started = append(started, m.UID)
		fmt.Fprintf(a.Out, "migration %s (%s) is pending\n", m.UID, d.Metadata.Name)
	}
	if err := a.startEngine(ctx); err != nil {
		return err
	}
	if wait {
		return a.wait(ctx, s, started)
	}
	return nil
}

// wait prints every change of phase until all have ended or wait for a person, and fails unless all are Completed.
func (a *app) wait(ctx context.Context, s *store.Store, uids []string) error {
	said := map[string]engine.Phase{}
	for {
		open, bad := 0, 0
		for _, uid := range uids {
			m, err := s.Find(ctx, uid)
			if err != nil {
				return err
			}
			p := m.Status.Phase
			if said[uid] != p {
				said[uid] = p
				rows(a.Out, m.UID[:8]+" | "+string(p), [][]string{{"", m.Status.Message}}[:min(1, len(m.Status.Message))])
			}
			switch {
			case p == engine.ManualInterventionRequired, p.Terminal() && p != engine.Completed:
				bad++
			case !p.Terminal():
				open++
			}
		}
		switch {
		case open == 0 && bad > 0:
			return fmt.Errorf("%d of %d migrations are not Completed: landfall list", bad, len(uids))
		case open == 0:
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(200 * time.Millisecond):
		}
	}
}
