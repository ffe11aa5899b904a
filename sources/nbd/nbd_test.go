package nbd_test

import (
	"bytes"
	"context"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"landfall/engine/fault"
	"landfall/sources"
	"landfall/sources/nbd"
)

const mib = 1 << 20

// image makes a sparse file with data at two places and gives its bytes too.
func image(t *testing.T) (string, []byte) {
	t.Helper()
	data := make([]byte, 16*mib+512)
	random := rand.NewChaCha8([32]byte{1})
	_, _ = random.Read(data[3*mib : 5*mib])
	_, _ = random.Read(data[16*mib:])
	name := filepath.Join(t.TempDir(), "disk.raw")
	f, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := f.Truncate(int64(len(data))); err != nil {
		t.Fatal(err)
	}
	for _, at := range []int{3 * mib, 4 * mib, 16 * mib} {
		if _, err := f.WriteAt(data[at:min(at+mib, len(data))], int64(at)); err != nil {
			t.Fatal(err)
		}
	}
	return name, data
}

func within(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(cancel)
	return ctx
}

// serve starts a server by our own command and opens its disk.
func serve(t *testing.T, file string, size int, words ...string) *nbd.Served {
	t.Helper()
	if _, err := exec.LookPath(words[0]); err != nil {
		t.Skipf("%s is not here", words[0])
	}
	d, err := nbd.Start(within(t), nbd.Command{Words: words, Values: map[string]string{"path": file}}, int64(size))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = d.Close() })
	return d
}

func read(t *testing.T, d sources.Disk, offset, length int64) ([]byte, error) {
	t.Helper()
	r, err := d.Open(within(t), offset, length)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	return io.ReadAll(r)
}

var servers = map[string][]string{
	"nbdkit":                          {"nbdkit", "-f", "-r", "-U", "{socket}", "file", "{path}"},
	"nbdkit without structure":        {"nbdkit", "-f", "-r", "--no-sr", "-U", "{socket}", "file", "{path}"},
	"nbdkit, one request at a time":   {"nbdkit", "-f", "-r", "-U", "{socket}", "--filter=noparallel", "file", "{path}"},
	"nbdkit with a small cap":         {"nbdkit", "-f", "-r", "-U", "{socket}", "--filter=blocksize-policy", "file", "{path}", "blocksize-maximum=64K", "blocksize-error-policy=error"},
	"nbdkit without many connections": {"nbdkit", "-f", "-r", "-U", "{socket}", "--filter=multi-conn", "file", "{path}", "multi-conn-mode=disable"},
	"qemu-nbd":                        {"qemu-nbd", "-r", "-t", "-f", "raw", "-k", "{socket}", "{path}"},
}

func TestReadsWhatServersServe(t *testing.T) {
	for name, words := range servers {
		t.Run(name, func(t *testing.T) {
			file, data := image(t)
			d := serve(t, file, len(data), words...)
			if d.Size() != int64(len(data)) || d.Reader() != "nbd" {
				t.Errorf("%s of %d bytes", d.Reader(), d.Size())
			}
			var wg sync.WaitGroup
			for i := range 8 {
				wg.Go(func() {
					from, to := i*len(data)/8, (i+1)*len(data)/8
					got, err := read(t, d, int64(from), int64(to-from))
					if err != nil || !bytes.Equal(got, data[from:to]) {
						t.Errorf("%d to %d: %v, %d bytes", from, to, err, len(got))
					}
				})
			}
			wg.Wait()
			if got, err := read(t, d, 5, 0); err != nil || len(got) != 0 {
				t.Errorf("nothing: %v, %d bytes", err, len(got))
			}
			if _, err := read(t, d, int64(len(data))-1, 2); !fault.Is(err, fault.Refused) {
				t.Errorf("behind the end: %v", err)
			}
		})
	}
}

func TestAllocated(t *testing.T) {
	for name, words := range servers {
		if name == "qemu-nbd" {
			continue // what it tells of a raw file depends on its file system
		}
		t.Run(name, func(t *testing.T) {
			file, data := image(t)
			d := serve(t, file, len(data), words...)
			areas, err := d.Allocated(within(t))
			if strings.Contains(name, "without structure") {
				if fault.ClassOf(err) != fault.Blocked || !fault.Is(err, fault.Unsupported) {
					t.Errorf("%v", err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			sum, end := int64(0), int64(0)
			for _, a := range areas {
				if a.Offset < end {
					t.Errorf("%v overlap", areas)
				}
				for _, b := range data[end:a.Offset] {
					if b != 0 {
						t.Fatalf("data between %d and %d is not told", end, a.Offset)
					}
				}
				sum, end = sum+a.Length, a.End()
			}
			if sum < 2*mib || sum > 3*mib {
				t.Errorf("%d bytes in %v", sum, areas)
			}
		})
	}
}

func TestCommandFails(t *testing.T) {
	file, data := image(t)
	for name, c := range map[string]struct {
		words  []string
		size   int
		reason string
		says   string
	}{
		"not installed":   {[]string{"landfall-no-such-server"}, len(data), fault.Unsupported, "landfall-no-such-server"},
		"ends at once":    {[]string{"sh", "-c", "echo VixDiskLib: cannot connect to host >&2; exit 1"}, len(data), fault.Unsupported, "VixDiskLib: cannot connect to host"},
		"never listens":   {[]string{"sh", "-c", "echo waiting for a licence; exec sleep 60"}, len(data), fault.Unreachable, "waiting for a licence"},
		"another disk":    {servers["nbdkit"], len(data) - 512, fault.SizeChanged, "16777728"},
		"no words at all": {nil, len(data), fault.Refused, "no NBD command"},
	} {
		t.Run(name, func(t *testing.T) {
			if len(c.words) > 0 && c.words[0] == "nbdkit" {
				if _, err := exec.LookPath("nbdkit"); err != nil {
					t.Skip("nbdkit is not here")
				}
			}
			d, err := nbd.Start(within(t), nbd.Command{Words: c.words, Values: map[string]string{"path": file}, Patience: 2 * time.Second}, int64(c.size))
			if err == nil {
				d.Close()
				t.Fatal("it started")
			}
			if !fault.Is(err, c.reason) || !strings.Contains(err.Error(), c.says) {
				t.Errorf("%s: %v", fault.ReasonOf(err), err)
			}
		})
	}
}

// The password is in a file of the command's own folder, for its owner alone, and goes with the disk.
func TestPasswordIsNoArgument(t *testing.T) {
	file, data := image(t)
	seen := filepath.Join(t.TempDir(), "seen")
	if _, err := exec.LookPath("nbdkit"); err != nil {
		t.Skip("nbdkit is not here")
	}
	script := `stat -c %a "$2" >"$3"; cat "$2" >>"$3"; echo "$2" >>"$3"; tr '\0' ' ' </proc/$$/cmdline | grep -c s[e]same >>"$3"; exec nbdkit -f -r -U "$1" file "$4"`
	d, err := nbd.Start(within(t), nbd.Command{Words: []string{"sh", "-c", script, "sh", "{socket}", "{password}", seen, "{path}"},
		Values: map[string]string{"path": file}, Password: "open sesame\n"}, int64(len(data)))
	if err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(seen)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(string(b), "\n")
	if len(lines) < 4 || lines[0] != "600" || lines[1] != "open sesame" || lines[3] != "0" {
		t.Fatalf("%q", b)
	}
	if err := d.Close(); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(filepath.Dir(lines[2])); !os.IsNotExist(err) {
		t.Errorf("the folder is left: %v", err)
	}
	if _, err := read(t, d, 0, 1); !fault.Is(err, fault.Interrupted) {
		t.Errorf("read after close: %v", err)
	}
}

func TestServerDiesUnderARead(t *testing.T) {
	file, data := image(t)
	d := serve(t, file, len(data), "nbdkit", "-f", "-r", "-U", "{socket}", "--filter=exitlast", "--filter=delay", "file", "{path}", "rdelay=50ms")
	r, err := d.Open(within(t), 0, int64(len(data)))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(r, make([]byte, mib)); err != nil {
		t.Fatal(err)
	}
	d.Kill()
	_, err = io.Copy(io.Discard, r)
	if fault.ClassOf(err) != fault.Transient || !fault.Is(err, fault.Unreachable) {
		t.Errorf("%s %s: %v", fault.ClassOf(err), fault.ReasonOf(err), err)
	}
}

func TestServerFailsARead(t *testing.T) {
	file, data := image(t)
	d := serve(t, file, len(data), "nbdkit", "-f", "-r", "-U", "{socket}", "--filter=error", "file", "{path}", "error-pread=EIO", "error-pread-rate=100%")
	_, err := read(t, d, 0, mib)
	if fault.ClassOf(err) != fault.Transient || !strings.Contains(err.Error(), "input/output") {
		t.Errorf("%s: %v", fault.ClassOf(err), err)
	}
}

func TestURI(t *testing.T) {
	file, data := image(t)
	served := serve(t, file, len(data), servers["nbdkit"]...)
	d, err := nbd.Open(within(t), "nbd+unix:///?socket="+served.Socket(), int64(len(data)))
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	if got, err := read(t, d, 3*mib, mib); err != nil || !bytes.Equal(got, data[3*mib:4*mib]) {
		t.Errorf("%v, %d bytes", err, len(got))
	}
	for uri, want := range map[string]nbd.Address{
		"nbd://nas/disk%201":               {Network: "tcp", Where: "nas:10809", Export: "disk 1"},
		"nbd://[::1]:7/":                   {Network: "tcp", Where: "[::1]:7"},
		"nbd+unix:///a?socket=/run/x.sock": {Network: "unix", Where: "/run/x.sock", Export: "a"},
	} {
		if got, err := nbd.Parse(uri); err != nil || got != want {
			t.Errorf("%s: %+v, %v", uri, got, err)
		}
	}
	for _, uri := range []string{"", "nas:10809", "nbds://nas", "nbd+unix:///a", "nbd+unix:///?socket=relative", "nbd:///x", "nbd://user:secret@nas/", "nbd://%zz"} {
		if _, err := nbd.Parse(uri); !fault.Is(err, fault.Refused) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v", uri, err)
		}
	}
}
