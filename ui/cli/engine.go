package cli

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"landfall/engine/fault"
	"landfall/store"
)

const logName = "engine.log"

// engine runs the engine of the workspace, in the foreground.
func (a *app) engine() *cobra.Command {
	var o engineOptions
	cmd := &cobra.Command{Use: "engine", Short: "Run the engine of the workspace (the console starts it by itself)", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := a.mayChange(); err != nil {
				return err
			}
			return a.runEngine(cmd.Context(), o)
		}}
	f := cmd.Flags()
	f.IntVar(&o.permits, "permits", 2, "disks copied from one ESXi host at once; 0 starts no copies")
	f.DurationVar(&o.poll, "poll", 2*time.Second, "how often a checkpoint that waits is looked at again")
	f.DurationVar(&o.backoff, "backoff", 5*time.Second, "first wait before a retry; it doubles with every attempt")
	cmd.AddCommand(&cobra.Command{Use: "stop", Short: "Stop the engine at its next safe point", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return a.stopEngine(cmd.Context()) }})
	return cmd
}

type engineOptions struct {
	permits       int
	poll, backoff time.Duration
}

func (a *app) runEngine(ctx context.Context, o engineOptions) error {
	ctx, stop := signal.NotifyContext(ctx, syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	signal.Ignore(syscall.SIGHUP)
	s, err := a.open(ctx)
	if err != nil {
		return err
	}
	defer s.Close()
	lock, err := store.LockEngine(a.workspace)
	if err != nil {
		return err
	}
	defer func() { _ = lock.Unlock() }()
	log := slog.New(slog.NewTextHandler(a.Err, nil))
	e, err := newEngine(a.workspace, s, log, o)
	if err != nil {
		return err
	}
	return e.Run(ctx)
}

// startEngine starts the engine in a session of its own, so that neither the end of the console nor a hang-up of its
// terminal reaches it. It returns when the engine holds its lock, or with the last words of its log.
func (a *app) startEngine(ctx context.Context) error {
	if store.EngineAlive(a.workspace) {
		return nil
	}
	exe, err := os.Executable()
	if err != nil {
		return err
	}
	path := filepath.Join(a.workspace, logName)
	log, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer log.Close()
	start, err := log.Seek(0, 2)
	if err != nil {
		return err
	}
	cmd := exec.Command(exe, "--workspace", a.workspace, "engine")
	cmd.Dir = a.workspace
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("start the engine: %w", err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	for deadline := time.Now().Add(15 * time.Second); ; {
		if store.EngineAlive(a.workspace) {
			return nil
		}
		select {
		case err := <-ended:
			if err == nil {
				err = errors.New("without an error")
			}
			return fault.Hint(fmt.Errorf("the engine ended at once (%w): %s", err, lastWords(path, start)), "read %s", path)
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(20 * time.Millisecond):
		}
		if time.Now().After(deadline) {
			return fault.Hint(errors.New("the engine does not come up"), "read %s", path)
		}
	}
}

// lastWords gives the end of what was written to the log since a place.
func lastWords(path string, from int64) string {
	b, err := os.ReadFile(path)
	if err != nil || int64(len(b)) <= from {
		return "no words"
	}
	lines := strings.Split(strings.TrimSpace(string(b[from:])), "\n")
	return strings.Join(lines[max(0, len(lines)-3):], " / ")
}

func (a *app) stopEngine(ctx context.Context) error {
	if err := a.mayChange(); err != nil {
		return err
	}
	h, runs := store.EngineHolder(a.workspace)
	if !runs || h.PID == 0 {
		fmt.Fprintln(a.Out, "no engine runs in "+a.workspace)
		return nil
	}
	if err := syscall.Kill(h.PID, syscall.SIGTERM); err != nil {
		return fmt.Errorf("stop engine, %s: %w", h, err)
	}
	for deadline := time.Now().Add(time.Minute); store.EngineAlive(a.workspace); {
		if time.Now().After(deadline) {
			return fault.Hint(fmt.Errorf("the engine (%s) did not stop within a minute", h), "it may be writing to a slow disk: look at %s", logName)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(50 * time.Millisecond):
		}
	}
	fmt.Fprintln(a.Out, "the engine stopped; running migrations go on where they stand when it is started again")
	return nil
}
