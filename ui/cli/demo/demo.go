// Package demo sets up a world to try Landfall in: a simulated ESXi and a simulated cluster, each in a process of its own, with
// VMs of different fates. It knows the simulators and not the engine, the store or the console.
package demo

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sync/errgroup"

	"landfall/sources/esxsim"
	"landfall/targets/kubesim"
)

// Password is the simulated host's; the demo keeps it in a file as an operator would.
const Password = "demo only"

// Namespace is where the demo's VMs go.
const Namespace = "vms"

// The hidden verbs of the program that run the simulators.
const (
	HostVerb    = "simulate-esxi"
	ClusterVerb = "simulate-cluster"
)

// World is a running demo.
type World struct {
	Dir     string
	Host    esxsim.Ready
	Cluster kubesim.Ready
}

// PasswordFile holds the simulated host's password.
func (w World) PasswordFile() string { return filepath.Join(w.Dir, "password") }

// Start finds the demo's simulators running in dir, or starts them with the program exe.
func Start(ctx context.Context, dir, exe string) (World, error) {
	w := World{Dir: dir}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return w, err
	}
	if err := os.WriteFile(w.PasswordFile(), []byte(Password+"\n"), 0o600); err != nil {
		return w, err
	}
	cfg, err := host(dir)
	if err != nil {
		return w, err
	}
	hostReady, clusterReady := filepath.Join(dir, "esxi-ready.json"), filepath.Join(dir, "cluster-ready.json")
	cfg.ReadyFile = hostReady
	if err := writeJSON(filepath.Join(dir, "esxi.json"), cfg); err != nil {
		return w, err
	}
	if err := writeJSON(filepath.Join(dir, "cluster.json"), cluster(dir, clusterReady)); err != nil {
		return w, err
	}
	var g errgroup.Group
	g.Go(func() error { return launch(ctx, dir, exe, HostVerb, "esxi.json", hostReady) })
	g.Go(func() error { return launch(ctx, dir, exe, ClusterVerb, "cluster.json", clusterReady) })
	if err := g.Wait(); err != nil {
		return w, err
	}
	if w.Host, err = esxsim.ReadReady(hostReady); err != nil {
		return w, err
	}
	if w.Cluster, err = kubesim.ReadReady(clusterReady); err != nil {
		return w, err
	}
	return w, taken(ctx, w.Cluster.Kubeconfig)
}

// launch starts one simulator in a session of its own, unless it answers, and waits until it does.
func launch(ctx context.Context, dir, exe, verb, config, ready string) error {
	if answers(ready) {
		return nil
	}
	if err := os.Remove(ready); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	path := filepath.Join(dir, verb+".log")
	log, err := os.OpenFile(path, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer log.Close()
	cmd := exec.Command(exe, verb, filepath.Join(dir, config))
	cmd.Dir, cmd.Stdout, cmd.Stderr = dir, log, log
	cmd.Env = append(os.Environ(), "TMPDIR="+dir)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("start %s: %w", verb, err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	for {
		if answers(ready) {
			return nil
		}
		select {
		case err := <-ended:
			if err == nil {
				err = errors.New("without an error")
			}
			b, _ := os.ReadFile(path)
			return fmt.Errorf("%s ended at once (%w): %s", verb, err, strings.TrimSpace(string(b)))
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// answers tells whether the simulator of a ready file is there.
func answers(ready string) bool {
	var r struct {
		PID    int
		URL    string
		Server string
	}
	b, err := os.ReadFile(ready)
	if err != nil || json.Unmarshal(b, &r) != nil || r.PID <= 0 || syscall.Kill(r.PID, 0) != nil {
		return false
	}
	u, err := url.Parse(r.URL + r.Server)
	if err != nil {
		return false
	}
	c, err := net.DialTimeout("tcp", u.Host, time.Second)
	if err != nil {
		return false
	}
	c.Close()
	return true
}

// Stop ends the simulators of dir.
func Stop(dir string) error {
	for _, name := range []string{"esxi-ready.json", "cluster-ready.json"} {
		ready := filepath.Join(dir, name)
		if !answers(ready) {
			continue
		}
		var r struct{ PID int }
		b, err := os.ReadFile(ready)
		if err != nil {
			return err
		}
		if err := json.Unmarshal(b, &r); err != nil {
			return err
		}
		if err := syscall.Kill(r.PID, syscall.SIGTERM); err != nil {
			return err
		}
		for i := 0; i < 500 && syscall.Kill(r.PID, 0) == nil; i++ {
			time.Sleep(10 * time.Millisecond)
		}
	}
	return nil
}

func writeJSON(path string, v any) error {
	b, err := json.MarshalIndent(v, "", " ")
	if err != nil {
		return err
	}
	return os.WriteFile(path, b, 0o600)
}
