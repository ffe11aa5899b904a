package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"landfall/testdata/cluster/build"
	"landfall/testdata/cluster/lab"
)

func commands() *cobra.Command {
	root := &cobra.Command{Use: "cluster", Short: "A real Kubernetes with KubeVirt and CDI for tests", SilenceUsage: true, SilenceErrors: true}
	root.AddCommand(upCommand(), buildCommand(), downCommand(), statusCommand(), logsCommand(), execCommand(), restartCommand(), pauseCommand(), traceCommand(), daemonCommand())
	return root
}

func one(args []string) string {
	if len(args) == 0 {
		return ""
	}
	return args[0]
}

func buildCommand() *cobra.Command {
	var ask bool
	c := &cobra.Command{Use: "build [LAYER]", Short: "build what is missing; --missing only says what that costs", Args: cobra.MaximumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			l, err := lab.Open(c.OutOrStdout())
			if err != nil {
				return err
			}
			b, err := builder(l)
			if err != nil {
				return err
			}
			wanted, err := upTo(one(args))
			if err != nil {
				return err
			}
			var all []build.Program
			for _, w := range wanted {
				all = append(all, w.programs...)
			}
			if !ask {
				if err := l.Lock(c.Context()); err != nil {
					return err
				}
				return b.Build(c.Context(), all)
			}
			missing, err := b.Missing(all)
			if err != nil {
				return err
			}
			cost := 0
			for _, p := range missing {
				cost += p.Cost
			}
			l.Say("%d", cost)
			return nil
		}}
	c.Flags().BoolVar(&ask, "missing", false, "print the CPU seconds that building would cost, 0 when everything is there")
	return c
}

func upCommand() *cobra.Command {
	return &cobra.Command{Use: "up [LAYER]", Short: "bring the lab up", Args: cobra.MaximumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			l, err := lab.Open(c.OutOrStdout())
			if err != nil {
				return err
			}
			wanted, err := upTo(one(args))
			if err != nil {
				return err
			}
			if !lab.Inside() {
				if err := l.Lock(c.Context()); err != nil {
					return err
				}
				b, err := builder(l)
				if err != nil {
					return err
				}
				for _, w := range wanted {
					if err := b.Build(c.Context(), w.programs); err != nil {
						return err
					}
				}
				if err := l.MakeNetwork(); err != nil {
					return err
				}
				l.Unlock()
				self, err := os.Executable()
				if err != nil {
					return err
				}
				return l.Enter(append([]string{self}, os.Args[1:]...), os.Environ())
			}
			if err := l.Lock(c.Context()); err != nil {
				return err
			}
			begun := time.Now()
			if err := bring(c.Context(), l, wanted); err != nil {
				return err
			}
			l.Say("up after %.0f s: go run . exec -- kubectl get vm -A; go run . down", time.Since(begun).Seconds())
			return nil
		}}
}

func downCommand() *cobra.Command {
	return &cobra.Command{Use: "down", Short: "end the lab and put back what it touched", Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			l, err := lab.Open(c.OutOrStdout())
			if err != nil {
				return err
			}
			if err := l.Lock(c.Context()); err != nil {
				return err
			}
			if err := l.Down(); err != nil {
				return err
			}
			l.Say("down")
			return nil
		}}
}

func statusCommand() *cobra.Command {
	var asJSON bool
	c := &cobra.Command{Use: "status", Short: "what is up and what runs", Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			l, err := lab.Open(c.OutOrStdout())
			if err != nil {
				return err
			}
			ps, err := l.Processes()
			if err != nil {
				return err
			}
			type row struct {
				Name    string `json:"name"`
				PID     int    `json:"pid"`
				Running bool   `json:"running"`
				Log     string `json:"log"`
			}
			s := struct {
				Layers     []string `json:"layers"`
				Kubeconfig string   `json:"kubeconfig"`
				Processes  []row    `json:"processes"`
			}{Layers: standing(l), Kubeconfig: l.Kubeconfig()}
			for _, p := range ps {
				s.Processes = append(s.Processes, row{p.Name, p.PID, p.Running(), l.Log(p.Name)})
			}
			if asJSON {
				return json.NewEncoder(c.OutOrStdout()).Encode(s)
			}
			if len(s.Layers) == 0 && len(ps) == 0 {
				l.Say("down")
				return nil
			}
			l.Say("up: %s", strings.Join(s.Layers, ", "))
			for _, p := range s.Processes {
				word := "runs"
				if !p.Running {
					word = "ENDED"
				}
				l.Say("%-26s %-6s %7d  %s", p.Name, word, p.PID, p.Log)
			}
			return nil
		}}
	c.Flags().BoolVar(&asJSON, "json", false, "for programs")
	return c
}

func logsCommand() *cobra.Command {
	return &cobra.Command{Use: "logs NAME", Short: "what a process of the lab wrote", Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			l, err := lab.Open(c.OutOrStdout())
			if err != nil {
				return err
			}
			f, err := os.Open(l.Log(args[0]))
			if err != nil {
				return fmt.Errorf("there is no log of %q: see status", args[0])
			}
			defer f.Close()
			_, err = io.Copy(c.OutOrStdout(), f)
			return err
		}}
}

func execCommand() *cobra.Command {
	var dir string
	c := &cobra.Command{Use: "exec -- CMD ARG...", Short: "run a command in the lab's network, as its administrator", Args: cobra.MinimumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			l, err := lab.Open(c.ErrOrStderr())
			if err != nil {
				return err
			}
			if !l.HasNetwork() {
				return errors.New("the lab is down: go run . up")
			}
			self, err := l.Self()
			if err != nil {
				return err
			}
			if err := os.Chdir(dir); err != nil {
				return err
			}
			return l.Enter(args, append(os.Environ(), "KUBECONFIG="+l.Kubeconfig(), "LANDFALL_CLUSTER_LAYERS="+strings.Join(standing(l), ","),
				"LANDFALL_CLUSTER="+self, "LANDFALL_CLUSTER_DIR="+l.Dir))
		}}
	c.Flags().StringVar(&dir, "dir", ".", "where the command runs")
	return c
}

func restartCommand() *cobra.Command {
	return &cobra.Command{Use: "restart NAME", Short: "end a process of the lab and start it again", Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			return insideLab(c, func(l *lab.Lab) error { return l.Restart(args[0]) })
		}}
}

func pauseCommand() *cobra.Command {
	return &cobra.Command{Use: "pause NAME DURATION", Short: "stop a process for a while, as a stalled disk would", Args: cobra.ExactArgs(2),
		RunE: func(c *cobra.Command, args []string) error {
			d, err := time.ParseDuration(args[1])
			if err != nil {
				return err
			}
			return insideLab(c, func(l *lab.Lab) error { return l.Pause(c.Context(), args[0], d) })
		}}
}

// insideLab runs f in the lab's network, under the lab's lock.
func insideLab(c *cobra.Command, f func(*lab.Lab) error) error {
	return inNetwork(c, func(l *lab.Lab) error {
		if err := l.Lock(c.Context()); err != nil {
			return err
		}
		return f(l)
	})
}

// inNetwork runs f in the lab's network.
func inNetwork(c *cobra.Command, f func(*lab.Lab) error) error {
	l, err := lab.Open(c.OutOrStdout())
	if err != nil {
		return err
	}
	if !lab.Inside() {
		self, err := os.Executable()
		if err != nil {
			return err
		}
		return l.Enter(append([]string{self}, os.Args[1:]...), os.Environ())
	}
	return f(l)
}
