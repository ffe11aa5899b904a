package cli

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"landfall/engine"
	"landfall/engine/spec"
	"landfall/store"
)

// check is one line of doctor.
type check struct {
	What   string `json:"what"`
	OK     bool   `json:"ok"`
	Found  string `json:"found"`
	Advice string `json:"advice,omitempty"`
}

func (a *app) doctor() *cobra.Command {
	return &cobra.Command{Use: "doctor", Short: "Check this machine, the workspace, the engine and the endpoints", Args: cobra.NoArgs,
		RunE: a.withStore(func(ctx context.Context, s *store.Store, _ []string) error {
			cs := append(a.machineChecks(ctx), a.engineCheck(ctx, s))
			endpoints, err := s.Endpoints(ctx)
			if err != nil {
				return err
			}
			for _, e := range endpoints {
				cs = append(cs, sourceCheck(ctx, e), targetCheck(ctx, e))
			}
			bad := 0
			for _, c := range cs {
				if !c.OK {
					bad++
				}
			}
			if err := a.print(cs, func(w io.Writer) {
				lines := make([][]string, len(cs))
				for i, c := range cs {
					lines[i] = []string{map[bool]string{true: "ok", false: "LOOK"}[c.OK], c.What, c.Found, c.Advice}
				}
				rows(w, " | CHECK | FOUND | TRY", lines)
			}); err != nil {
				return err
			}
			if bad > 0 {
				return fmt.Errorf("%s to look at", plural(bad, "thing"))
			}
			return nil
		})}
}

func (a *app) machineChecks(ctx context.Context) []check {
	h := hostFacts(ctx, a.workspace, spec.Spec{Strategy: spec.Strategy{Conversion: spec.ConvertQemuImg}})
	cs := []check{
		{What: "workspace", OK: true, Found: a.workspace},
		{What: "room for staging", OK: h.Free > 10<<30, Found: bytesText(h.Free), Advice: advice(h.Free <= 10<<30, "every disk is staged once: keep room for the data of the VMs that are moved at once")},
		{What: "qemu-img", OK: true, Found: "not found; only needed for conversion QemuImg"},
		{What: "logout", OK: true, Found: "the engine outlives the session"},
	}
	if h.QemuImg != "" {
		cs[2].Found = h.QemuImg
	}
	if killsAtLogout("/etc/systemd") {
		cs[3] = check{"logout", false, "KillUserProcesses=yes: the engine would end when you log out", "loginctl enable-linger, or run landfall engine as a systemd service (docs/operations.md)"}
	}
	return cs
}

func advice(show bool, text string) string {
	if show {
		return text
	}
	return ""
}

// killsAtLogout reads logind's configuration below a directory; the last word counts.
func killsAtLogout(etc string) (kill bool) {
	files, _ := filepath.Glob(filepath.Join(etc, "logind.conf.d", "*.conf"))
	for _, path := range append([]string{filepath.Join(etc, "logind.conf")}, files...) {
		f, err := os.Open(path)
		if err != nil {
			continue
		}
		for sc := bufio.NewScanner(f); sc.Scan(); {
			if k, v, ok := strings.Cut(strings.TrimSpace(sc.Text()), "="); ok && k == "KillUserProcesses" {
				kill = strings.EqualFold(v, "yes") || strings.EqualFold(v, "true") || v == "1"
			}
		}
		f.Close()
	}
	return kill
}

func (a *app) engineCheck(ctx context.Context, s *store.Store) check {
	if !store.EngineAlive(a.workspace) {
		return check{"engine", false, "does not run", "landfall starts it, or: landfall engine"}
	}
	b, err := s.Beat(ctx)
	if err != nil {
		return check{"engine", false, "runs and has not written a sign of life: " + err.Error(), "look at " + logName}
	}
	old := time.Since(b.Beat)
	return check{"engine", old < 30*time.Second, fmt.Sprintf("process %d, version %s, last sign of life %s ago", b.PID, b.Version, old.Round(time.Second)), advice(old >= 30*time.Second, "it hangs: look at "+logName)}
}

func sourceCheck(ctx context.Context, e engine.Endpoint) check {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	c, err := dialSource(ctx, e.Source.Default(), true)
	if err != nil {
		return check{"source " + e.Name, false, err.Error(), "mend it, or connect it anew: landfall connect"}
	}
	defer c.Close()
	return check{"source " + e.Name, true, c.About().Product, c.About().ReadOnly}
}

func targetCheck(ctx context.Context, e engine.Endpoint) check {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	t, err := dialTarget(ctx, e.Target, true)
	if err != nil {
		return check{"target of " + e.Name, false, err.Error(), "check kubeconfig and context"}
	}
	defer t.Close()
	about, err := t.About(ctx)
	if err != nil {
		return check{"target of " + e.Name, false, err.Error(), "check network and credentials"}
	}
	return check{"target of " + e.Name, about.KubeVirt != "" && about.CDI != "",
		fmt.Sprintf("context %s at %s: Kubernetes %s, KubeVirt %s, CDI %s", about.Context, about.Server, about.Kubernetes, about.KubeVirt, about.CDI), ""}
}
