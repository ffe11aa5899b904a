package store_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

func TestBackup(t *testing.T) {
	ctx := t.Context()
	s := fresh(t)
	m := commit(t, s, step(applied(t, s, 1)))
	place := t.TempDir()
	file := filepath.Join(place, "odd name?#.db")
	release := held(t, s.Dir()) // a writer at work does not hold a backup up
	err := s.Backup(ctx, file)
	release()
	if err != nil {
		t.Fatal(err)
	}
	if all := must(os.ReadDir(place))(t); len(all) != 1 || must(all[0].Info())(t).Mode().Perm() != 0o600 {
		t.Errorf("a backup left %v", all)
	}
	if err := s.Backup(ctx, file); !errors.Is(err, fs.ErrExist) {
		t.Errorf("over another backup: %v", err)
	}
	if err := s.Backup(ctx, filepath.Join(place, "no", "such")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("into no directory: %v", err)
	}
	later := commit(t, s, step(m))

	// Put in a new workspace, it opens with what was there when it was taken.
	dir := filepath.Join(t.TempDir(), "restored")
	if err := errors.Join(os.Mkdir(dir, 0o700), os.Link(file, filepath.Join(dir, "landfall.db"))); err != nil {
		t.Fatal(err)
	}
	restored := open(t, dir)
	same(t, "restored migration", m, must(restored.Migration(ctx, m.UID))(t))
	same(t, "migration that went on", later, must(s.Migration(ctx, m.UID))(t))
	commit(t, restored, step(m))
	if w := must(restored.Waiting(ctx))(t); len(w) != 2 {
		t.Errorf("decisions of the restored: %+v", w)
	}
}
