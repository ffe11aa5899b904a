package main

import (
	"github.com/spf13/cobra"
	"k8s.io/client-go/tools/clientcmd"

	"landfall/testdata/cluster/data"
	"landfall/testdata/cluster/data/dns"
	"landfall/testdata/cluster/lab"
)

// daemonCommand is what the lab starts of itself.
func daemonCommand() *cobra.Command {
	root := &cobra.Command{Use: "daemon", Hidden: true}
	root.AddCommand(
		&cobra.Command{Use: "names ADDRESS", Args: cobra.ExactArgs(1), RunE: func(c *cobra.Command, args []string) error {
			config, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(clientcmd.NewDefaultClientConfigLoadingRules(), nil).ClientConfig()
			if err != nil {
				return err
			}
			config.QPS, config.Burst = 200, 400
			return dns.Serve(c.Context(), config, args[0])
		}},
		&cobra.Command{Use: "volumes MOUNTS FILES", Args: cobra.ExactArgs(2), RunE: func(c *cobra.Command, args []string) error {
			config, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(clientcmd.NewDefaultClientConfigLoadingRules(), nil).ClientConfig()
			if err != nil {
				return err
			}
			config.QPS, config.Burst = 200, 400
			return data.ServeVolumes(c.Context(), config, args[0], args[1])
		}},
		&cobra.Command{Use: "keeper", Args: cobra.NoArgs, RunE: func(c *cobra.Command, _ []string) error {
			l, err := lab.Open(c.OutOrStdout())
			if err != nil {
				return err
			}
			return l.Keep(c.Context())
		}},
	)
	return root
}
