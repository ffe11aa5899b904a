package store

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/pressly/goose/v3"

	"landfall/engine/fault"
)

//go:embed schema/*.sql
var schemaFiles embed.FS

// schemaVersion is the newest schema that this program knows.
const schemaVersion = 3

func schema() fs.FS {
	sub, err := fs.Sub(schemaFiles, "schema")
	if err != nil {
		panic(err) // the path is a constant
	}
	return sub
}

// known refuses a schema that a newer program made.
func known(version int64, file string) error {
	if version <= schemaVersion {
		return nil
	}
	return fault.Hint(fault.Newf(fault.Blocked, fault.Unsupported,
		"%s was written by a newer landfall (schema %d; this one knows %d)", file, version, schemaVersion),
		"use the newer program, or put a backup from before the upgrade in its place")
}

// create makes a whole database beside the place and moves it there, so that no half-made one is ever found.
func create(ctx context.Context, file string) error {
	draft := file + ".new"
	for _, end := range []string{"", "-journal", "-wal", "-shm"} {
		if err := os.Remove(draft + end); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	f, err := os.OpenFile(draft, os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600)
	if err != nil {
		return err
	}
	if err := fill(ctx, draft); err != nil {
		return errors.Join(err, f.Close(), os.Remove(draft))
	}
	if err := errors.Join(f.Sync(), f.Close()); err != nil {
		return err
	}
	return place(draft, file)
}

func fill(ctx context.Context, draft string) error {
	pool, err := sql.Open("sqlite", source(draft, making))
	if err != nil {
		return err
	}
	pool.SetMaxOpenConns(1)
	_, err = pool.ExecContext(ctx, fmt.Sprintf("PRAGMA application_id = %d", applicationID))
	if err == nil {
		err = migrate(ctx, pool, schema())
	}
	return errors.Join(err, pool.Close())
}

// upgrade brings an older database to this program's schema, unless an engine of the older program is at work on it.
func upgrade(ctx context.Context, pool *sql.DB, dir string, steps fs.FS) error {
	p, err := goose.NewProvider(goose.DialectSQLite3, pool, steps)
	if err != nil {
		return err
	}
	pending, err := p.HasPending(ctx)
	if err != nil || !pending {
		return err
	}
	if h, ok := EngineHolder(dir); ok && h.PID != os.Getpid() {
		return fault.Hint(fault.Newf(fault.Blocked, fault.Refused, "the database must be upgraded and an older engine works on it (%s)", h),
			"stop that engine and start again")
	}
	return migrate(ctx, pool, steps)
}

func migrate(ctx context.Context, pool *sql.DB, steps fs.FS) error {
	p, err := goose.NewProvider(goose.DialectSQLite3, pool, steps)
	if err != nil {
		return err
	}
	if _, err := p.Up(ctx); err != nil {
		return err
	}
	version, err := p.GetDBVersion(ctx)
	if err != nil {
		return err
	}
	_, err = pool.ExecContext(ctx, fmt.Sprintf("PRAGMA user_version = %d", version))
	return err
}
