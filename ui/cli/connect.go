package cli

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"landfall/engine"
	"landfall/engine/secret"
	"landfall/engine/spec"
	"landfall/sources/vsphere"
	"landfall/store"
)

// connect writes down a source, and where its VMs go by default.
func (a *app) connect() *cobra.Command {
	var src spec.Source
	var dst spec.Destination
	var class, network, attachment string
	var passwordEnv, passwordFile string
	var passwordCommand []string
	cmd := &cobra.Command{Use: "connect [NAME]", Short: "Add a source, and where its VMs go by default", Args: cobra.MaximumNArgs(1),
		Long: "Add an ESXi host or vCenter to the workspace, with the cluster, storage class and network that its VMs are offered.\n" +
			"The password itself is never kept: say where it is found. GOVC_* variables are understood.\n\n" +
			"  landfall connect --source esxi-1.lab --username root --password-command pass,show,esxi --thumbprint AB:CD:… \\\n" +
			"    --namespace vms --storage-class fast",
		RunE: a.changing(func(ctx context.Context, s *store.Store, args []string) error {
			env, err := vsphere.FromEnv(a.Lookup)
			if err != nil {
				return err
			}
			src.Password = secret.Ref{Env: passwordEnv, File: passwordFile, Command: passwordCommand}
			src = merge(src, env)
			if src.Address == "" {
				return usageError{errors.New("--source is missing: the address of the ESXi host or vCenter (or set GOVC_URL)")}
			}
			e := engine.Endpoint{Name: src.Address, Source: src, Target: dst, Defaults: defaults(class, network, attachment)}
			if len(args) > 0 {
				e.Name = args[0]
			}
			if err := trial(e).Validate(); err != nil {
				return err
			}
			c, err := dialSource(ctx, src.Default(), true)
			if err != nil {
				return fmt.Errorf("connect to %s: %w", src.Address, err)
			}
			about := c.About()
			if err := c.Close(); err != nil {
				return err
			}
			if err := s.PutEndpoint(ctx, e, a.person()); err != nil {
				return err
			}
			fmt.Fprintf(a.Out, "%s: %s, certificate SHA-256 %s\n", e.Name, about.Product, about.Thumbprint)
			return nil
		})}
	f := cmd.Flags()
	f.StringVar(&src.Address, "source", "", "address of the ESXi host or vCenter")
	f.StringVar(&src.Username, "username", "", "user of the source")
	f.StringVar(&passwordEnv, "password-env", "", "environment variable that holds the password")
	f.StringVar(&passwordFile, "password-file", "", "file of mode 0600 that holds the password")
	f.StringSliceVar(&passwordCommand, "password-command", nil, "command that prints the password, words separated by commas")
	f.StringVar(&src.TLS.Thumbprint, "thumbprint", "", "SHA-256 fingerprint of the source's certificate")
	f.StringVar(&src.TLS.CAFile, "ca-file", "", "authorities to trust for the source")
	f.IntVar(&src.MaxConnections, "max-connections", 0, "disk streams per host")
	f.StringVar(&dst.Kubeconfig, "kubeconfig", "", "kubeconfig of the cluster")
	f.StringVar(&dst.Context, "context", "", "its context")
	f.StringVarP(&dst.Namespace, "namespace", "n", "default", "namespace for the VMs")
	f.StringVar(&class, "storage-class", "", "storage class for the disks")
	f.StringVar(&network, "network", "", "port group that goes to the pod network, * for all")
	f.StringVar(&attachment, "multus", "", "PORTGROUP=NAMESPACE/NAME: port group that goes to a network attachment definition")
	return cmd
}

// merge fills what the flags left open from the environment.
func merge(s, env spec.Source) spec.Source {
	if s.Address == "" {
		s.Address = env.Address
	}
	if s.Username == "" {
		s.Username = env.Username
	}
	if s.Password.Zero() {
		s.Password = env.Password
	}
	if s.TLS == (spec.TLS{}) {
		s.TLS = env.TLS
	}
	return s
}

// trial is a document by which an endpoint can be checked before there is a VM.
func trial(e engine.Endpoint) spec.Document {
	d := document(e, "trial")
	d.Spec.Source.VM.Name = "trial"
	return d
}
