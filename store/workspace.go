package store

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/gofrs/flock"
	"golang.org/x/sys/unix"

	"landfall/engine/fault"
)

const (
	databaseName = "landfall.db"
	// markName is written after the first database was made, so that a missing one is never taken for a new workspace.
	markName = "landfall.workspace"
)

// Gone is the reason when a used workspace has no database.
const Gone = "DatabaseGone"

// prepare makes the directory if it is absent and refuses one that cannot hold a database safely.
func prepare(dir string, o Options) (string, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	if err := os.Mkdir(dir, 0o700); err == nil {
		if err := syncDir(filepath.Dir(dir)); err != nil {
			return "", err
		}
	} else if errors.Is(err, fs.ErrNotExist) {
		return "", fault.Hint(fault.New(fault.Blocked, fault.NotFound, err), "make %s first, or name another place", filepath.Dir(dir))
	} else if !errors.Is(err, fs.ErrExist) {
		return "", denied(err, filepath.Dir(dir))
	}
	// Resolved, so that a link that is turned elsewhere later does not move the workspace.
	if dir, err = filepath.EvalSymlinks(dir); err != nil {
		return "", err
	}
	if err := private(dir); err != nil {
		return "", err
	}
	kind, err := o.FileSystem(dir)
	if err != nil {
		return "", fmt.Errorf("find the file system's type: %w", err)
	}
	return dir, local(dir, kind)
}

// private refuses a directory that somebody else could change things in, or that we cannot.
func private(dir string) error {
	var st unix.Stat_t
	if err := unix.Stat(dir, &st); err != nil {
		return &fs.PathError{Op: "stat", Path: dir, Err: err}
	}
	switch {
	case st.Mode&unix.S_IFMT != unix.S_IFDIR:
		return fault.Hint(fault.Newf(fault.Blocked, fault.Refused, "%s is not a directory", dir), "name a directory of its own for the workspace")
	case int(st.Uid) != os.Geteuid():
		return fault.Hint(fault.Newf(fault.Blocked, fault.NoPermission, "%s belongs to user %d and this is user %d", dir, st.Uid, os.Geteuid()),
			"work as its owner, or name another place")
	case st.Mode&0o022 != 0:
		return fault.Hint(fault.Newf(fault.Blocked, fault.NoPermission, "%s can be written by others (mode %04o)", dir, st.Mode&0o777),
			"chmod 700 %s", dir)
	}
	if err := unix.Faccessat(unix.AT_FDCWD, dir, unix.R_OK|unix.W_OK|unix.X_OK, unix.AT_EACCESS); err != nil {
		return denied(&fs.PathError{Op: "write to", Path: dir, Err: err}, dir)
	}
	return nil
}

func denied(err error, path string) error {
	if errors.Is(err, unix.EROFS) {
		return fault.Hint(fault.New(fault.Blocked, fault.NoPermission, err), "%s is on a read-only file system: name another place or remount it", path)
	}
	return fault.Hint(fault.New(fault.Blocked, fault.NoPermission, err), "give this user read and write permission on %s (chmod u+rwx), or name another place", path)
}

// guard keeps two processes from making or upgrading the same database.
func guard(ctx context.Context, dir string) (unlock func(), err error) {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	l := flock.New(dir, flock.SetFlag(os.O_RDONLY))
	if _, err := l.TryLockContext(ctx, 10*time.Millisecond); err != nil {
		return nil, fault.New(fault.Transient, Busy, fmt.Errorf("wait for another landfall that is opening it: %w", err))
	}
	return func() { _ = l.Unlock() }, nil
}

// look tells whether there is a database, and refuses what must not be opened, before SQLite could touch it.
func look(dir string) (there bool, err error) {
	file := filepath.Join(dir, databaseName)
	st, err := os.Lstat(file)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		for _, trace := range []string{markName, databaseName + "-wal"} {
			if _, err := os.Lstat(filepath.Join(dir, trace)); err == nil {
				return false, gone(dir, "is missing, and "+trace+" says that there was one")
			}
		}
		return false, nil
	case err != nil:
		return false, err
	case !st.Mode().IsRegular():
		return false, foreign(file, "is not a regular file")
	}
	if err := unix.Faccessat(unix.AT_FDCWD, file, unix.R_OK|unix.W_OK, unix.AT_EACCESS); err != nil {
		return false, denied(&fs.PathError{Op: "write to", Path: file, Err: err}, file)
	}
	if st.Mode().Perm()&0o077 != 0 {
		if err := os.Chmod(file, 0o600); err != nil {
			return false, err
		}
	}
	return true, lookInside(file, st.Size())
}

// lookInside reads the file's header, which is written once and whole before the file gets its name.
func lookInside(file string, size int64) error {
	if size == 0 {
		return fault.Hint(fault.Newf(fault.Permanent, fault.Damaged, "%s is empty (0 bytes)", file), restore)
	}
	f, err := os.Open(file)
	if err != nil {
		return err
	}
	defer f.Close()
	var head [100]byte
	n, err := io.ReadFull(f, head[:])
	magic := "SQLite format 3\x00"
	switch {
	case n < len(magic) || string(head[:len(magic)]) != magic:
		return foreign(file, "is not a SQLite database")
	case err != nil:
		return fault.Hint(fault.Newf(fault.Permanent, fault.Damaged, "%s is cut short after %d bytes", file, n), restore)
	case binary.BigEndian.Uint32(head[68:]) != applicationID:
		return foreign(file, "is a database of another program")
	}
	return known(int64(binary.BigEndian.Uint32(head[60:])), file)
}

const restore = "move it away with its -wal and -shm, and put a backup (landfall backup) in its place"

func gone(dir, what string) error {
	return fault.Hint(fault.Newf(fault.Blocked, Gone, "the database %s %s", filepath.Join(dir, databaseName), what),
		"put a backup in its place; or, to begin anew and forget all migrations, remove %s. What earlier migrations made in a cluster carries the label landfall.dev/migration",
		filepath.Join(dir, markName))
}

func foreign(file, what string) error {
	return fault.Hint(fault.Newf(fault.Blocked, fault.NotOurs, "%s %s", file, what), "move it away, or name another directory for the workspace")
}

// mark leaves the trace by which a later loss of the database is noticed.
func mark(dir string, now time.Time) error {
	f, err := os.OpenFile(filepath.Join(dir, markName), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(f, "A Landfall workspace since %s. Its database is %s; while this file is here, a missing database is not made anew.\n",
		now.UTC().Format(time.RFC3339), databaseName)
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	return syncDir(dir)
}

func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
