package vsphere_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"landfall/engine/fault"
	"landfall/engine/machine"
	"landfall/sources"
	"landfall/sources/esxsim"
	"landfall/sources/vsphere"
)

const diskSize = 8 << 20

// opened is a host with one VM that is off, and its disk, open.
func opened(t testing.TB, c esxsim.Config, o vsphere.Options) (*esxsim.Server, sources.Source, machine.VM, sources.Disk) {
	t.Helper()
	if c.VMs == nil {
		c.VMs = []esxsim.VM{{Name: "web", Disks: []esxsim.Disk{{Size: diskSize, Contents: content(7, esxsim.Range{Length: diskSize})}}}}
	}
	sim, doc := start(t, c)
	src := dial(t, doc, o)
	vm, err := src.Inspect(context.Background(), ref(t, src, c.VMs[0].Name))
	if err != nil {
		t.Fatal(err)
	}
	d, err := src.OpenDisk(context.Background(), vm, vm.DiskList[0])
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = d.Close() })
	return sim, src, vm, d
}

func script(t testing.TB, sim *esxsim.Server, f esxsim.HTTPFault) {
	t.Helper()
	if err := sim.FailHTTP(f); err != nil {
		t.Fatal(err)
	}
}

// fetch reads a range as a copy would: after a Transient failure it goes on at the byte. It counts the failures.
func fetch(d sources.Disk, length int64) (got []byte, failures []error, err error) {
	for int64(len(got)) < length {
		r, err := d.Open(context.Background(), int64(len(got)), length-int64(len(got)))
		if err == nil {
			var part []byte
			part, err = io.ReadAll(r)
			got = append(got, part...)
			_ = r.Close()
		}
		if err != nil {
			if failures = append(failures, err); fault.ClassOf(err) != fault.Transient || len(failures) > 5 {
				return got, failures, err
			}
		}
	}
	return got, failures, nil
}

func right(t *testing.T, got []byte) {
	t.Helper()
	want := make([]byte, len(got))
	if _, err := pattern(content(7, esxsim.Range{Length: diskSize})).ReadAt(want, 0); err != nil {
		t.Fatal(err)
	}
	if len(got) != diskSize || !bytes.Equal(got, want) {
		t.Errorf("%d bytes arrived, and they are not the disk's", len(got))
	}
}

func TestDownloadGoesOn(t *testing.T) {
	for _, c := range []struct {
		name   string
		break_ esxsim.HTTPFault
		reason string
		after  time.Duration
	}{
		{"connection cut", esxsim.HTTPFault{Count: 1, Cut: true, After: 3<<20 + 17}, "", 0},
		{"clean early end", esxsim.HTTPFault{Count: 1, End: true, After: 3<<20 + 17}, fault.EarlyEnd, 0},
		{"no bytes any more", esxsim.HTTPFault{Count: 1, Stall: true, After: 3<<20 + 17}, vsphere.Stalled, 0},
		{"too busy", esxsim.HTTPFault{Count: 1, Status: 503, RetryAfter: 3 * time.Second}, vsphere.Busy, 3 * time.Second},
		{"failed inside", esxsim.HTTPFault{Count: 1, Status: 500}, vsphere.ServerError, 0},
		{"bad gateway", esxsim.HTTPFault{Count: 1, Status: 502}, vsphere.ServerError, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			sim, _, _, d := opened(t, esxsim.Config{}, vsphere.Options{StallTimeout: 400 * time.Millisecond})
			sim.ResetCounters()
			c.break_.Path = "-flat"
			script(t, sim, c.break_)
			got, failures, err := fetch(d, diskSize)
			if err != nil {
				t.Fatal(err)
			}
			right(t, got)
			if len(failures) != 1 {
				t.Fatalf("failures: %v", failures)
			}
			harmless(t, failures[0])
			if c.reason != "" && !fault.Is(failures[0], c.reason) {
				t.Errorf("%s: %v, want %s", fault.ReasonOf(failures[0]), failures[0], c.reason)
			}
			if got := fault.AfterOf(failures[0]); got != c.after {
				t.Errorf("wait %s, want %s", got, c.after)
			}
		})
	}
}

// A session that ends in the middle of a copy costs one new login and no byte.
func TestSessionEndsMidDownload(t *testing.T) {
	sim, _, _, d := opened(t, esxsim.Config{Rate: 8 << 20}, vsphere.Options{})
	sim.ResetCounters()
	ended := time.AfterFunc(300*time.Millisecond, sim.EndSessions)
	defer ended.Stop()
	var got []byte
	for at := int64(0); at < diskSize; at += 1 << 20 {
		r, err := d.Open(context.Background(), at, 1<<20)
		if err != nil {
			t.Fatal(err)
		}
		part, err := io.ReadAll(r)
		_ = r.Close()
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, part...)
	}
	right(t, got)
	c := sim.Counters()
	if c.Logins != 1 || c.Refused[401] == 0 {
		t.Errorf("%d logins, %d refusals: the session did not end in the middle", c.Logins, c.Refused[401])
	}
}

func TestDownloadRefused(t *testing.T) {
	for _, c := range []struct {
		name   string
		fault  esxsim.HTTPFault
		reason string
	}{
		{"no permission", esxsim.HTTPFault{Status: 403}, fault.NoPermission},
		{"gone", esxsim.HTTPFault{Status: 404}, fault.NotFound},
		{"range not there", esxsim.HTTPFault{Status: 416}, fault.SizeChanged},
		{"range ignored", esxsim.HTTPFault{IgnoreRange: true}, fault.Unsupported},
	} {
		t.Run(c.name, func(t *testing.T) {
			sim, src, vm, d := opened(t, esxsim.Config{}, vsphere.Options{})
			c.fault.Path = "-flat"
			script(t, sim, c.fault)
			_, err := d.Open(context.Background(), 4096, 4096)
			expect(t, err, fault.Blocked, c.reason)
			_, err = src.OpenDisk(context.Background(), vm, vm.DiskList[0])
			expect(t, err, fault.Blocked, c.reason)
			sim.ClearFaults()
			got, _, err := fetch(d, diskSize)
			if err != nil {
				t.Fatal(err)
			}
			right(t, got)
		})
	}
}

func TestStartedDuringStream(t *testing.T) {
	sim, _, vm, d := opened(t, esxsim.Config{}, vsphere.Options{})
	script(t, sim, esxsim.HTTPFault{Path: "-flat", Count: 1, Cut: true, After: 2 << 20})
	r, err := d.Open(context.Background(), 0, diskSize)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if err := sim.SetPower(vm.Ref.InstanceUUID, esxsim.On); err != nil {
		t.Fatal(err)
	}
	_, err = io.Copy(io.Discard, r)
	expect(t, err, fault.Transient, fault.VMRuns)
	if _, again := r.Read(make([]byte, 1)); !errors.Is(again, err) {
		t.Errorf("read after the end: %v", again)
	}
}

// A reader that pauses for longer than the patience with the host is no stall.
func TestSlowReaderIsNoStall(t *testing.T) {
	_, _, _, d := opened(t, esxsim.Config{}, vsphere.Options{StallTimeout: 200 * time.Millisecond})
	r, err := d.Open(context.Background(), 0, diskSize)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if _, err := io.CopyN(io.Discard, r, 1<<20); err != nil {
		t.Fatal(err)
	}
	time.Sleep(600 * time.Millisecond)
	if n, err := io.Copy(io.Discard, r); err != nil || n != diskSize-1<<20 {
		t.Errorf("%d bytes, %v", n, err)
	}
}

func TestConnectionsAreCapped(t *testing.T) {
	const streams = 3
	c := esxsim.Config{Rate: 24 << 20, VMs: []esxsim.VM{{Name: "web", Disks: []esxsim.Disk{{Size: diskSize}, {Size: diskSize}}}}}
	sim, doc := start(t, c)
	doc.MaxConnections = streams
	src := dial(t, doc, vsphere.Options{})
	vm, err := src.Inspect(context.Background(), ref(t, src, "web"))
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error)
	for _, disk := range vm.DiskList {
		d, err := src.OpenDisk(context.Background(), vm, disk)
		if err != nil {
			t.Fatal(err)
		}
		defer d.Close()
		if d.Streams() != streams {
			t.Errorf("%d streams are promised, want %d", d.Streams(), streams)
		}
		for at := int64(0); at < diskSize; at += 1 << 20 {
			go func() {
				r, err := d.Open(context.Background(), at, 1<<20)
				if err == nil {
					_, err = io.Copy(io.Discard, r)
					_ = r.Close()
				}
				done <- err
			}()
		}
	}
	for range 2 * diskSize / (1 << 20) {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
	if n := sim.Counters().MaxParallel; n > streams || n < 2 {
		t.Errorf("%d requests at once, want %d", n, streams)
	}
}

// A file that is longer or shorter than what the VM's hardware says does not belong to it.
func TestFileOfAnotherSize(t *testing.T) {
	for _, by := range []int64{-512, 512} {
		sim, src, vm, d := opened(t, esxsim.Config{}, vsphere.Options{})
		files, err := filepath.Glob(filepath.Join(sim.Dir(), "datastores", "*", "*", "*-flat.vmdk"))
		if err != nil || len(files) != 1 {
			t.Fatalf("%q, %v", files, err)
		}
		if err := os.Truncate(files[0], diskSize+by); err != nil {
			t.Fatal(err)
		}
		_, err = src.OpenDisk(context.Background(), vm, vm.DiskList[0])
		expect(t, err, fault.Blocked, fault.SizeChanged)
		_, err = d.Open(context.Background(), 0, 4096)
		expect(t, err, fault.Blocked, fault.SizeChanged)
	}
}

func TestDiskChangedUnderUs(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*esxsim.Server, string) error
		reason string
		says   string
	}{
		{"grown", func(s *esxsim.Server, vm string) error { return s.GrowDisk(vm, 0, diskSize+1<<20) }, fault.SizeChanged, "9437184"},
		{"snapshot taken", func(s *esxsim.Server, vm string) error { return s.TakeSnapshot(vm, "before update") }, fault.Unsupported, "snapshot"},
		{"unregistered", func(s *esxsim.Server, vm string) error { return s.Unregister(vm) }, fault.NotFound, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			sim, src, vm, d := opened(t, esxsim.Config{}, vsphere.Options{})
			if err := c.change(sim, vm.Ref.InstanceUUID); err != nil {
				t.Fatal(err)
			}
			_, err := src.OpenDisk(context.Background(), vm, vm.DiskList[0])
			expect(t, err, fault.Blocked, c.reason)
			if !strings.Contains(err.Error(), c.says) {
				t.Errorf("%v does not say %q", err, c.says)
			}
			if c.reason == fault.SizeChanged { // also for a disk that was open before
				_, err := d.Open(context.Background(), 0, 4096)
				expect(t, err, fault.Blocked, fault.SizeChanged)
			}
		})
	}
}
