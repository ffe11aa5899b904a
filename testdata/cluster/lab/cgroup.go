package lab

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// removeCgroup ends what runs in the group and in those below it, and removes them.
func removeCgroup(path string) error {
	var groups []string
	err := filepath.WalkDir(path, func(p string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() {
			groups = append(groups, p)
		}
		return err
	})
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	for end := time.Now().Add(20 * time.Second); ; time.Sleep(50 * time.Millisecond) {
		err = nil
		for _, g := range slices.Backward(groups) {
			endAll(g)
			if e := os.Remove(g); e != nil && !errors.Is(e, fs.ErrNotExist) {
				err = fmt.Errorf("remove the group %s: %w", g, e)
			}
		}
		if err == nil || time.Now().After(end) {
			return err
		}
	}
}

func endAll(group string) {
	b, err := os.ReadFile(filepath.Join(group, "cgroup.procs"))
	if err != nil {
		return
	}
	for _, f := range strings.Fields(string(b)) {
		if pid, err := strconv.Atoi(f); err == nil && pid > 1 {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	}
}
