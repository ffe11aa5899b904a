package lab

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

func TestDownPutsBackInReverse(t *testing.T) {
	l, dir := open(t), t.TempDir()
	file := filepath.Join(dir, "setting")
	if err := os.WriteFile(file, []byte("second"), 0o600); err != nil {
		t.Fatal(err)
	}
	// Changed twice: what was there first is what must come back, and so be written last.
	for _, before := range []string{"first", "changed once"} {
		if err := l.Undo("write", file, before); err != nil {
			t.Fatal(err)
		}
	}
	p := started(t, l, sleeper("one"))
	gone := filepath.Join(dir, "gone")
	if err := errors.Join(l.Undo("remove", gone), l.Undo("remove", filepath.Join(dir, "never made")), os.Mkdir(gone, 0o700)); err != nil {
		t.Fatal(err)
	}
	if err := l.Down(); err != nil {
		t.Fatal(err)
	}
	if b, err := os.ReadFile(file); err != nil || string(b) != "first" {
		t.Errorf("the setting is %q, %v", b, err)
	}
	if _, err := os.Stat(gone); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("what was made is there: %v", err)
	}
	if p.Running() {
		t.Error("a process runs on")
	}
	if _, err := os.Stat(l.Path()); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the run's folder is there: %v", err)
	}
}

// What cannot be put back is told, the rest is put back all the same, and the next attempt has it still.
func TestDownAgain(t *testing.T) {
	l, dir := open(t), t.TempDir()
	file := filepath.Join(dir, "no folder", "setting")
	other := filepath.Join(dir, "other")
	if err := errors.Join(os.WriteFile(other, nil, 0o600), l.Undo("remove", other), l.Undo("write", file, "first")); err != nil {
		t.Fatal(err)
	}
	if err := l.Down(); err == nil {
		t.Fatal("it is told to be put back, and is not")
	}
	if _, err := os.Stat(other); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the rest was not put back: %v", err)
	}
	if err := os.Mkdir(filepath.Dir(file), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := l.Down(); err != nil {
		t.Fatal(err)
	}
	if b, err := os.ReadFile(file); err != nil || string(b) != "first" {
		t.Errorf("the setting is %q, %v", b, err)
	}
}

// A command that was killed while it wrote leaves half a line, for a change that was never made.
func TestDownAfterATornNote(t *testing.T) {
	l, dir := open(t), t.TempDir()
	made := filepath.Join(dir, "made")
	if err := errors.Join(os.Mkdir(made, 0o700), l.Undo("remove", made)); err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(l.undoList(), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteString(`{"what":"remove","args":["` + dir); err != nil {
		t.Fatal(err)
	}
	f.Close()
	if err := l.Down(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(made); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("what was made before is there: %v", err)
	}
	if _, err := os.Stat(dir); err != nil {
		t.Errorf("what the half line names is gone: %v", err)
	}
}

func TestUnmountTakesWhatIsBelow(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root may mount")
	}
	l := open(t)
	at := filepath.Join(t.TempDir(), "a place")
	for _, p := range []string{at, filepath.Join(at, "below")} {
		if err := errors.Join(os.MkdirAll(p, 0o700), l.Undo("unmount", at), mountTmpfs(p)); err != nil {
			t.Fatal(err)
		}
	}
	if err := l.Down(); err != nil {
		t.Fatal(err)
	}
	if left, err := os.ReadDir(at); err != nil || len(left) > 0 {
		t.Errorf("it is mounted still: %v, %v", left, err)
	}
}
