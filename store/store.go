// Package store keeps a workspace in one SQLite file: what people want, what the engine saw, and everything that must
// outlive a killed process. It is all that consoles and the engine share; both open it, each in its own process. It knows
// the domain in engine and must not know any source, target or page of the console.
package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"crypto/rand"

	"landfall/engine"
	"landfall/engine/boundary"
	"landfall/store/db"
)

//go:generate ../testdata/tools/run sqlc generate

// Store is an open workspace. All methods may be called from several goroutines.
type Store struct {
	dir    string
	file   string
	id     os.FileInfo // of the file that was opened, to see that it is still the one in the workspace
	writer *sql.DB
	reader *sql.DB
	clock  func() time.Time
	random io.Reader
}

var (
	_ engine.Store = (*Store)(nil)
	_ engine.Desk  = (*Store)(nil)
)

// Options are the outside of a store; the zero value is the real one.
type Options struct {
	Clock  func() time.Time
	Random io.Reader // UIDs are drawn from it
	// FileSystem names the type of the file system that a directory is on, as mount(8) does: "ext4", "nfs4".
	FileSystem func(dir string) (string, error)
}

func (o Options) resolved() Options {
	if o.Clock == nil {
		o.Clock = time.Now
	}
	if o.Random == nil {
		o.Random = rand.Reader
	}
	if o.FileSystem == nil {
		o.FileSystem = fileSystem
	}
	return o
}

// Open opens the workspace in dir and makes it if dir is absent or empty; dir's parent must exist. Whatever is found that
// is not a sound database of this version or an older one is refused, untouched, with what to do about it.
func Open(ctx context.Context, dir string, o Options) (*Store, error) {
	o = o.resolved()
	s := &Store{clock: o.Clock, random: o.Random}
	if err := s.open(ctx, dir, o); err != nil {
		_ = s.Close()
		return nil, fmt.Errorf("open workspace %s: %w", dir, err)
	}
	return s, nil
}

func (s *Store) open(ctx context.Context, dir string, o Options) (err error) {
	if s.dir, err = prepare(dir, o); err != nil {
		return err
	}
	s.file = filepath.Join(s.dir, databaseName)
	unlock, err := guard(ctx, s.dir)
	if err != nil {
		return err
	}
	defer unlock()

	there, err := look(s.dir)
	if err != nil {
		return err
	}
	if !there {
		if err := create(ctx, s.file); err != nil {
			return classed(s.dir, fmt.Errorf("make the database: %w", err))
		}
	}
	if s.id, err = os.Stat(s.file); err != nil {
		return err
	}
	if err := s.connect(ctx); err != nil {
		return classed(s.dir, err)
	}
	return mark(s.dir, s.clock())
}

// connect opens both pools and trusts the file only after it was checked.
func (s *Store) connect(ctx context.Context) (err error) {
	if s.writer, err = sql.Open("sqlite", source(s.file, writing)); err != nil {
		return err
	}
	s.writer.SetMaxOpenConns(1)
	if err := readBack(ctx, s.writer, writing); err != nil {
		return err
	}
	if err := owned(ctx, s.writer, s.file); err != nil {
		return err
	}
	if err := checkQuickly(ctx, s.writer, checkWhole); err != nil {
		return err
	}
	if err := upgrade(ctx, s.writer, s.dir, schema()); err != nil {
		return err
	}
	if s.reader, err = sql.Open("sqlite", source(s.file, reading)); err != nil {
		return err
	}
	s.reader.SetMaxOpenConns(readers)
	s.reader.SetMaxIdleConns(readers)
	return readBack(ctx, s.reader, reading)
}

// Dir is the workspace's directory, absolute.
func (s *Store) Dir() string { return s.dir }

// Close frees the files. What was committed is safe without it.
func (s *Store) Close() error {
	var errs []error
	for _, p := range []*sql.DB{s.reader, s.writer} {
		if p != nil {
			errs = append(errs, p.Close())
		}
	}
	return errors.Join(errs...)
}

// write runs f in one durable transaction. point names it at the boundary marks; "" marks nothing.
func (s *Store) write(ctx context.Context, op, point string, f func(q *db.Queries) error) error {
	err := func() error {
		if err := s.present(); err != nil {
			return err
		}
		tx, err := s.writer.BeginTx(ctx, nil)
		if err != nil {
			return err
		}
		defer func() { _ = tx.Rollback() }()
		if err := f(db.New(tx)); err != nil {
			return err
		}
		if point != "" {
			boundary.Cross(boundary.Commit, "before "+point)
		}
		if err := tx.Commit(); err != nil {
			return err
		}
		if point != "" {
			boundary.Cross(boundary.Commit, "after "+point)
		}
		return nil
	}()
	return s.fault(ctx, op, err)
}

// read runs f on one state of the database.
func (s *Store) read(ctx context.Context, op string, f func(q *db.Queries) error) error {
	err := func() error {
		tx, err := s.reader.BeginTx(ctx, nil)
		if err != nil {
			return err
		}
		defer func() { _ = tx.Rollback() }()
		return f(db.New(tx))
	}()
	return s.fault(ctx, op, err)
}

// present tells whether the open file is still the workspace's: a deleted one would take writes that nobody ever reads.
func (s *Store) present() error {
	st, err := os.Stat(s.file)
	if err == nil && os.SameFile(st, s.id) {
		return nil
	}
	return gone(s.dir, "was deleted or replaced while it was open")
}
