package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"net/url"
	"os"
	"path/filepath"

	"landfall/engine/fault"
)

// Backup writes the whole database as it is now into file, while others go on working. file must not exist; it appears,
// checked and synced, or not at all.
func (s *Store) Backup(ctx context.Context, file string) error {
	op := "back up to " + file
	file, err := filepath.Abs(file)
	if err != nil {
		return err
	}
	if _, err := os.Lstat(file); err == nil {
		return fault.Hint(fault.Newf(fault.Blocked, fault.Refused, "%s: %w", op, fs.ErrExist), "name a new file: a backup is never written over another")
	}
	draft, err := os.CreateTemp(filepath.Dir(file), "."+filepath.Base(file)+".*") // 0600
	if err != nil {
		return fmt.Errorf("%s: %w", op, err)
	}
	err = errors.Join(s.copyTo(ctx, draft), draft.Close())
	if err == nil {
		err = place(draft.Name(), file)
	}
	if err != nil {
		return errors.Join(s.fault(ctx, op, err), os.Remove(draft.Name()))
	}
	return nil
}

func (s *Store) copyTo(ctx context.Context, draft *os.File) error {
	if err := s.present(); err != nil {
		return err
	}
	from, err := sql.Open("sqlite", source(s.file, copying))
	if err != nil {
		return err
	}
	// Nobody else knows the file yet, and the place may be a network file system that cannot lock.
	u := url.URL{Scheme: "file", Path: draft.Name(), RawQuery: "nolock=1"}
	_, err = from.ExecContext(ctx, "VACUUM INTO ?", u.String())
	if err = errors.Join(err, from.Close()); err != nil {
		return err
	}
	if err := draft.Sync(); err != nil {
		return err
	}
	u.RawQuery = "mode=ro&nolock=1&immutable=1"
	pool, err := sql.Open("sqlite", u.String())
	if err != nil {
		return err
	}
	pool.SetMaxOpenConns(1)
	return errors.Join(owned(ctx, pool, draft.Name()), checkQuickly(ctx, pool, math.MaxInt64), pool.Close())
}
