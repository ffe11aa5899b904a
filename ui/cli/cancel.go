package cli

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"landfall/store"
)

func (a *app) cancel() *cobra.Command {
	var name string
	cmd := &cobra.Command{Use: "cancel MIGRATION", Short: "Cancel a migration and clean up what it made", Args: cobra.ExactArgs(1),
		RunE: a.changing(func(ctx context.Context, s *store.Store, args []string) error {
			m, err := s.Find(ctx, args[0])
			if err != nil {
				return err
			}
			if err := a.confirm(m, "What was made in the cluster is removed; the source is not started again.", name); err != nil {
				return err
			}
			if err := s.Cancel(ctx, m.UID, a.person()); err != nil {
				return err
			}
			fmt.Fprintln(a.Out, "cancelling; landfall status shows when it has ended and what is left")
			return a.startEngine(ctx)
		})}
	cmd.Flags().StringVar(&name, "confirm", "", "the VM's name")
	return cmd
}

func (a *app) retry() *cobra.Command {
	return &cobra.Command{Use: "retry MIGRATION", Short: "End a rest now and try the checkpoint again", Args: cobra.ExactArgs(1),
		RunE: a.changing(func(ctx context.Context, s *store.Store, args []string) error {
			m, err := s.Find(ctx, args[0])
			if err != nil {
				return err
			}
			if err := s.RetryNow(ctx, m.UID, a.person()); err != nil {
				return err
			}
			fmt.Fprintf(a.Out, "%s goes on at %s\n", m.UID[:8], resumed(m))
			return a.startEngine(ctx)
		})}
}
