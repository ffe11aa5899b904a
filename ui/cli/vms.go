package cli

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"landfall/engine"
	"landfall/engine/fault"
	"landfall/engine/preflight"
	"landfall/store"
)

// inventoryPatience is how long vms waits for the engine's list.
const inventoryPatience = 2 * time.Minute

func (a *app) vms() *cobra.Command {
	var refresh bool
	cmd := &cobra.Command{Use: "vms [NAME…]", Short: "List the VMs of the sources, with what blocks each",
		RunE: a.withStore(func(ctx context.Context, s *store.Store, args []string) error {
			list, err := a.inventory(ctx, s, refresh)
			if err != nil {
				return err
			}
			if len(args) > 0 {
				if list, err = pick(list, args); err != nil {
					return err
				}
			}
			endpoints, err := s.Endpoints(ctx)
			if err != nil {
				return err
			}
			return a.print(list, func(w io.Writer) {
				lines := make([][]string, len(list))
				for i, l := range list {
					v := l.VM
					label, _ := verdict(endpoints, l)
					lines[i] = []string{v.Ref.String(), string(v.Power), fmt.Sprint(v.CPUs), bytesText(v.MemoryMiB << 20), fmt.Sprint(v.Disks), bytesText(v.Provision), string(v.Tools), label, string(l.Phase), v.Folder, v.Name}
				}
				rows(w, "ID | POWER | CPU | MEMORY | DISKS | SIZE | TOOLS | VERDICT | MIGRATION | FOLDER | NAME", lines)
				for _, e := range endpoints {
					if e.Failure != "" {
						rows(w, "SOURCE "+e.Name+" could not be listed: ", [][]string{{e.Failure}})
					}
				}
			})
		})}
	cmd.Flags().BoolVar(&refresh, "refresh", false, "have the sources listed anew first")
	return cmd
}

// inventory gives the cached VMs; where there are none yet, or a refresh is asked for, it has the engine take them.
func (a *app) inventory(ctx context.Context, s *store.Store, refresh bool) ([]engine.Listed, error) {
	endpoints, err := s.Endpoints(ctx)
	if err != nil {
		return nil, err
	}
	if len(endpoints) == 0 {
		return nil, fault.Hint(fmt.Errorf("workspace %s knows no source", a.workspace), "add one: landfall connect --help")
	}
	asked := map[string]time.Time{}
	for _, e := range endpoints {
		if refresh || (e.Taken.IsZero() && e.Failure == "") {
			asked[e.Name] = e.Taken
			if !a.readOnly {
				if err := s.Refresh(ctx, e.Name, a.person()); err != nil {
					return nil, err
				}
			}
		}
	}
	if len(asked) > 0 && !a.readOnly {
		if err := a.startEngine(ctx); err != nil {
			return nil, err
		}
		if err := listed(ctx, s, asked); err != nil {
			return nil, err
		}
	}
	return s.Inventory(ctx)
}

// listed waits until every endpoint was taken after the time it had, or could not be.
func listed(ctx context.Context, s *store.Store, before map[string]time.Time) error {
	ctx, cancel := context.WithTimeout(ctx, inventoryPatience)
	defer cancel()
	for {
		endpoints, err := s.Endpoints(ctx)
		if err != nil {
			return err
		}
		waiting := 0
		for _, e := range endpoints {
			if old, ok := before[e.Name]; ok && !e.Taken.After(old) && e.Failure == "" {
				waiting++
			}
		}
		if waiting == 0 {
			return nil
		}
		select {
		case <-ctx.Done():
			return fault.Hint(fmt.Errorf("the engine has not listed %d sources within %s", waiting, inventoryPatience), "look at %s in the workspace", logName)
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// pick gives the VMs that the keys name, each by id, instance UUID or unique name.
func pick(list []engine.Listed, keys []string) ([]engine.Listed, error) {
	var out []engine.Listed
	for _, k := range keys {
		var found []engine.Listed
		for _, l := range list {
			if l.VM.Ref.MoRef == k || strings.EqualFold(l.VM.Ref.InstanceUUID, k) || l.VM.Name == k {
				found = append(found, l)
			}
		}
		switch len(found) {
		case 1:
			out = append(out, found[0])
		case 0:
			return nil, fault.Hint(fmt.Errorf("no VM is called %q", k), "landfall vms lists them; names are exact")
		default:
			var ids []string
			for _, l := range found {
				ids = append(ids, fmt.Sprintf("%s (%s, %s)", l.VM.Ref, l.Endpoint, l.VM.Folder))
			}
			return nil, fault.Hint(fmt.Errorf("%d VMs are called %q: %s", len(found), k, strings.Join(ids, "; ")), "use the id")
		}
	}
	return out, nil
}

// verdict judges a listed VM by what the inventory tells; what only the cluster can tell is judged when a migration starts.
func verdict(endpoints []engine.Endpoint, l engine.Listed) (string, preflight.Level) {
	if len(l.VM.DiskList) == 0 && l.VM.Disks > 0 {
		return "not looked at", ""
	}
	for _, e := range endpoints {
		if e.Name != l.Endpoint {
			continue
		}
		fs := preflight.Inventory(l.VM, documentFor(e, l).Spec.Default())
		worst := preflight.Worst(fs)
		switch worst {
		case preflight.Blocker:
			return plural(preflight.Count(fs, worst), "blocker"), worst
		case preflight.Decide:
			return plural(preflight.Count(fs, worst), "decision"), worst
		case preflight.Warning:
			return plural(preflight.Count(fs, worst), "warning"), worst
		}
		return "ready", ""
	}
	return "unknown", ""
}

func plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
