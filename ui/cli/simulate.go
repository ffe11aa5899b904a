package cli

import (
	"github.com/spf13/cobra"

	"landfall/sources/esxsim"
	"landfall/targets/kubesim"
	"landfall/ui/cli/demo"
)

// simulators are the hidden verbs by which the program plays an ESXi host or a cluster.
func (a *app) simulators() []*cobra.Command {
	return []*cobra.Command{
		{Use: demo.HostVerb + " CONFIG", Hidden: true, Args: cobra.ExactArgs(1), RunE: func(cmd *cobra.Command, args []string) error {
			cfg, err := esxsim.ReadConfig(args[0])
			if err != nil {
				return err
			}
			return esxsim.Run(cmd.Context(), a.Out, cfg)
		}},
		{Use: demo.ClusterVerb + " CONFIG", Hidden: true, Args: cobra.ExactArgs(1), RunE: func(cmd *cobra.Command, args []string) error {
			return kubesim.Run(cmd.Context(), a.Out, args[0])
		}},
	}
}
