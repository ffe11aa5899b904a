package lab

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

func lookPath(name string) (string, error) { return exec.LookPath(name) }

// Process is one that the lab starts.
type Process struct {
	Name string   `json:"name"`
	Argv []string `json:"argv"`
	Env  []string `json:"env,omitempty"` // all of it, but for PATH, HOME and TMPDIR
	Dir  string   `json:"dir,omitempty"`
	// PID and Born identify it while it runs: a number is used again, together with the time of birth it is not.
	PID  int    `json:"pid"`
	Born string `json:"born"`
}

// Running tells whether it lives.
func (p Process) Running() bool {
	at, err := born(p.PID)
	return err == nil && p.PID > 0 && at == p.Born
}

// born is the time at which a process started, in ticks since the machine did; a zombie counts as ended.
func born(pid int) (string, error) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return "", err
	}
	// The name, in parentheses, may hold anything.
	f := strings.Fields(string(b[bytes.LastIndexByte(b, ')')+1:]))
	if len(f) < 20 || f[0] == "Z" {
		return "", errors.New("it has ended")
	}
	return f[19], nil
}

// Log is where the process writes.
func (l *Lab) Log(name string) string { return l.Path("logs", name+".log") }

func (l *Lab) record(name string) string { return l.Path("processes", name+".json") }

// Start starts the process in a session of its own and in the network of this one. The same process already running is
// left alone; one of that name with other arguments is replaced.
func (l *Lab) Start(p Process) error {
	if old, err := l.Process(p.Name); err == nil && old.Running() {
		if slices.Equal(old.Argv, p.Argv) && slices.Equal(old.Env, p.Env) {
			return nil
		}
		if err := l.Stop(p.Name); err != nil {
			return err
		}
	}
	log, err := os.OpenFile(l.Log(p.Name), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("start %s: %w", p.Name, err)
	}
	defer log.Close()
	tmp := l.Path("tmp")
	if err := os.MkdirAll(tmp, 0o700); err != nil {
		return fmt.Errorf("start %s: %w", p.Name, err)
	}
	c := exec.Command(p.Argv[0], p.Argv[1:]...)
	c.Env = append([]string{"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME=" + l.Path(), "TMPDIR=" + tmp}, p.Env...)
	c.Dir, c.Stdout, c.Stderr = p.Dir, log, log
	c.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := c.Start(); err != nil {
		return fmt.Errorf("start %s: %w", p.Name, err)
	}
	p.PID = c.Process.Pid
	if p.Born, err = born(p.PID); err != nil {
		return fmt.Errorf("start %s: %w; see %s", p.Name, err, l.Log(p.Name))
	}
	b, err := json.Marshal(p)
	if err == nil {
		err = os.WriteFile(l.record(p.Name), b, 0o600)
	}
	if err != nil {
		_ = c.Process.Kill()
		return fmt.Errorf("start %s: %w", p.Name, err)
	}
	go func() { _ = c.Wait() }()
	return nil
}

// Process is what is recorded of a process.
func (l *Lab) Process(name string) (p Process, err error) {
	b, err := os.ReadFile(l.record(name))
	if err == nil {
		err = json.Unmarshal(b, &p)
	}
	return p, err
}

// Processes are all that are recorded, the newest last.
func (l *Lab) Processes() ([]Process, error) {
	files, err := filepath.Glob(l.record("*"))
	if err != nil {
		return nil, err
	}
	var all []Process
	for _, f := range files {
		p, err := l.Process(strings.TrimSuffix(filepath.Base(f), ".json"))
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", f, err)
		}
		all = append(all, p)
	}
	slices.SortFunc(all, func(a, b Process) int {
		x, _ := strconv.Atoi(a.Born)
		y, _ := strconv.Atoi(b.Born)
		return x - y
	})
	return all, nil
}

// Stop asks the process to end, then ends it, and forgets it. One that has ended already is success.
func (l *Lab) Stop(name string) error {
	p, err := l.Process(name)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("stop %s: %w", name, err)
	}
	for _, s := range []struct {
		sig  syscall.Signal
		wait time.Duration
	}{{syscall.SIGCONT, 0}, {syscall.SIGTERM, 10 * time.Second}, {syscall.SIGKILL, 5 * time.Second}} {
		if p.Running() {
			_ = syscall.Kill(p.PID, s.sig)
		}
		for end := time.Now().Add(s.wait); p.Running() && time.Now().Before(end); {
			time.Sleep(20 * time.Millisecond)
		}
	}
	if p.Running() {
		return fmt.Errorf("stop %s: process %d does not end", name, p.PID)
	}
	return os.Remove(l.record(name))
}

// Signal sends a signal to a process that runs.
func (l *Lab) Signal(name string, s syscall.Signal) error {
	p, err := l.Process(name)
	if err != nil || !p.Running() {
		return fmt.Errorf("signal %s: it does not run", name)
	}
	return syscall.Kill(p.PID, s)
}

// Restart stops the process and starts it as it was.
func (l *Lab) Restart(name string) error {
	p, err := l.Process(name)
	if err != nil {
		return fmt.Errorf("restart %s: %w", name, err)
	}
	if err := l.Stop(name); err != nil {
		return err
	}
	return l.Start(p)
}

// Pause stops a process for a while and lets it go on.
func (l *Lab) Pause(ctx context.Context, name string, d time.Duration) error {
	if err := l.Signal(name, syscall.SIGSTOP); err != nil {
		return err
	}
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
	return l.Signal(name, syscall.SIGCONT)
}

// Dead gives the names of the processes that are recorded and do not run.
func (l *Lab) Dead() (names []string, err error) {
	all, err := l.Processes()
	for _, p := range all {
		if !p.Running() {
			names = append(names, p.Name)
		}
	}
	return names, err
}
