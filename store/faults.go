package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"modernc.org/sqlite"
	lib "modernc.org/sqlite/lib"

	"landfall/engine"
	"landfall/engine/fault"
)

// Busy is the reason when another process held the database for longer than we wait.
const Busy = "DatabaseBusy"

// Failing is the reason when the disk under the database gives errors.
const Failing = "DatabaseDisk"

// ErrEnded: the migration is in a phase that is never left.
var ErrEnded = errors.New("the migration has ended")

// fault names the operation in err and gives it the class that SQLite's code stands for.
func (s *Store) fault(ctx context.Context, op string, err error) error {
	if err == nil {
		return nil
	}
	if cause := ctx.Err(); cause != nil {
		return fmt.Errorf("%s: %w", op, cause)
	}
	if errors.Is(err, sql.ErrNoRows) {
		err = engine.ErrNotFound
	}
	return fmt.Errorf("%s: %w", op, classed(s.dir, err))
}

// classed gives a class to the errors of SQLite; others stay as they are.
func classed(dir string, err error) error {
	var e *sqlite.Error
	if !errors.As(err, &e) {
		if fault.Is(err, fault.Damaged) && fault.HintOf(err) == "" {
			return fault.Hint(err, restore)
		}
		return err
	}
	switch e.Code() & 0xff {
	case lib.SQLITE_BUSY, lib.SQLITE_LOCKED:
		return fault.Hint(fault.New(fault.Transient, Busy, fmt.Errorf("database is busy: %w", err)), "another process holds it; it is tried again")
	case lib.SQLITE_FULL:
		return full(dir, err)
	case lib.SQLITE_CORRUPT, lib.SQLITE_NOTADB:
		return fault.Hint(fault.New(fault.Permanent, fault.Damaged, fmt.Errorf("the database is damaged: %w", err)), restore)
	case lib.SQLITE_READONLY, lib.SQLITE_PERM, lib.SQLITE_CANTOPEN:
		return denied(fmt.Errorf("the database cannot be written: %w", err), dir)
	case lib.SQLITE_IOERR:
		if e.Code() == lib.SQLITE_IOERR_SHMSIZE {
			return full(dir, err)
		}
		return fault.Hint(fault.New(fault.Transient, Failing, fmt.Errorf("the disk gave an error: %w", err)), "look at the kernel's log for the disk of %s", dir)
	}
	return err
}

func full(dir string, err error) error {
	return fault.Hint(fault.New(fault.Blocked, fault.NoSpace, fmt.Errorf("no space for the database: %w", err)),
		"free some space on the file system of %s; nothing recorded is lost", dir)
}

// orphan tells whether err says that the row it belongs to is missing.
func orphan(err error) bool {
	var e *sqlite.Error
	return errors.As(err, &e) && e.Code() == lib.SQLITE_CONSTRAINT_FOREIGNKEY
}

// taken tells whether err says that a row like it is there.
func taken(err error) bool {
	var e *sqlite.Error
	return errors.As(err, &e) && e.Code() == lib.SQLITE_CONSTRAINT_UNIQUE
}
