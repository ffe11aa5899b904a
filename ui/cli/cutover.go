package cli

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"landfall/engine"
	"landfall/engine/fault"
	"landfall/engine/spec"
	"landfall/store"
)

// cutover gives the word to stop the source of a warm migration.
func (a *app) cutover() *cobra.Command {
	var name string
	cmd := &cobra.Command{Use: "cutover MIGRATION", Short: "Give the word to stop a warm migration's source and switch over", Args: cobra.ExactArgs(1),
		Long: "Give the word to stop the source of a warm migration. It is acted on as soon as every disk has converged and the target is\nready: the guest is asked to shut down, as powerOffPolicy says. hold takes the word back until then.",
		RunE: a.changing(func(ctx context.Context, s *store.Store, args []string) error {
			m, err := s.Find(ctx, args[0])
			if err != nil {
				return err
			}
			effect := m.VMName() + " is shut down as soon as the target is ready. " + projected(m)
			if err := a.confirm(m, effect, name); err != nil {
				return err
			}
			if err := s.CutOver(ctx, m.UID, a.person()); err != nil {
				return err
			}
			fmt.Fprintf(a.Out, "the word is given. %s\nlandfall status shows what it waits for, landfall hold takes it back\n", projected(m))
			return a.startEngine(ctx)
		})}
	cmd.Flags().StringVar(&name, "confirm", "", "the VM's name")
	return cmd
}

// projected says how long the service would be down.
func projected(m engine.Migration) string {
	if m.Status.Warm != nil {
		switch total, known := m.Status.Warm.Forecast.Total(); {
		case known:
			return fmt.Sprintf("Projected downtime: %s.", total.Round(time.Second))
		case total >= time.Second:
			return fmt.Sprintf("Projected downtime: at least %s; not all of it is known.", total.Round(time.Second))
		}
	}
	return "Projected downtime: not known yet."
}

// live are the verbs that change what a running migration looks at in every turn.
func (a *app) live() []*cobra.Command {
	var off bool
	hold := a.setting("hold MIGRATION", "Hold the cutover of a warm migration; --off takes the hold back", 1, func(d *spec.Document, _ []string) (string, error) {
		if d.Spec.Strategy.Type != "Warm" {
			return "", fault.Hint(errors.New("it is not a warm migration: nothing is cut over"), "landfall pause holds its copy")
		}
		d.Spec.Strategy.Warm.Hold = !off
		return map[bool]string{true: "the hold is taken back; a word to cut over is to be given anew", false: "the cutover is held"}[off], nil
	})
	hold.Flags().BoolVar(&off, "off", false, "take the hold back")
	return []*cobra.Command{hold,
		a.setting("throttle MIGRATION RATE", "Limit how fast a source is read: bytes per second, K, M or G, 0 for no limit", 2, func(d *spec.Document, args []string) (string, error) {
			rate, err := bytesPerSecond(args[1])
			if err != nil {
				return "", usageError{err}
			}
			d.Spec.Strategy.Throttle = rate
			if rate == 0 {
				return "no limit", nil
			}
			return fmt.Sprintf("at most %d bytes per second", rate), nil
		}),
		a.setting("pause MIGRATION", "Hold the copy where it is", 1, func(d *spec.Document, _ []string) (string, error) {
			d.Spec.Strategy.Paused = true
			return "paused", nil
		}),
		a.setting("resume MIGRATION", "Let a paused copy go on", 1, func(d *spec.Document, _ []string) (string, error) {
			d.Spec.Strategy.Paused = false
			return "goes on", nil
		}),
	}
}

// setting is a verb that changes the document of a running migration.
func (a *app) setting(use, short string, args int, change func(*spec.Document, []string) (string, error)) *cobra.Command {
	return &cobra.Command{Use: use, Short: short, Args: cobra.ExactArgs(args),
		RunE: a.changing(func(ctx context.Context, s *store.Store, args []string) error {
			for {
				m, err := s.Find(ctx, args[0])
				if err != nil {
					return err
				}
				d := m.Document
				said, err := change(&d, args)
				if err != nil {
					return err
				}
				switch err := s.Change(ctx, m.UID, m.Generation, d, a.person()); {
				case errors.Is(err, engine.ErrStale):
					continue // another changed it meanwhile
				case err != nil:
					return err
				}
				fmt.Fprintf(a.Out, "%s: %s\n", m.UID[:8], said)
				return nil
			}
		})}
}

// bytesPerSecond reads 800000, 800K, 80M or 1G; the units are of 1024.
func bytesPerSecond(s string) (int64, error) {
	digits, unit := strings.TrimRight(s, "KMGkmg"), int64(1)
	switch suffix := strings.ToUpper(s[len(digits):]); suffix {
	case "":
	case "K", "M", "G":
		unit = map[string]int64{"K": 1 << 10, "M": 1 << 20, "G": 1 << 30}[suffix]
	default:
		return 0, fmt.Errorf("%q is not a rate: a number with K, M or G", s)
	}
	n, err := strconv.ParseInt(digits, 10, 64)
	if err != nil || n < 0 || n > (1<<62)/unit {
		return 0, fmt.Errorf("%q is not a rate: a number with K, M or G", s)
	}
	return n * unit, nil
}
