package store

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// place gives a finished, synced file its name, durably, and never over another file.
func place(draft, file string) error {
	err := unix.Renameat2(unix.AT_FDCWD, draft, unix.AT_FDCWD, file, unix.RENAME_NOREPLACE)
	if errors.Is(err, unix.EINVAL) || errors.Is(err, unix.ENOSYS) { // not on every file system
		if _, err := os.Lstat(file); !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("rename to %s: %w", file, fs.ErrExist)
		}
		err = os.Rename(draft, file)
	}
	if err != nil {
		return fmt.Errorf("rename to %s: %w", file, err)
	}
	return syncDir(filepath.Dir(file))
}
