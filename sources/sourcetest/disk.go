package sourcetest

import (
	"bytes"
	"context"
	"errors"
	"io"
	"sync"
	"testing"

	"landfall/engine/fault"
	"landfall/sources"
)

// same compares a range of a disk with what it should hold.
func same(ctx context.Context, d sources.Disk, want io.ReaderAt, offset, length int64) error {
	r, err := d.Open(ctx, offset, length)
	if err != nil {
		return err
	}
	defer r.Close()
	got, wanted := make([]byte, 1<<20), make([]byte, 1<<20)
	for at := offset; at < offset+length; {
		n := int(min(int64(len(got)), offset+length-at))
		if _, err := io.ReadFull(r, got[:n]); err != nil {
			return err
		}
		if m, err := want.ReadAt(wanted[:n], at); m < n {
			return err
		}
		if !bytes.Equal(got[:n], wanted[:n]) {
			return errors.New("the bytes differ")
		}
		at += int64(n)
	}
	if n, err := r.Read(got[:1]); n != 0 || err != io.EOF {
		return errors.New("the stream does not end where it should")
	}
	return nil
}

// readWhole reads every disk with as many streams as it allows.
func readWhole(t *testing.T, f Fixture) {
	vm, err := f.Source.Inspect(within(t), f.Off)
	ok(t, err)
	for i, disk := range vm.DiskList {
		d, err := f.Source.OpenDisk(within(t), vm, disk)
		ok(t, err)
		if d.Size() != disk.Capacity || d.Streams() < 1 || d.Reader() == "" {
			t.Errorf("disk %s: size %d of %d, %d streams, reader %q", disk.Where(), d.Size(), disk.Capacity, d.Streams(), d.Reader())
		}
		ctx := within(t)
		part := max(d.Size()/int64(4*d.Streams()), 64<<10)
		parts := make(chan int64)
		var wg sync.WaitGroup
		for range d.Streams() {
			wg.Go(func() {
				for at := range parts {
					if err := same(ctx, d, f.Contents[i], at, min(part, d.Size()-at)); err != nil {
						t.Errorf("disk %s at %d: %v", disk.Where(), at, err)
					}
				}
			})
		}
		for at := int64(0); at < d.Size(); at += part {
			parts <- at
		}
		close(parts)
		wg.Wait()
		ok(t, d.Close())
	}
}

func ranges(t *testing.T, f Fixture) {
	_, d := openFirst(t, f)
	size := d.Size()
	for _, r := range []struct {
		name           string
		offset, length int64
	}{
		{"first byte", 0, 1},
		{"last byte", size - 1, 1},
		{"odd in the middle", size/2 - 17, 4099},
		{"nothing", 5, 0},
		{"nothing at the end", size, 0},
		{"again", 0, 1},
	} {
		if err := same(within(t), d, f.Contents[0], r.offset, r.length); err != nil {
			t.Errorf("%s: %v", r.name, err)
		}
	}
	for _, r := range [][2]int64{{-1, 1}, {0, size + 1}, {size, 1}, {1, -1}, {1, 1<<63 - 1}} {
		if s, err := d.Open(within(t), r[0], r[1]); err == nil {
			_ = s.Close()
			t.Errorf("%d bytes at %d were opened", r[1], r[0])
		}
	}
}

func closedDisk(t *testing.T, f Fixture) {
	_, d := openFirst(t, f)
	r, err := d.Open(within(t), 0, d.Size())
	ok(t, err)
	defer r.Close()
	ok(t, d.Close())
	// What is buffered may still come; the end must not look like success.
	if n, err := io.Copy(io.Discard, r); err == nil {
		t.Errorf("a stream of a closed disk ended cleanly after %d bytes", n)
	}
	if r, err := d.Open(within(t), 0, 1); err == nil {
		_ = r.Close()
		t.Error("a closed disk was opened")
	}
	ok(t, d.Close())
}

func heldDisk(t *testing.T, f Fixture) {
	vm, err := f.Source.Inspect(within(t), f.Off)
	ok(t, err)
	ok(t, f.Source.PowerOn(within(t), f.Off))
	_, err = f.Source.OpenDisk(within(t), vm, vm.DiskList[0])
	must(t, err, fault.Transient, fault.VMRuns)
}

func startedUnder(t *testing.T, f Fixture) {
	_, d := openFirst(t, f)
	f.Start(f.Off)
	_, err := d.Open(within(t), 0, 4096)
	must(t, err, fault.Transient, fault.VMRuns)
	f.Stop(f.Off)
	ok(t, same(within(t), d, f.Contents[0], 0, 4096))
}

func endsEarly(t *testing.T, f Fixture) {
	_, d := openFirst(t, f)
	const promised, given = 256 << 10, 100_000
	f.EndEarly(given)
	r, err := d.Open(within(t), 0, promised)
	ok(t, err)
	n, err := io.Copy(io.Discard, r)
	_ = r.Close()
	must(t, err, fault.Transient, fault.EarlyEnd)
	if n > given {
		t.Errorf("%d bytes came, the endpoint gave %d", n, given)
	}
	ok(t, same(within(t), d, f.Contents[0], n, promised-n)) // and goes on at the byte
}

func sessionEnded(t *testing.T, f Fixture) {
	vm, d := openFirst(t, f)
	f.EndSessions()
	ok(t, same(within(t), d, f.Contents[0], 0, 4096))
	f.EndSessions()
	_, err := f.Source.List(within(t))
	ok(t, err)
	f.EndSessions()
	_, err = f.Source.Inspect(within(t), vm.Ref)
	ok(t, err)
	f.EndSessions()
	ok(t, f.Source.PowerOn(within(t), vm.Ref))
	f.EndSessions()
	ok(t, f.Source.PowerOff(within(t), vm.Ref))
	f.EndSessions()
	ok(t, f.Source.ProveOff(within(t), vm))
}

// allocated holds the one thing that a copy relies on: where the source says that nothing is, nothing is.
func allocated(t *testing.T, f Fixture) {
	vm, err := f.Source.Inspect(within(t), f.Off)
	ok(t, err)
	for i, disk := range vm.DiskList {
		d, err := f.Source.OpenDisk(within(t), vm, disk)
		ok(t, err)
		defer d.Close()
		areas, err := d.Allocated(within(t))
		if !f.Tracked {
			must(t, err, fault.Blocked, fault.Unsupported)
			continue
		}
		ok(t, err)
		at := int64(0)
		for _, a := range append(areas, sources.Extent{Offset: d.Size()}) {
			if a.Offset < at || a.Length < 0 || a.End() > d.Size() {
				t.Fatalf("disk %s: area %+v after %d of %d", disk.Where(), a, at, d.Size())
			}
			zero(t, f.Contents[i], at, a.Offset)
			at = a.End()
		}
	}
}

func zero(t *testing.T, r io.ReaderAt, from, to int64) {
	t.Helper()
	buf, none := make([]byte, 1<<20), make([]byte, 1<<20)
	for at := from; at < to; at += int64(len(buf)) {
		n := int(min(int64(len(buf)), to-at))
		if m, err := r.ReadAt(buf[:n], at); m < n {
			t.Fatal(err)
		}
		if !bytes.Equal(buf[:n], none[:n]) {
			t.Fatalf("data at %d is outside the allocated areas", at)
		}
	}
}

func cancelled(t *testing.T, f Fixture) {
	vm, d := openFirst(t, f)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := d.Open(ctx, 0, 4096)
	must(t, err, fault.Transient, fault.Interrupted)
	_, err = f.Source.Power(ctx, vm.Ref)
	must(t, err, fault.Transient, fault.Interrupted)
	ok(t, same(within(t), d, f.Contents[0], 0, 4096))
}

func closed(t *testing.T, f Fixture) {
	ok(t, f.Source.Close())
	if _, err := f.Source.Power(within(t), f.Off); err == nil {
		t.Error("a closed source told a power state")
	}
	ok(t, f.Source.Close())
}
