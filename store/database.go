package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"strings"

	_ "modernc.org/sqlite" // the driver

	"landfall/engine/fault"
)

// applicationID marks our files: "LnFl".
const applicationID = 0x4C6E466C

// readers is how many connections read beside the one that writes.
const readers = 4

type pragma struct{ name, value string }

// Every connection is set up by its pragmas and the first of each pool is asked whether they took.
var (
	reading = []pragma{
		{"busy_timeout", "5000"}, {"foreign_keys", "1"}, {"synchronous", "2"}, {"query_only", "1"},
		{"trusted_schema", "0"}, {"cell_size_check", "1"}, {"temp_store", "2"},
	}
	writing = []pragma{
		{"busy_timeout", "5000"}, {"foreign_keys", "1"}, {"synchronous", "2"}, {"journal_mode", "wal"},
		{"trusted_schema", "0"}, {"cell_size_check", "1"}, {"temp_store", "2"}, {"journal_size_limit", "67108864"},
	}
	// A backup reads, but SQLite counts writing another file as a write.
	copying = []pragma{{"busy_timeout", "5000"}}
	making  = []pragma{{"busy_timeout", "5000"}, {"synchronous", "2"}, {"journal_mode", "delete"}}
)

// source is the name by which the driver opens file, which must exist.
func source(file string, ps []pragma) string {
	q := url.Values{"mode": {"rw"}, "_txlock": {"immediate"}}
	for _, p := range ps {
		if p.name == "query_only" { // a reader takes no lock that a writer waits for
			q.Set("_txlock", "deferred")
		}
		q.Add("_pragma", p.name+"("+p.value+")")
	}
	u := url.URL{Scheme: "file", Path: file, RawQuery: q.Encode()}
	return u.String()
}

func readBack(ctx context.Context, pool *sql.DB, ps []pragma) error {
	for _, p := range ps {
		var got string
		if err := pool.QueryRowContext(ctx, "PRAGMA "+p.name).Scan(&got); err != nil {
			return err
		}
		if !strings.EqualFold(got, p.value) {
			return fault.Newf(fault.Blocked, fault.Unsupported, "SQLite keeps %s at %s, not %s, on this file system", p.name, got, p.value)
		}
	}
	return nil
}

// owned asks SQLite itself, which also knows what is still in the log.
func owned(ctx context.Context, pool *sql.DB, file string) error {
	var id, version int64
	if err := errors.Join(
		pool.QueryRowContext(ctx, "PRAGMA application_id").Scan(&id),
		pool.QueryRowContext(ctx, "PRAGMA user_version").Scan(&version),
	); err != nil {
		return err
	}
	if id != applicationID {
		return foreign(file, "is a database of another program")
	}
	return known(version, file)
}

// checkWhole is the size in pages up to which the chunk ledgers are checked with everything else. They are most of a large
// file, and every row of them is checked against its digest when it is loaded.
const checkWhole = 16384 // 64 MiB

// checkQuickly walks the tables, of a file of more than whole pages without the chunks: SQLite itself notices a damaged page only when it happens to read it.
func checkQuickly(ctx context.Context, pool *sql.DB, whole int64) error {
	var pages int64
	if err := pool.QueryRowContext(ctx, "PRAGMA page_count").Scan(&pages); err != nil {
		return err
	}
	checks := []string{"PRAGMA quick_check(10)"}
	if pages > whole {
		tables, err := column(ctx, pool, "SELECT name FROM sqlite_schema WHERE type = 'table' AND name <> 'chunks'")
		if err != nil {
			return err
		}
		checks = nil
		for _, t := range tables {
			checks = append(checks, "PRAGMA quick_check('"+strings.ReplaceAll(t, "'", "''")+"')")
		}
	}
	for _, check := range checks {
		lines, err := column(ctx, pool, check)
		if err != nil {
			return err
		}
		if len(lines) != 1 || lines[0] != "ok" {
			return fault.Newf(fault.Permanent, fault.Damaged, "the database is damaged: %s", strings.Join(lines, "; "))
		}
	}
	return nil
}

func column(ctx context.Context, pool *sql.DB, query string) ([]string, error) {
	rows, err := pool.QueryContext(ctx, query)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var all []string
	for rows.Next() {
		var one string
		if err := rows.Scan(&one); err != nil {
			return nil, err
		}
		all = append(all, one)
	}
	if err := rows.Err(); err != nil {
		return nil, fmt.Errorf("%s: %w", query, err)
	}
	return all, nil
}
