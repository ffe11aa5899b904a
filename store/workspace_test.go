package store_test

import (
	"database/sql"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"landfall/engine/fault"
	"landfall/store"
)

// used is a workspace with a few migrations, closed, and thus one file.
func used(t testing.TB) (dir, file string) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "work space?#%")
	s := open(t, dir)
	m := applied(t, s, 1)
	for range 20 {
		c := step(m)
		c.Events[0].Message = strings.Repeat("a long story ", 1000)
		m = commit(t, s, c)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	return dir, filepath.Join(dir, "landfall.db")
}

func write(t testing.TB, file string, b []byte) {
	t.Helper()
	if err := os.WriteFile(file, b, 0o600); err != nil {
		t.Fatal(err)
	}
}

// names gives what is in a directory, with sizes and times of its database.
func state(t testing.TB, dir string) string {
	t.Helper()
	var all []string
	for _, e := range must(os.ReadDir(dir))(t) {
		b, _ := os.ReadFile(filepath.Join(dir, e.Name()))
		all = append(all, fmt.Sprintf("%s %d %x", e.Name(), len(b), b[:min(len(b), 100)]))
	}
	return strings.Join(all, "\n")
}

func TestANewWorkspaceIsPrivate(t *testing.T) {
	syscall.Umask(0)
	t.Cleanup(func() { syscall.Umask(0o022) })
	dir := filepath.Join(t.TempDir(), "workspace")
	s := open(t, dir)
	applied(t, s, 1)
	if st := must(os.Stat(dir))(t); st.Mode().Perm() != 0o700 {
		t.Errorf("mode of the directory: %v", st.Mode())
	}
	names := map[string]bool{}
	for _, e := range must(os.ReadDir(dir))(t) {
		names[e.Name()] = true
		if st := must(e.Info())(t); st.Mode().Perm() != 0o600 {
			t.Errorf("mode of %s: %v", e.Name(), st.Mode())
		}
	}
	for _, n := range []string{"landfall.db", "landfall.db-wal", "landfall.db-shm", "landfall.workspace"} {
		if !names[n] {
			t.Errorf("%s is missing", n)
		}
	}
	if len(names) != 4 {
		t.Errorf("more is there: %v", names)
	}
}

func TestWhatIsRefused(t *testing.T) {
	other := func(version int) func(t *testing.T, dir, file string) {
		return func(t *testing.T, dir, file string) {
			if err := os.Remove(file); err != nil {
				t.Fatal(err)
			}
			t.Chdir(dir)
			pool := must(sql.Open("sqlite", "landfall.db"))(t)
			defer pool.Close()
			if _, err := pool.Exec("CREATE TABLE recipes (name TEXT); PRAGMA journal_mode = WAL; PRAGMA user_version = " + fmt.Sprint(version)); err != nil {
				t.Fatal(err)
			}
		}
	}
	for name, c := range map[string]struct {
		spoil  func(t *testing.T, dir, file string)
		reason string
		class  fault.Class
		says   string // in the error or its hint
		hint   string
	}{
		"0 bytes": {func(t *testing.T, _, file string) { write(t, file, nil) },
			fault.Damaged, fault.Permanent, "is empty (0 bytes)", "landfall backup"},
		"cut short in the header": {func(t *testing.T, _, file string) { truncate(t, file, 60) },
			fault.Damaged, fault.Permanent, "cut short", "landfall backup"},
		"cut short after a page": {func(t *testing.T, _, file string) { truncate(t, file, 4096) },
			fault.Damaged, fault.Permanent, "damaged", "landfall backup"},
		"cut short in the middle": {func(t *testing.T, _, file string) { truncate(t, file, must(os.Stat(file))(t).Size()/2+100) },
			fault.Damaged, fault.Permanent, "damaged", "landfall backup"},
		"a damaged page": {func(t *testing.T, _, file string) {
			b := must(os.ReadFile(file))(t)
			for i := range 4096 {
				b[len(b)/4096/2*4096+i] ^= 0x5a
			}
			write(t, file, b)
		}, fault.Damaged, fault.Permanent, "damaged", "landfall backup"},
		"not a database": {func(t *testing.T, _, file string) { write(t, file, []byte(strings.Repeat("my notes\n", 100))) },
			fault.NotOurs, fault.Blocked, "is not a SQLite database", "move it away"},
		"a foreign database":  {other(0), fault.NotOurs, fault.Blocked, "another program", "move it away"},
		"a foreign newer one": {other(99), fault.NotOurs, fault.Blocked, "another program", "move it away"},
		"a directory in its place": {func(t *testing.T, _, file string) { _ = os.Remove(file); _ = os.Mkdir(file, 0o700) },
			fault.NotOurs, fault.Blocked, "not a regular file", "move it away"},
		"a newer schema": {func(t *testing.T, dir, _ string) {
			if _, err := rawAt(t, dir).Exec("PRAGMA user_version = 99"); err != nil {
				t.Fatal(err)
			}
		}, fault.Unsupported, fault.Blocked, "newer landfall (schema 99; this one knows 3)", "newer program"},
		"deleted": {func(t *testing.T, _, file string) { _ = os.Remove(file) },
			store.Gone, fault.Blocked, "is missing, and landfall.workspace says", "landfall.dev/migration"},
		"deleted with its marker, the log left": {func(t *testing.T, dir, file string) {
			_ = os.Remove(file)
			_ = os.Remove(filepath.Join(dir, "landfall.workspace"))
			write(t, file+"-wal", []byte("log"))
		}, store.Gone, fault.Blocked, "landfall.db-wal says", "backup"},
		"others may write": {func(t *testing.T, dir, _ string) { _ = os.Chmod(dir, 0o770) },
			fault.NoPermission, fault.Blocked, "can be written by others (mode 0770)", "chmod 700"},
	} {
		t.Run(name, func(t *testing.T) {
			dir, file := used(t)
			c.spoil(t, dir, file)
			before := state(t, dir)
			s, err := store.Open(t.Context(), dir, options())
			if err == nil {
				_ = s.Close()
				t.Fatal("it was opened")
			}
			if fault.ReasonOf(err) != c.reason || fault.ClassOf(err) != c.class {
				t.Errorf("%s, %s: %v", fault.ClassOf(err), fault.ReasonOf(err), err)
			}
			if !strings.Contains(err.Error(), c.says) || !strings.Contains(fault.HintOf(err), c.hint) {
				t.Errorf("it says: %v; hint: %s", err, fault.HintOf(err))
			}
			if after := state(t, dir); after != before {
				t.Errorf("what was refused was changed:\n%s\nbecame\n%s", before, after)
			}
		})
	}
}

func truncate(t testing.TB, file string, n int64) {
	t.Helper()
	if err := os.Truncate(file, n); err != nil {
		t.Fatal(err)
	}
}

// rawAt is raw for a path that must be escaped, in rollback mode so that no log is left.
func rawAt(t testing.TB, dir string) *sql.DB {
	t.Helper()
	t.Chdir(dir)
	pool := must(sql.Open("sqlite", "file:landfall.db"))(t)
	pool.SetMaxOpenConns(1)
	t.Cleanup(func() { _ = pool.Close() })
	if _, err := pool.Exec("PRAGMA journal_mode = DELETE"); err != nil {
		t.Fatal(err)
	}
	return pool
}

func TestWherePlacesAreRefused(t *testing.T) {
	parent := t.TempDir()
	_, err := store.Open(t.Context(), filepath.Join(parent, "no", "such"), options())
	if !errors.Is(err, os.ErrNotExist) || !strings.Contains(fault.HintOf(err), filepath.Join(parent, "no")) {
		t.Errorf("parent missing: %v; %s", err, fault.HintOf(err))
	}
	write(t, filepath.Join(parent, "file"), nil)
	if _, err := store.Open(t.Context(), filepath.Join(parent, "file"), options()); err == nil || !strings.Contains(err.Error(), "is not a directory") {
		t.Errorf("a file: %v", err)
	}
	for kind, refused := range map[string]bool{
		"nfs": true, "nfs4": true, "cifs": true, "smb3": true, "9p": true, "ceph": true, "fuse.sshfs": true, "fuse.glusterfs": true,
		"fuse": true, "virtiofs": true, "lustre": true, "ext4": false, "xfs": false, "btrfs": false, "zfs": false, "tmpfs": false,
		"overlay": false, "fuseblk": false, "fuse.fuse-overlayfs": false, "": false,
	} {
		o := options()
		o.FileSystem = func(string) (string, error) { return kind, nil }
		dir := filepath.Join(t.TempDir(), "workspace")
		s, err := store.Open(t.Context(), dir, o)
		if err == nil {
			_ = s.Close()
		}
		if refused != (err != nil) {
			t.Errorf("%s: %v", kind, err)
		}
		if refused && (!strings.Contains(err.Error(), "network file system ("+kind+")") || !strings.Contains(fault.HintOf(err), "local disk")) {
			t.Errorf("%s says %v; %s", kind, err, fault.HintOf(err))
		}
		if _, err := os.Stat(filepath.Join(dir, "landfall.db")); refused && err == nil {
			t.Errorf("%s: a database was made", kind)
		}
	}
}

func TestAReadOnlyFileSystemIsRefused(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "ro")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := unix.Mount("tmpfs", dir, "tmpfs", unix.MS_RDONLY, "mode=700"); err != nil {
		t.Skipf("cannot mount here: %v", err)
	}
	t.Cleanup(func() { _ = unix.Unmount(dir, unix.MNT_DETACH) })
	_, err := store.Open(t.Context(), dir, options())
	if !fault.Is(err, fault.NoPermission) || !strings.Contains(fault.HintOf(err), "read-only file system") {
		t.Errorf("read-only mount: %v; %s", err, fault.HintOf(err))
	}
	_, err = store.Open(t.Context(), filepath.Join(dir, "new"), options())
	if !fault.Is(err, fault.NoPermission) || !strings.Contains(fault.HintOf(err), "read-only file system") {
		t.Errorf("new directory on a read-only mount: %v; %s", err, fault.HintOf(err))
	}
}

// Nothing is denied to root, so the one who is denied is another user where we are root.
func TestWhatCannotBeWrittenIsRefused(t *testing.T) {
	const nobody = 65534
	for name, c := range map[string]struct {
		dir, file os.FileMode
	}{"directory": {0o500, 0o600}, "database": {0o700, 0o400}} {
		t.Run(name, func(t *testing.T) {
			top, err := os.MkdirTemp("", "denied")
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = os.RemoveAll(top) })
			dir := filepath.Join(top, "workspace")
			if err := open(t, dir).Close(); err != nil {
				t.Fatal(err)
			}
			file := filepath.Join(dir, "landfall.db")
			if err := errors.Join(os.Chmod(top, 0o755), os.Chmod(file, c.file), os.Chmod(dir, c.dir)); err != nil {
				t.Fatal(err)
			}
			if os.Geteuid() != 0 {
				_, err := store.Open(t.Context(), dir, options())
				if !fault.Is(err, fault.NoPermission) || !strings.Contains(fault.HintOf(err), "chmod u+rwx") {
					t.Errorf("%v; %s", err, fault.HintOf(err))
				}
				return
			}
			self := must(os.ReadFile(must(os.Executable())(t)))(t)
			binary := filepath.Join(top, "test")
			if err := errors.Join(os.WriteFile(binary, self, 0o755), os.Chown(dir, nobody, nobody), os.Chown(file, nobody, nobody)); err != nil {
				t.Fatal(err)
			}
			p := exec.Command(binary)
			p.Env = append(os.Environ(), "LANDFALL_ACT=open", "LANDFALL_DIR="+dir)
			p.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
			out, err := p.CombinedOutput()
			if err == nil || !strings.Contains(string(out), "write to "+dir) || !strings.Contains(string(out), "permission denied") {
				t.Errorf("%v: %s", err, out)
			}
		})
	}
}

func TestADatabaseThatVanishesUnderUsIsNoticed(t *testing.T) {
	s := fresh(t)
	m := applied(t, s, 1)
	if err := os.Remove(filepath.Join(s.Dir(), "landfall.db")); err != nil {
		t.Fatal(err)
	}
	_, err := s.Commit(t.Context(), step(m))
	if fault.ReasonOf(err) != store.Gone || fault.ClassOf(err) != fault.Blocked {
		t.Errorf("commit into a deleted file: %v", err)
	}
	if _, err := s.Changed(t.Context()); fault.ReasonOf(err) != store.Gone {
		t.Errorf("reading a deleted file: %v", err)
	}
	if _, err := store.Open(t.Context(), s.Dir(), options()); fault.ReasonOf(err) != store.Gone {
		t.Errorf("opening anew: %v", err)
	}
}

// A process that is killed while it makes the database leaves nothing that the next one stumbles over.
func TestAHalfMadeDatabaseIsMadeAnew(t *testing.T) {
	dir := t.TempDir()
	if err := os.Chmod(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, "landfall.db.new"), []byte("SQLite format 3\x00 and no more"))
	write(t, filepath.Join(dir, "landfall.db.new-journal"), []byte("half"))
	applied(t, open(t, dir), 1)
	if left, _ := filepath.Glob(filepath.Join(dir, "*.new*")); len(left) != 0 {
		t.Errorf("left: %v", left)
	}
}

func TestManyMakeOneWorkspace(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "workspace")
	var all []*process
	for range 6 {
		all = append(all, child(t, "open", dir))
	}
	for _, p := range all {
		p.count(t)
	}
	open(t, dir)
}
