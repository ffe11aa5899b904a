package cli

import (
	"context"
	"io"

	"github.com/spf13/cobra"

	"landfall/engine"
	"landfall/engine/report"
	"landfall/store"
)

func (a *app) report() *cobra.Command {
	return &cobra.Command{Use: "report MIGRATION", Short: "Tell how a migration went, in Markdown (-o json for scripts)", Args: cobra.ExactArgs(1),
		RunE: a.withStore(func(ctx context.Context, s *store.Store, args []string) error {
			m, err := s.Find(ctx, args[0])
			if err != nil {
				return err
			}
			r, err := report.Build(ctx, s, m)
			if err != nil {
				return err
			}
			return a.print(r, func(w io.Writer) { _, _ = io.WriteString(w, r.Markdown()) })
		})}
}

// resumed is the checkpoint that a migration works at, or goes back to.
func resumed(m engine.Migration) engine.Phase {
	if m.Status.Resume != "" {
		return m.Status.Resume
	}
	return m.Status.Phase
}
