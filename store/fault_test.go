package store_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"landfall/engine/fault"
	"landfall/store"
)

// held keeps the database from being written until the test lets it go.
func held(t testing.TB, dir string) (release func()) {
	t.Helper()
	pool := raw(t, dir)
	pool.SetMaxOpenConns(1)
	conn := must(pool.Conn(t.Context()))(t)
	if _, err := conn.ExecContext(t.Context(), "BEGIN IMMEDIATE"); err != nil {
		t.Fatal(err)
	}
	return func() { _ = conn.Close(); _ = pool.Close() }
}

func TestBusy(t *testing.T) {
	s := fresh(t)
	m := applied(t, s, 1)
	was := must(s.Migration(t.Context(), m.UID))(t)
	release := held(t, s.Dir())

	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	begin := time.Now()
	if _, err := s.Commit(ctx, step(m)); !errors.Is(err, context.DeadlineExceeded) || time.Since(begin) > 2*time.Second {
		t.Errorf("commit gave up after %v: %v", time.Since(begin), err)
	}
	begin = time.Now()
	_, err := s.Commit(t.Context(), step(m))
	if fault.ClassOf(err) != fault.Transient || !strings.Contains(err.Error(), "database is busy") || fault.HintOf(err) == "" {
		t.Errorf("busy: %v", err)
	}
	if took := time.Since(begin); took < 4*time.Second || took > 30*time.Second {
		t.Errorf("it waited for %v", took)
	}
	same(t, "migration while busy", was, must(s.Migration(t.Context(), m.UID))(t))
	release()
	commit(t, s, step(m))
}

func TestContextsAreHonoured(t *testing.T) {
	s := fresh(t)
	m := applied(t, s, 1)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, commitErr := s.Commit(ctx, step(m))
	_, linesErr := s.Lines(ctx)
	_, changedErr := s.Changed(ctx)
	for act, err := range map[string]error{
		"commit": commitErr, "lines": linesErr, "changed": changedErr,
		"record": s.Ledger(m.UID, 0).Record(ctx, batch(1)), "backup": s.Backup(ctx, filepath.Join(t.TempDir(), "b")),
	} {
		if !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v", act, err)
		}
	}
	commit(t, s, step(m))
}

func TestFullDisk(t *testing.T) {
	disk := t.TempDir()
	if err := unix.Mount("tmpfs", disk, "tmpfs", 0, "size=3m,mode=700"); err != nil {
		t.Skipf("a small file system is needed and cannot be mounted here: %v", err)
	}
	t.Cleanup(func() { _ = unix.Unmount(disk, unix.MNT_DETACH) })
	dir := filepath.Join(disk, "workspace")
	s := open(t, dir)
	m := commit(t, s, step(applied(t, s, 1)))
	ballast := filepath.Join(disk, "ballast")
	write(t, ballast, nil)
	fill := must(os.OpenFile(ballast, os.O_WRONLY, 0))(t)
	for b := make([]byte, 4096); ; {
		if _, err := fill.Write(b); err != nil {
			break
		}
	}
	_ = fill.Close()

	var err error
	for range 10_000 {
		c := step(m)
		c.Events[0].Message = strings.Repeat("x", 2000)
		var v int64
		if v, err = s.Commit(t.Context(), c); err != nil {
			break
		}
		m = must(s.Migration(t.Context(), m.UID))(t)
		if m.Version != v {
			t.Fatalf("version %d after %d", m.Version, v)
		}
	}
	if !fault.Is(err, fault.NoSpace) || fault.ClassOf(err) != fault.Blocked || !strings.Contains(fault.HintOf(err), dir) {
		t.Fatalf("full: %v; %s", err, fault.HintOf(err))
	}
	if err := s.Ledger(m.UID, 0).Record(t.Context(), batch(1)); !fault.Is(err, fault.NoSpace) {
		t.Errorf("record: %v", err)
	}
	same(t, "migration on the full disk", m, must(s.Migration(t.Context(), m.UID))(t))
	if err := s.Backup(t.Context(), filepath.Join(disk, "backup")); !fault.Is(err, fault.NoSpace) {
		t.Errorf("backup: %v", err)
	}
	if left, _ := filepath.Glob(filepath.Join(disk, ".backup*")); len(left) != 0 {
		t.Errorf("a failed backup left %v", left)
	}

	if err := os.Remove(ballast); err != nil {
		t.Fatal(err)
	}
	m = commit(t, s, step(m))
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	same(t, "migration after space was freed", m, must(open(t, dir).Migration(t.Context(), m.UID))(t))
}

// A new workspace on a full disk leaves nothing that would be taken for a database later.
func TestFullDiskFromTheStart(t *testing.T) {
	disk := t.TempDir()
	if err := unix.Mount("tmpfs", disk, "tmpfs", 0, "size=64k,mode=700"); err != nil {
		t.Skipf("a small file system is needed and cannot be mounted here: %v", err)
	}
	t.Cleanup(func() { _ = unix.Unmount(disk, unix.MNT_DETACH) })
	if _, err := store.Open(t.Context(), disk, options()); !fault.Is(err, fault.NoSpace) {
		t.Errorf("full: %v", err)
	}
	if left := must(os.ReadDir(disk))(t); len(left) != 0 {
		t.Errorf("left: %v", left)
	}
}
