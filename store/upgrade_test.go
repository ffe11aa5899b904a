package store

import (
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"strings"
	"testing"
	"testing/fstest"

	"landfall/engine/fault"
)

// newer is this program's schema and a step that a later program adds.
func newer(t *testing.T, step string) fs.FS {
	t.Helper()
	all := fstest.MapFS{fmt.Sprintf("%05d_later.sql", schemaVersion+1): {Data: []byte("-- +goose Up\n" + step)}}
	names, err := fs.ReadDir(schema(), ".")
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range names {
		b, err := fs.ReadFile(schema(), n.Name())
		if err != nil {
			t.Fatal(err)
		}
		all[n.Name()] = &fstest.MapFile{Data: b}
	}
	return all
}

func TestUpgrade(t *testing.T) {
	dir := t.TempDir() + "/workspace"
	s, err := Open(t.Context(), dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	version := func() (v int64) {
		if err := s.writer.QueryRow("PRAGMA user_version").Scan(&v); err != nil {
			t.Fatal(err)
		}
		return v
	}
	if v := version(); v != schemaVersion {
		t.Errorf("a new database has schema %d and the program knows %d", v, schemaVersion)
	}
	if err := upgrade(t.Context(), s.writer, dir, newer(t, "CREATE TABLE later (n INTEGER) STRICT; CREATE TABLE later (n INTEGER) STRICT;")); err == nil {
		t.Error("a broken step is not told")
	}
	if v := version(); v != schemaVersion {
		t.Errorf("schema %d after a broken step", v)
	}
	if _, err := s.writer.Exec("SELECT * FROM later"); err == nil {
		t.Error("a broken step left half of itself")
	}
	step := newer(t, "CREATE TABLE later (n INTEGER) STRICT;")
	engine := exec.Command(os.Args[0])
	engine.Env = append(os.Environ(), "LANDFALL_ACT=lock", "LANDFALL_DIR="+dir)
	told, err := engine.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := engine.Start(); err != nil {
		t.Fatal(err)
	}
	var sleeper int
	if _, err := fmt.Fscan(told, &sleeper); err != nil {
		t.Error(err)
	}
	err = upgrade(t.Context(), s.writer, dir, step)
	_ = engine.Process.Kill()
	_ = engine.Wait()
	if p, found := os.FindProcess(sleeper); found == nil {
		_ = p.Kill()
	}
	if err == nil || !strings.Contains(err.Error(), fmt.Sprintf("process %d", engine.Process.Pid)) || !strings.Contains(fault.HintOf(err), "stop that engine") {
		t.Errorf("upgrade under an older engine: %v", err)
	}
	if v := version(); v != schemaVersion {
		t.Errorf("schema %d under an older engine", v)
	}

	mine, err := LockEngine(dir) // the engine itself may
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = mine.Unlock() }()
	if err := upgrade(t.Context(), s.writer, dir, step); err != nil {
		t.Fatal(err)
	}
	if v := version(); v != schemaVersion+1 {
		t.Errorf("schema %d after the step", v)
	}
	if _, err := Open(t.Context(), dir, Options{}); !fault.Is(err, fault.Unsupported) || !strings.Contains(err.Error(), fmt.Sprintf("newer landfall (schema %d; this one knows %d)", schemaVersion+1, schemaVersion)) {
		t.Errorf("the older program on it: %v", err)
	}
}
