package lab

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// undo is one thing that down puts back.
type undo struct {
	What string   `json:"what"`
	Args []string `json:"args"`
}

func (l *Lab) undoList() string { return l.Path("undo") }

// Undo writes down how a change is put back; it is called before the change is made, so that an interrupted command leaves
// nothing unknown. What it knows: "unmount PATH" (with all mounts below it), "remove PATH", "write PATH CONTENT",
// "cgroup PATH" (with what runs in it and in those below it) and "run COMMAND ARG...", which may fail. Putting back what was
// never done is success.
func (l *Lab) Undo(what string, args ...string) error {
	f, err := os.OpenFile(l.undoList(), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("write down how to undo: %w", err)
	}
	defer f.Close()
	b, err := json.Marshal(undo{what, args})
	if err != nil {
		return err
	}
	if _, err := f.Write(append(b, '\n')); err != nil {
		return fmt.Errorf("write down how to undo: %w", err)
	}
	return f.Sync()
}

// Down ends every process, puts everything back in reverse order and removes the folder of the run. What cannot be put
// back is told, and stays on the list.
func (l *Lab) Down() error {
	ps, err := l.Processes()
	if err != nil {
		return err
	}
	var failed []error
	for _, p := range slices.Backward(ps) {
		if err := l.Stop(p.Name); err != nil {
			failed = append(failed, err)
		}
	}
	b, err := os.ReadFile(l.undoList())
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	var list []undo
	for s := bufio.NewScanner(strings.NewReader(string(b))); s.Scan(); {
		var u undo
		if json.Unmarshal(s.Bytes(), &u) == nil { // a line that was cut off was never acted on
			list = append(list, u)
		}
	}
	for _, u := range slices.Backward(list) {
		if err := u.do(); err != nil {
			failed = append(failed, fmt.Errorf("%s %s: %w", u.What, strings.Join(u.Args, " "), err))
		}
	}
	if err := errors.Join(failed...); err != nil {
		return err
	}
	return os.RemoveAll(l.Path())
}

func (u undo) do() error {
	switch u.What {
	case "unmount":
		return unmount(u.Args[0])
	case "remove":
		return os.RemoveAll(u.Args[0])
	case "cgroup":
		return removeCgroup(u.Args[0])
	case "write":
		return os.WriteFile(u.Args[0], []byte(u.Args[1]), 0o644)
	case "run":
		_ = exec.Command(u.Args[0], u.Args[1:]...).Run()
		return nil
	}
	return errors.New("it is not known how")
}

// unmount takes away the mount at a path and those below it, the newest first.
func unmount(path string) error {
	b, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return err
	}
	var points []string
	for line := range strings.Lines(string(b)) {
		f := strings.Fields(line)
		if len(f) < 5 {
			continue
		}
		point := strings.NewReplacer(`\040`, " ", `\011`, "\t", `\134`, `\`).Replace(f[4])
		if point == path || strings.HasPrefix(point, path+string(filepath.Separator)) {
			points = append(points, point)
		}
	}
	for _, p := range slices.Backward(points) {
		if err := unix.Unmount(p, unix.MNT_DETACH); err != nil {
			return fmt.Errorf("unmount %s: %w", p, err)
		}
	}
	return nil
}
