package cli

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/adrg/xdg"
	"github.com/spf13/cobra"

	"landfall/engine"
	"landfall/engine/secret"
	"landfall/engine/spec"
	"landfall/store"
	"landfall/ui/cli/demo"
)

func (a *app) demo() *cobra.Command {
	var dir string
	var script, reset bool
	cmd := &cobra.Command{Use: "demo", Short: "Try Landfall on a simulated ESXi and cluster", Args: cobra.NoArgs,
		Long: "Start a simulated ESXi host and a simulated cluster, each in a process of its own, and open the console on them, in a workspace of\nits own. --script plays the whole story without a terminal; --reset forgets everything.",
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx := cmd.Context()
			dir, err := filepath.Abs(dir)
			if err != nil {
				return err
			}
			a.workspace = filepath.Join(dir, "workspace")
			if reset {
				return a.resetDemo(ctx, dir)
			}
			w, err := a.startDemo(ctx, dir)
			if err != nil {
				return err
			}
			if script {
				return a.playScript(ctx, w)
			}
			return a.console(ctx)
		}}
	cmd.Flags().StringVar(&dir, "dir", filepath.Join(xdg.DataHome, "landfall-demo"), "directory of the demo")
	cmd.Flags().BoolVar(&script, "script", false, "play the story without a terminal and print what it proved")
	cmd.Flags().BoolVar(&reset, "reset", false, "stop the demo and remove its directory")
	return cmd
}

// startDemo has the simulators running and the workspace connected to them.
func (a *app) startDemo(ctx context.Context, dir string) (demo.World, error) {
	exe, err := os.Executable()
	if err != nil {
		return demo.World{}, err
	}
	w, err := demo.Start(ctx, dir, exe)
	if err != nil {
		return w, fmt.Errorf("start the demo in %s: %w", dir, err)
	}
	s, err := a.open(ctx)
	if err != nil {
		return w, err
	}
	defer s.Close()
	return w, s.PutEndpoint(ctx, endpointOf(w), a.person())
}

func endpointOf(w demo.World) engine.Endpoint {
	e := engine.Endpoint{Name: "esxi-demo", Defaults: defaults("standard", "VM Network", ""),
		Source: spec.Source{Type: "vsphere", Address: w.Host.URL, Username: w.Host.User, Password: secret.Ref{File: w.PasswordFile()},
			TLS: spec.TLS{Thumbprint: w.Host.Fingerprint}, ShutdownSeconds: 8},
		Target: spec.Destination{Kubeconfig: w.Cluster.Kubeconfig, Context: w.Cluster.Context, Namespace: demo.Namespace}}
	if w.Host.NBD != "" { // as nbdkit with VMware's VDDK would serve them
		e.Source.NBD.URI = "nbd://" + w.Host.NBD + "/{snapshot}/{key}"
	}
	e.Defaults.Validation = spec.Validation{BootTimeoutSeconds: 60, Checks: []spec.Check{{Type: "HTTP", Port: 80, Path: "/", ExpectBodyContains: demo.Page}}}
	return e
}

func (a *app) resetDemo(ctx context.Context, dir string) error {
	if _, err := os.Stat(filepath.Join(dir, "esxi.json")); err != nil { // what is not a demo's directory is never removed
		return fmt.Errorf("there is no demo in %s: %w", dir, err)
	}
	if store.EngineAlive(a.workspace) {
		if err := a.stopEngine(ctx); err != nil {
			return err
		}
	}
	if err := demo.Stop(dir); err != nil {
		return err
	}
	if err := os.RemoveAll(dir); err != nil {
		return err
	}
	fmt.Fprintln(a.Out, "the demo is gone: "+dir)
	return nil
}
