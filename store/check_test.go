package store

import (
	"database/sql"
	"math"
	"os"
	"testing"

	"landfall/engine/fault"
)

// Of a large file only the chunks are left to their own digests; damage of anything else is seen.
func TestWhatALargeFileIsCheckedFor(t *testing.T) {
	for table, seen := range map[string]bool{"events": true, "migrations": true, "chunks": false} {
		dir := t.TempDir() + "/workspace"
		s, err := Open(t.Context(), dir, Options{})
		if err != nil {
			t.Fatal(err)
		}
		var page int64
		if err := s.reader.QueryRow("SELECT rootpage FROM sqlite_schema WHERE name = ?", table).Scan(&page); err != nil {
			t.Fatal(err)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		f, err := os.OpenFile(s.file, os.O_RDWR, 0)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.WriteAt([]byte("this is not a page of a database"), (page-1)*4096); err != nil {
			t.Fatal(err)
		}
		_ = f.Close()
		pool, err := sql.Open("sqlite", source(s.file, reading))
		if err != nil {
			t.Fatal(err)
		}
		defer pool.Close()
		if err := checkQuickly(t.Context(), pool, 0); (err != nil) != seen {
			t.Errorf("damaged %s of a large file: %v", table, err)
		}
		if err := checkQuickly(t.Context(), pool, math.MaxInt64); err == nil {
			t.Errorf("damaged %s of a small file is not seen", table)
		}
		if _, err := Open(t.Context(), dir, Options{}); !fault.Is(err, fault.Damaged) {
			t.Errorf("open with damaged %s: %v", table, err)
		}
	}
}
