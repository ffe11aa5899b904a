package volume

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

func (m *Maker) path(name string) string { return filepath.Join(m.Mounts, name) }
func (m *Maker) file(name string) string { return filepath.Join(m.Files, name+".ext4") }

// smallest is the smallest file system that is made, whatever a claim asks for.
const smallest = 4 << 20

// mount makes a file system of a size and mounts it. What is left of an earlier attempt is made anew.
func (m *Maker) mount(name string, size int64) error {
	if err := m.unmount(name); err != nil {
		return err
	}
	for _, d := range []string{m.Files, m.path(name)} {
		if err := os.MkdirAll(d, 0o755); err != nil {
			return err
		}
	}
	f, err := os.OpenFile(m.file(name), os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	if err := errors.Join(f.Truncate(max(size, smallest)), f.Close()); err != nil {
		return err
	}
	// Nothing is kept back for root, and there is little else than the disk's own blocks: what is asked for is nearly all there.
	for _, c := range [][]string{
		{"mkfs.ext4", "-q", "-F", "-m", "0", "-N", "256", "-O", "^has_journal,^resize_inode", "-E", "nodiscard", m.file(name)},
		{"mount", "-o", "loop,noatime,discard", m.file(name), m.path(name)},
	} {
		if out, err := exec.Command(c[0], c[1:]...).CombinedOutput(); err != nil {
			return fmt.Errorf("%s: %w: %s", c[0], err, strings.TrimSpace(string(out)))
		}
	}
	return os.Chmod(m.path(name), 0o777)
}

// unmount takes the mount of a volume away; that there is none is success.
func (m *Maker) unmount(name string) error {
	err := unix.Unmount(m.path(name), unix.MNT_DETACH)
	if err != nil && !errors.Is(err, unix.EINVAL) && !errors.Is(err, unix.ENOENT) {
		return fmt.Errorf("unmount %s: %w", m.path(name), err)
	}
	if err := os.Remove(m.path(name)); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return nil
}
