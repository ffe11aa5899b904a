package transfer_test

import (
	"errors"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"landfall/engine/boundary"
	"landfall/engine/transfer"
)

// Power lost, or the process killed, anywhere inside the replacing of a file: there is the old or the new, whole.
func TestWriteFileIsOldOrNew(t *testing.T) {
	old, fresh := strings.Repeat("old ", 3000), strings.Repeat("new!", 5000)
	random := rand.New(rand.NewPCG(3, 3))
	for try := range 20 {
		files := newMemFiles()
		if err := transfer.WriteFile(files, "/vm/disk.json", []byte(old)); err != nil {
			t.Fatal(err)
		}
		seen := map[string]int{}
		look := func() {
			lost := files.lose(random)
			b, err := transfer.ReadFile(lost, "/vm/disk.json")
			switch {
			case err != nil:
				t.Errorf("try %d: %v", try, err)
			case string(b) == old:
				seen["old"]++
			case string(b) == fresh:
				seen["new"]++
			default:
				t.Errorf("try %d: a mixture of %d bytes", try, len(b))
			}
			if err := transfer.WriteFile(lost, "/vm/disk.json", []byte("after")); err != nil {
				t.Errorf("try %d: cannot be replaced afterwards: %v", try, err)
			}
		}
		inside := false
		boundary.Hook = func(boundary.Kind, string) {
			if !inside {
				inside = true
				look()
				inside = false
			}
		}
		err := transfer.WriteFile(files, "/vm/disk.json", []byte(fresh))
		boundary.Hook = nil
		if err != nil {
			t.Fatal(err)
		}
		look()
		if seen["old"] < 3 || seen["new"] < 1 {
			t.Errorf("try %d: saw %v", try, seen)
		}
	}
}

func TestWriteFileOnDisk(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a", "b", "file.json")
	for _, text := range []string{"first, and longer", "second"} {
		if err := transfer.WriteFile(nil, path, []byte(text)); err != nil {
			t.Fatal(err)
		}
		if b, err := os.ReadFile(path); err != nil || string(b) != text {
			t.Errorf("read %q, %v", b, err)
		}
	}
	entries, err := os.ReadDir(filepath.Dir(path))
	if err != nil || len(entries) != 1 {
		t.Errorf("left behind: %v %v", entries, err)
	}
	if _, err := transfer.ReadFile(nil, path+".gone"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a file that is not there: %v", err)
	}
}

// An image's name that leads elsewhere is not followed.
func TestLinksAreNotFollowed(t *testing.T) {
	dir := t.TempDir()
	victim := filepath.Join(dir, "precious")
	if err := os.WriteFile(victim, []byte("precious"), 0o600); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "disk")
	if err := os.Symlink(victim, path+".partial"); err != nil {
		t.Fatal(err)
	}
	if _, err := transfer.Copy(t.Context(), transfer.Job{Disk: &memDisk{data: content(mib, 1)}, Path: path, Ledger: &memLedger{}}); err == nil {
		t.Error("a link was taken for a partial image")
	}
	if b, err := os.ReadFile(victim); err != nil || string(b) != "precious" {
		t.Errorf("the file behind the link is %q, %v", b, err)
	}
}
