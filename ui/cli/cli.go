// Package cli is where Landfall is put together: it knows the store, the engine, every source and target, and the console,
// and gives each action its verb. Nothing imports it but main.
package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/adrg/xdg"
	"github.com/spf13/cobra"

	"landfall/engine/fault"
	"landfall/engine/plaintext"
	"landfall/store"
)

// Version is set by the linker for releases.
var Version = "devel"

// World is the outside that the verbs work with.
type World struct {
	Args   []string
	In     *os.File
	Out    *os.File
	Err    io.Writer
	Lookup func(string) (string, bool)
}

// app is one call of the program.
type app struct {
	World
	workspace string
	output    string
	plain     bool
	readOnly  bool
}

// Main runs the program and gives its exit code: 0 for success, 1 for a failure, 2 for a wrong call; verbs that judge give
// exitDecision and exitBlocked too.
func Main(ctx context.Context, w World) int {
	a := &app{World: w}
	root := a.root()
	root.SetArgs(w.Args)
	root.SetIn(w.In)
	root.SetOut(w.Out)
	root.SetErr(w.Err)
	err := root.ExecuteContext(ctx)
	if err == nil {
		return 0
	}
	a.complain(err)
	var usage usageError
	var verdict verdictError
	switch {
	case errors.As(err, &usage):
		return 2
	case errors.As(err, &verdict):
		return verdict.code
	}
	return 1
}

// complain says what happened, to which object, and what to try.
func (a *app) complain(err error) {
	fmt.Fprintf(a.Err, "landfall: %s\n", plaintext.Text(err.Error()))
	if h := fault.HintOf(err); h != "" {
		fmt.Fprintf(a.Err, "  try: %s\n", plaintext.Text(h))
	}
}

type usageError struct{ error }

func (a *app) root() *cobra.Command {
	root := &cobra.Command{
		Use:           "landfall",
		Short:         "Move virtual machines from VMware ESXi or vCenter to KubeVirt",
		Long:          "Landfall moves virtual machines from VMware ESXi or vCenter to KubeVirt.\nWithout a verb it opens the console; the engine works on in the background when the console is closed.",
		SilenceErrors: true, SilenceUsage: true,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return a.console(cmd.Context()) },
	}
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return usageError{err} })
	f := root.PersistentFlags()
	f.StringVar(&a.workspace, "workspace", a.defaultWorkspace(), "directory of the workspace")
	f.StringVarP(&a.output, "output", "o", "table", "table, json or yaml")
	f.BoolVar(&a.plain, "plain", false, "line mode without escape codes")
	f.BoolVar(&a.readOnly, "read-only", false, "change nothing")
	root.AddCommand(a.connect(), a.vms(), a.check(), a.render(), a.apply(), a.migrate(), a.list(), a.status(), a.decide(), a.cancel(), a.retry(),
		a.report(), a.cleanup(), a.doctor(), a.backup(), a.engine(), a.demo(), a.version())
	root.AddCommand(a.cutover())
	root.AddCommand(a.live()...)
	root.AddCommand(a.simulators()...)
	return root
}

func (a *app) defaultWorkspace() string {
	if dir, ok := a.Lookup("LANDFALL_WORKSPACE"); ok && dir != "" {
		return dir
	}
	return filepath.Join(xdg.DataHome, "landfall")
}

// open opens the workspace. Its parent is made: it is the user's own data directory.
func (a *app) open(ctx context.Context) (*store.Store, error) {
	dir, err := filepath.Abs(a.workspace)
	if err != nil {
		return nil, err
	}
	a.workspace = dir
	if err := os.MkdirAll(filepath.Dir(dir), 0o700); err != nil {
		return nil, err
	}
	return store.Open(ctx, dir, store.Options{})
}

// withStore runs f with the workspace open.
func (a *app) withStore(f func(ctx context.Context, s *store.Store, args []string) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		s, err := a.open(cmd.Context())
		if err != nil {
			return err
		}
		defer s.Close()
		return f(cmd.Context(), s, args)
	}
}

// mayChange refuses verbs that change something with --read-only.
func (a *app) mayChange() error {
	if a.readOnly {
		return errors.New("--read-only: this verb changes something")
	}
	return nil
}

// changing is withStore for verbs that change something.
func (a *app) changing(f func(ctx context.Context, s *store.Store, args []string) error) func(*cobra.Command, []string) error {
	run := a.withStore(f)
	return func(cmd *cobra.Command, args []string) error {
		if err := a.mayChange(); err != nil {
			return err
		}
		return run(cmd, args)
	}
}

func (a *app) version() *cobra.Command {
	return &cobra.Command{Use: "version", Short: "Print the version", Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			return a.print(map[string]string{"version": Version}, func(w io.Writer) { fmt.Fprintln(w, "landfall "+Version) })
		}}
}
