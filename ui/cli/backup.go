package cli

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"landfall/store"
)

func (a *app) backup() *cobra.Command {
	return &cobra.Command{Use: "backup FILE", Short: "Write a consistent copy of the workspace's database", Args: cobra.ExactArgs(1),
		RunE: a.withStore(func(ctx context.Context, s *store.Store, args []string) error {
			if err := s.Backup(ctx, args[0]); err != nil {
				return err
			}
			fmt.Fprintf(a.Out, "%s holds the workspace as it is now\n", args[0])
			return nil
		})}
}
