package cli

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"landfall/engine"
	"landfall/store"
)

func (a *app) list() *cobra.Command {
	return &cobra.Command{Use: "list", Short: "List migrations, slim", Args: cobra.NoArgs,
		RunE: a.withStore(func(ctx context.Context, s *store.Store, _ []string) error {
			lines, err := s.Lines(ctx)
			if err != nil {
				return err
			}
			now := time.Now()
			return a.print(lines, func(w io.Writer) {
				cells := make([][]string, len(lines))
				for i, l := range lines {
					cells[i] = []string{l.UID[:8], phaseText(l), amount(l), eta(l), ago(l.Since, now), l.Namespace, l.Name, cmp.Or(l.Message, onlineText(l))}
				}
				rows(w, "ID | PHASE | MOVED | ETA | SINCE | NAMESPACE | NAME | MESSAGE", cells)
				if !store.EngineAlive(a.workspace) {
					fmt.Fprintln(w, "\nno engine runs: nothing goes on until it is started (landfall, or landfall engine)")
				}
			})
		})}
}

func phaseText(l engine.Line) string {
	t := string(l.Phase)
	if l.Phase.Rest() {
		t += " (" + string(l.Resume) + ")"
	}
	if online(l) {
		t += " " + string(l.Warm.Phase)
	}
	if l.Queue > 0 {
		t += fmt.Sprintf(" queued %d", l.Queue)
	}
	return t
}

// online tells whether the migration follows a running source just now.
func online(l engine.Line) bool {
	at := l.Phase
	if at.Rest() {
		at = l.Resume
	}
	return l.Warm != nil && at == engine.Preparing
}

// onlineText says how far it is behind.
func onlineText(l engine.Line) string {
	if !online(l) || l.Warm.Rounds == 0 {
		return ""
	}
	gap := "gap not known yet"
	if l.Warm.Gap >= 0 {
		gap = bytesText(l.Warm.Gap) + " behind"
	}
	text := fmt.Sprintf("%s after %d rounds", gap, l.Warm.Rounds)
	if l.Warm.Waiting != "" {
		text += "; " + l.Warm.Waiting
	}
	return text
}

func amount(l engine.Line) string {
	if l.Total == 0 {
		return "-"
	}
	return bytesText(l.Done) + " of " + bytesText(l.Total)
}

func eta(l engine.Line) string {
	switch {
	case l.Total == 0 || l.Phase.Rest() || l.Phase.Terminal():
		return "-"
	case l.ETA == 0:
		return "unknown"
	}
	return time.Duration(l.ETA * float64(time.Second)).Round(time.Second).String()
}

func (a *app) status() *cobra.Command {
	return &cobra.Command{Use: "status MIGRATION", Short: "Show the whole document of one migration", Args: cobra.ExactArgs(1),
		RunE: a.withStore(func(ctx context.Context, s *store.Store, args []string) error {
			m, err := s.Find(ctx, args[0])
			if err != nil {
				return err
			}
			if a.output == "table" {
				a.output = "yaml"
			}
			ds, err := s.Decisions(ctx, m.UID)
			if err != nil {
				return err
			}
			held, err := s.Held(ctx, m.UID)
			if err != nil {
				return err
			}
			return a.print(struct {
				engine.Migration
				Decisions []engine.Decision `json:"decisions,omitempty"`
				Held      []engine.Held     `json:"held,omitempty"`
			}{m, ds, held}, nil)
		})}
}
