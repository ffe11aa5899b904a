package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"landfall/engine"
	"landfall/engine/fault"
	"landfall/engine/plaintext"
	"landfall/store"
)

// decide lists what waits for a person, or takes one decision.
func (a *app) decide() *cobra.Command {
	var answer, name string
	cmd := &cobra.Command{Use: "decide [DECISION]", Short: "List what waits for a person, or decide it", Args: cobra.MaximumNArgs(1),
		Long: "Without a decision, list what waits. With one (its id, or a migration that waits for just one), show what each answer does;\n--answer takes it. An answer that cannot be undone needs the VM's name: --confirm NAME.",
		RunE: a.withStore(func(ctx context.Context, s *store.Store, args []string) error {
			waiting, err := s.Waiting(ctx)
			if err != nil {
				return err
			}
			if len(args) == 0 {
				return a.print(waiting, func(w io.Writer) {
					lines := make([][]string, len(waiting))
					for i, d := range waiting {
						lines[i] = []string{d.ID, d.Opened.Local().Format("15:04:05"), choices(d), d.Question}
					}
					rows(w, "DECISION | SINCE | ANSWERS | QUESTION", lines)
				})
			}
			d, err := choose(waiting, args[0])
			if err != nil {
				return err
			}
			if answer == "" {
				return a.print(d, func(w io.Writer) { explain(w, d) })
			}
			if err := a.mayChange(); err != nil {
				return err
			}
			return a.take(ctx, s, d, answer, name)
		})}
	cmd.Flags().StringVar(&answer, "answer", "", "the answer")
	cmd.Flags().StringVar(&name, "confirm", "", "the VM's name, for an answer that cannot be undone")
	return cmd
}

func choices(d engine.Decision) string {
	ids := make([]string, len(d.Options))
	for i, o := range d.Options {
		ids[i] = o.ID
	}
	return strings.Join(ids, ",")
}

func choose(waiting []engine.Decision, key string) (engine.Decision, error) {
	var found []engine.Decision
	for _, d := range waiting {
		if d.ID == key {
			return d, nil
		}
		if strings.HasPrefix(d.ID, key) || strings.HasPrefix(d.Migration, key) {
			found = append(found, d)
		}
	}
	switch len(found) {
	case 1:
		return found[0], nil
	case 0:
		return engine.Decision{}, fault.Hint(fmt.Errorf("no open decision %q", key), "it may have been taken: landfall decide lists what waits")
	}
	return engine.Decision{}, fault.Hint(fmt.Errorf("%d decisions wait for %q", len(found), key), "name one by its id: landfall decide")
}

func explain(w io.Writer, d engine.Decision) {
	fmt.Fprintf(w, "%s\n%s\n\n", plaintext.Label(d.Question), plaintext.Text(d.Why))
	lines := make([][]string, len(d.Options))
	for i, o := range d.Options {
		danger := ""
		if o.Dangerous {
			danger = "cannot be undone"
		}
		lines[i] = []string{o.ID, o.Label, danger, o.Effect}
	}
	rows(w, "ANSWER | MEANS |  | WHAT HAPPENS", lines)
}

func (a *app) take(ctx context.Context, s *store.Store, d engine.Decision, answer, name string) error {
	i := slices.IndexFunc(d.Options, func(o engine.Option) bool { return o.ID == answer })
	if i < 0 {
		return usageError{fmt.Errorf("%q is not an answer: %s", answer, choices(d))}
	}
	if d.Options[i].Dangerous {
		m, err := s.Find(ctx, d.Migration)
		if err != nil {
			return err
		}
		if err := a.confirm(m, d.Options[i].Effect, name); err != nil {
			return err
		}
	}
	taken, err := s.Answer(ctx, d.ID, d.Version, answer, a.person())
	if errors.Is(err, engine.ErrStale) && taken.Answer != "" {
		return fmt.Errorf("decided already: %s by %s from %s", taken.Answer, taken.By, taken.From)
	}
	if err != nil {
		return err
	}
	fmt.Fprintf(a.Out, "decided: %s\n", d.Options[i].Label)
	return nil
}

// confirm wants the VM's name for what cannot be undone: as a flag, or typed at a terminal. A name that cannot be typed as it is
// is stood for by the VM's id.
func (a *app) confirm(m engine.Migration, effect, name string) error {
	want := m.VMName()
	if plaintext.Label(want) != want && m.Status.Inventory != nil {
		want = m.Status.Inventory.Ref.String()
	}
	if name == "" {
		fmt.Fprintf(a.Out, "%s\nType %s to confirm: ", plaintext.Label(effect), want)
		line, err := bufio.NewReader(a.In).ReadString('\n')
		if err != nil && line == "" {
			return fault.Hint(errors.New("not confirmed"), "--confirm %q", want)
		}
		name = strings.TrimRight(line, "\r\n")
	}
	if name != want {
		return fault.Hint(fmt.Errorf("not confirmed: %q does not name the VM", name), "--confirm %q", want)
	}
	return nil
}
