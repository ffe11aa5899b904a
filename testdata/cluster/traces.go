package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"landfall/testdata/cluster/control"
	"landfall/testdata/cluster/data"
	"landfall/testdata/cluster/lab"
	"landfall/testdata/cluster/trace"
)

// traceCommand records what the real CDI does.
func traceCommand() *cobra.Command {
	root := &cobra.Command{Use: "trace", Short: "what the real CDI shows of DataVolumes in many situations"}
	record := &cobra.Command{Use: "record DIR [SITUATION...]", Short: "play situations on layer data and write down what is seen", Args: cobra.MinimumNArgs(1),
		Long: fmt.Sprintf("The traces that are kept lie in traces/. Situations: %v", trace.Names()),
		RunE: func(c *cobra.Command, args []string) error {
			return inNetwork(c, func(l *lab.Lab) error {
				config, err := control.Config(l)
				if err != nil {
					return err
				}
				return trace.Record(c.Context(), trace.Lab{Config: config, Address: data.Address, CDI: data.Namespace,
					Immediate: data.Immediate, Waiting: data.Waiting, Barren: data.Barren, Shell: data.ShellImage, Volumes: data.Volumes(l)}, args[0], l.Say, args[1:]...)
			})
		}}
	root.AddCommand(record)
	return root
}
