package convert_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"landfall/engine"
	"landfall/engine/convert"
	"landfall/engine/fault"
)

func needTool(t *testing.T) {
	t.Helper()
	if _, err := exec.LookPath("qemu-img"); err != nil {
		t.Skip("qemu-img is not installed")
	}
}

// area is what a raw image holds at an offset.
type area struct {
	at   int64
	data string
}

// image makes a sparse raw image.
func image(t *testing.T, path string, size int64, areas ...area) string {
	t.Helper()
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := f.Truncate(size); err != nil {
		t.Fatal(err)
	}
	for _, a := range areas {
		if _, err := f.WriteAt([]byte(a.data), a.at); err != nil {
			t.Fatal(err)
		}
	}
	return path
}

// contents are what a guest reads from the image, told by the tool's own reader.
func contents(t *testing.T, qcow2 string) []byte {
	t.Helper()
	raw := filepath.Join(t.TempDir(), "back.raw")
	if out, err := exec.Command("qemu-img", "convert", "-f", "qcow2", "-O", "raw", qcow2, raw).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	b, err := os.ReadFile(raw)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestConvert(t *testing.T) {
	needTool(t)
	for name, c := range map[string]struct {
		size  int64
		areas []area
	}{
		"sparse, not a multiple of the cluster": {8<<20 + 4096 + 512, []area{{0, "boot"}, {3<<20 + 7, strings.Repeat("x", 100_000)}}},
		"data at the very end":                  {5<<20 + 512, []area{{5<<20 + 512 - 3, "end"}}},
		"not a multiple of the sector":          {1<<20 + 7, []area{{1 << 20, "tail!!!"}}},
		"no data":                               {64 << 20, nil},
		"no size":                               {0, nil},
		"one sector":                            {512, []area{{0, "s"}}},
		"no hole":                               {192 << 10, []area{{0, strings.Repeat("full", 48<<10)}}},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			raw, out := image(t, filepath.Join(dir, "disk.raw"), c.size, c.areas...), filepath.Join(dir, "disk.qcow2")
			before, _ := os.ReadFile(raw)
			a, err := convert.QemuImg{}.Convert(t.Context(), raw, out)
			if err != nil {
				t.Fatal(err)
			}
			got := contents(t, out)
			if !bytes.HasPrefix(got, before) || len(bytes.Trim(got[len(before):], "\x00")) > 0 || len(got)-len(before) >= 512 {
				t.Errorf("the image differs: %d bytes of %d", len(got), len(before))
			}
			if after, _ := os.ReadFile(raw); !bytes.Equal(before, after) {
				t.Error("the raw image was changed")
			}
			b, err := os.ReadFile(out)
			if err != nil {
				t.Fatal(err)
			}
			sum := sha256.Sum256(b)
			want := engine.Artifact{Path: out, Format: "qcow2", Digest: hex.EncodeToString(sum[:]), Length: int64(len(b)), Made: a.Made}
			if a != want || !strings.HasPrefix(a.Made, "qemu-img ") {
				t.Errorf("described as %+v, is %+v", a, want)
			}
			if st, _ := os.Stat(out); st.Mode().Perm() != 0o600 {
				t.Errorf("mode %v", st.Mode())
			}
			alone(t, dir, "disk.raw", "disk.qcow2")
			d, err := convert.QemuImg{}.Open(t.Context(), a, c.size)
			if err != nil {
				t.Fatal(err)
			}
			defer d.Close()
			var sent bytes.Buffer
			if n, err := d.WriteTo(&sent); err != nil || n != d.Length() || !bytes.Equal(sent.Bytes(), b) || d.Size() != c.size || d.Format() != "qcow2" {
				t.Errorf("delivers %d bytes of %d: %v", n, len(b), err)
			}
		})
	}
}

// alone holds that a folder has these names and no other.
func alone(t *testing.T, dir string, names ...string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if !strings.Contains(strings.Join(names, "|")+"|", e.Name()+"|") {
			t.Errorf("%s is left", e.Name())
		}
	}
	if len(entries) != len(names) {
		t.Errorf("%d entries, want %q", len(entries), names)
	}
}

func TestOddPaths(t *testing.T) {
	needTool(t)
	for _, name := range []string{"a b", "nbd:host:10809", "-leading", "json:{}", "comma,backing=x", "pro%2Fcent", "ünï"} {
		t.Run(name, func(t *testing.T) {
			t.Chdir(t.TempDir())
			if err := os.Mkdir(name, 0o700); err != nil {
				t.Fatal(err)
			}
			for _, base := range []string{name, filepath.Join(must(os.Getwd()), name)} {
				raw := image(t, base+"/disk 0.raw", 1<<20, area{4096, name})
				a, err := convert.QemuImg{}.Convert(t.Context(), raw, base+"/disk:0.qcow2")
				if err != nil {
					t.Fatal(err)
				}
				if !bytes.Contains(contents(t, must(filepath.Abs(a.Path))), []byte(name)) {
					t.Error("the contents are lost")
				}
			}
		})
	}
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

func TestLeftOverIsReplaced(t *testing.T) {
	needTool(t)
	dir := t.TempDir()
	raw, out := image(t, dir+"/disk.raw", 1<<20, area{0, "new"}), dir+"/disk.qcow2"
	precious := image(t, filepath.Join(t.TempDir(), "precious"), 3, area{0, "yes"})
	for name, leave := range map[string]func() error{
		"garbage":         func() error { return os.WriteFile(out+".partial", bytes.Repeat([]byte("junk"), 1<<20), 0o644) },
		"readable by all": func() error { return os.WriteFile(out+".partial", nil, 0o666) },
		"a link":          func() error { return os.Symlink(precious, out+".partial") },
		"another result":  func() error { return os.WriteFile(out, []byte("old"), 0o644) },
	} {
		t.Run(name, func(t *testing.T) {
			if err := leave(); err != nil {
				t.Fatal(err)
			}
			a, err := convert.QemuImg{}.Convert(t.Context(), raw, out)
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.HasPrefix(contents(t, a.Path), []byte("new")) {
				t.Error("not what was asked for")
			}
			alone(t, dir, "disk.raw", "disk.qcow2")
		})
	}
	if b, _ := os.ReadFile(precious); string(b) != "yes" {
		t.Error("a link was followed")
	}
}

// fake is a tool that answers --version and else does as the script says.
func fake(t *testing.T, script string) convert.QemuImg {
	t.Helper()
	path := filepath.Join(t.TempDir(), "qemu-img")
	text := "#!/bin/sh\n[ \"$1\" = --version ] && { echo 'qemu-img version 9.9 (fake)'; exit 0; }\n" + script + "\n"
	if err := os.WriteFile(path, []byte(text), 0o700); err != nil {
		t.Fatal(err)
	}
	return convert.QemuImg{Tool: path}
}

func TestToolThatIsMissing(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("PATH", dir)
	locked := filepath.Join(dir, "locked")
	if err := os.WriteFile(locked, []byte("#!/bin/sh\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, q := range map[string]convert.QemuImg{
		"not in PATH": {}, "not at its path": {Tool: dir + "/none/qemu-img"}, "not executable": {Tool: locked},
	} {
		_, err := q.Convert(t.Context(), dir+"/a", dir+"/b")
		if fault.ClassOf(err) != fault.Blocked || fault.ReasonOf(err) != fault.Unsupported || !strings.Contains(fault.HintOf(err), "install qemu-utils") {
			t.Errorf("%s: %v (%s, %s; %s)", name, err, fault.ClassOf(err), fault.ReasonOf(err), fault.HintOf(err))
		}
	}
}

func TestToolThatFails(t *testing.T) {
	for name, c := range map[string]struct {
		script, said string
		class        fault.Class
		reason       string
	}{
		"two lines":      {"echo first >&2; echo 'the last word' >&2; exit 1", "the last word", fault.Transient, "ConversionFailed"},
		"silent":         {"exit 3", "qemu-img convert: exit status 3", fault.Transient, "ConversionFailed"},
		"no room":        {"echo 'qemu-img: error while writing at byte 0: No space left on device' >&2; exit 1", "No space left", fault.Blocked, fault.NoSpace},
		"over its quota": {"echo 'qemu-img: error while writing at byte 0: Disk quota exceeded' >&2; exit 1", "quota", fault.Blocked, fault.NoSpace},
		"endless words":  {"head -c 3000000 /dev/zero | tr '\\0' 'x' >&2; echo >&2; echo end >&2; exit 1", "end", fault.Transient, "ConversionFailed"},
		"its check":      {"[ $1 = check ] && { echo leaked >&2; exit 2; }; exit 0", "leaked", fault.Transient, "ConversionFailed"},
		"wrong format":   {"[ $1 = info ] && echo '{\"virtual-size\":512,\"format\":\"raw\"}'; exit 0", "format raw", fault.Transient, fault.Damaged},
		"wrong size":     {"[ $1 = info ] && echo '{\"virtual-size\":1024,\"format\":\"qcow2\"}'; exit 0", "1024", fault.Transient, fault.Damaged},
		"a backing file": {"[ $1 = info ] && echo '{\"virtual-size\":512,\"format\":\"qcow2\",\"backing-filename\":\"/etc/shadow\"}'; exit 0", "shadow", fault.Transient, fault.Damaged},
		"other contents": {"[ $1 = info ] && echo '{\"virtual-size\":512,\"format\":\"qcow2\"}'; [ $1 = compare ] && { echo 'Content mismatch' >&2; exit 1; }; exit 0", "mismatch", fault.Transient, fault.Damaged},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			raw := image(t, dir+"/disk.raw", 512)
			_, err := fake(t, c.script).Convert(t.Context(), raw, dir+"/disk.qcow2")
			if err == nil || !strings.Contains(err.Error(), c.said) || strings.Contains(err.Error(), "first") || len(err.Error()) > 1000 {
				t.Errorf("said %.300v", err)
			}
			if fault.ClassOf(err) != c.class || fault.ReasonOf(err) != c.reason {
				t.Errorf("%s %s, want %s %s", fault.ClassOf(err), fault.ReasonOf(err), c.class, c.reason)
			}
			if c.class == fault.Blocked && fault.HintOf(err) == "" {
				t.Error("no hint")
			}
			alone(t, dir, "disk.raw")
		})
	}
}

func TestNoRoom(t *testing.T) {
	needTool(t)
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=4m"); err != nil {
		t.Skip("a small file system may not be mounted here: ", err)
	}
	t.Cleanup(func() { _ = syscall.Unmount(dir, 0) })
	raw := image(t, filepath.Join(t.TempDir(), "disk.raw"), 16<<20, area{0, strings.Repeat("data", 2<<20)})
	_, err := convert.QemuImg{}.Convert(t.Context(), raw, dir+"/disk.qcow2")
	if fault.ClassOf(err) != fault.Blocked || fault.ReasonOf(err) != fault.NoSpace || fault.HintOf(err) == "" {
		t.Errorf("%v (%s, %s)", err, fault.ClassOf(err), fault.ReasonOf(err))
	}
	alone(t, dir)
	// Once there is room it goes on.
	if err := syscall.Mount("tmpfs", dir, "tmpfs", syscall.MS_REMOUNT, "size=64m"); err != nil {
		t.Fatal(err)
	}
	if _, err := (convert.QemuImg{}).Convert(t.Context(), raw, dir+"/disk.qcow2"); err != nil {
		t.Error(err)
	}
}

func TestCancelEndsTheTool(t *testing.T) {
	dir := t.TempDir()
	raw := image(t, dir+"/disk.raw", 512)
	pids := filepath.Join(t.TempDir(), "pids")
	// A child of the tool that keeps its output open must not hold the engine.
	q := fake(t, fmt.Sprintf("sleep 600 & echo $$ $! > '%s.new'; mv '%s.new' '%s'; wait", pids, pids, pids))
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		_, err := q.Convert(ctx, raw, dir+"/disk.qcow2")
		done <- err
	}()
	var tool, child int
	for deadline := time.Now().Add(20 * time.Second); child == 0; time.Sleep(5 * time.Millisecond) {
		if b, err := os.ReadFile(pids); err == nil {
			_, _ = fmt.Sscan(string(b), &tool, &child)
		} else if time.Now().After(deadline) {
			t.Fatal("the tool was not started")
		}
	}
	cancel()
	select {
	case err := <-done:
		if !errors.Is(err, context.Canceled) {
			t.Errorf("got %v", err)
		}
	case <-time.After(20 * time.Second):
		t.Fatal("the conversion goes on")
	}
	ends(t, tool)
	ends(t, child)
	alone(t, dir, "disk.raw")
}

// gone tells whether a process has ended, reaped by its parent or not.
func gone(pid int) bool {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err != nil || strings.Contains(string(b), ") Z ")
}

// TestMain makes the test binary a process that converts, to be killed.
func TestMain(m *testing.M) {
	if tool := os.Getenv("CONVERT_WITH"); tool != "" {
		_, err := convert.QemuImg{Tool: tool}.Convert(context.Background(), os.Getenv("CONVERT_RAW"), os.Getenv("CONVERT_OUT"))
		fmt.Println(err)
		os.Exit(1)
	}
	os.Exit(m.Run())
}

func TestToolEndsWithAKilledEngine(t *testing.T) {
	dir := t.TempDir()
	raw, pids := image(t, dir+"/disk.raw", 512), filepath.Join(t.TempDir(), "pids")
	q := fake(t, fmt.Sprintf("echo $$ > '%s.new'; mv '%s.new' '%s'; exec sleep 600", pids, pids, pids))
	cmd := exec.Command(must(os.Executable()))
	cmd.Env = append(os.Environ(), "CONVERT_WITH="+q.Tool, "CONVERT_RAW="+raw, "CONVERT_OUT="+dir+"/disk.qcow2")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var tool int
	for deadline := time.Now().Add(20 * time.Second); tool == 0; time.Sleep(5 * time.Millisecond) {
		if b, err := os.ReadFile(pids); err == nil {
			_, _ = fmt.Sscan(string(b), &tool)
		} else if time.Now().After(deadline) {
			t.Fatal("the tool was not started")
		}
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	ends(t, tool)
	// What is left is replaced by the next run.
	needTool(t)
	if _, err := (convert.QemuImg{}).Convert(t.Context(), raw, dir+"/disk.qcow2"); err != nil {
		t.Error(err)
	}
	alone(t, dir, "disk.raw", "disk.qcow2")
}

// ends waits for a process to be gone.
func ends(t *testing.T, pid int) {
	t.Helper()
	for range 1000 {
		if gone(pid) {
			return
		}
		time.Sleep(5 * time.Millisecond)
	}
	t.Errorf("process %d lives on", pid)
	_ = syscall.Kill(pid, syscall.SIGKILL)
}

func TestStagingThatTakesNoDirectWrites(t *testing.T) {
	needTool(t)
	dir := t.TempDir()
	if err := syscall.Mount("ramfs", dir, "ramfs", 0, ""); err != nil {
		t.Skip("a file system without direct writes may not be mounted here: ", err)
	}
	t.Cleanup(func() { _ = syscall.Unmount(dir, 0) })
	raw := image(t, dir+"/disk.raw", 1<<20, area{0, "data"})
	a, err := convert.QemuImg{}.Convert(t.Context(), raw, dir+"/disk.qcow2")
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.HasPrefix(contents(t, a.Path), []byte("data")) {
		t.Error("the contents are lost")
	}
}

func TestCancelledBefore(t *testing.T) {
	needTool(t)
	dir := t.TempDir()
	raw := image(t, dir+"/disk.raw", 512)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := (convert.QemuImg{}).Convert(ctx, raw, dir+"/disk.qcow2"); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	alone(t, dir, "disk.raw")
}

func TestRawThatIsMissing(t *testing.T) {
	needTool(t)
	dir := t.TempDir()
	_, err := convert.QemuImg{}.Convert(t.Context(), dir+"/disk.raw", dir+"/disk.qcow2")
	if err == nil || !strings.Contains(err.Error(), "disk.raw") {
		t.Errorf("got %v", err)
	}
	alone(t, dir)
}
