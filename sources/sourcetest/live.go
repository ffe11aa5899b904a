package sourcetest

import (
	"bytes"
	"context"
	"errors"
	"io"
	"sync"
	"testing"

	"landfall/engine/fault"
	"landfall/engine/machine"
	"landfall/sources"
)

// LiveFixture is a live source, connected, and hands on the world behind it. A hand that is nil leaves out the tests that
// need it; all else is required.
type LiveFixture struct {
	Source sources.Live

	// VM runs, has no snapshot, does not track changes, and its first disk has at least 4 MiB.
	VM machine.Ref
	// Content is what its first disk holds.
	Content []byte
	// Write is its guest, writing to that disk.
	Write func(offset int64, p []byte)
	// Stop takes it to off.
	Stop func()
	// Foreign takes a snapshot that is another's.
	Foreign func(name string)

	// Ranges says that a disk is read by ranges while the VM runs; else it is a Whole.
	Ranges bool
	// Unquiet lets every quiesced snapshot fail for the guest's sake.
	Unquiet func()
	// Lose makes all change ids unknown.
	Lose func()
	// Slow lets the next snapshot take about a second.
	Slow func()
	// Forget lets the endpoint forget the next removal's task as soon as it has ended.
	Forget func()
	// EndEarly lets the next stream of a Whole end cleanly after so many of its own bytes.
	EndEarly func(after int64)
}

// RunLive tests what sources.Live promises beyond sources.Source. New makes a fresh world for each part.
func RunLive(t *testing.T, New func(t *testing.T) LiveFixture) {
	parts := []struct {
		name  string
		needs func(LiveFixture) bool
		test  func(*testing.T, LiveFixture)
	}{
		{"change tracking", alwaysLive, liveTracking},
		{"a snapshot is taken once", alwaysLive, takenOnce},
		{"a snapshot whose asker has gone", func(f LiveFixture) bool { return f.Slow != nil }, takenForNobody},
		{"a snapshot is removed alone", alwaysLive, removedAlone},
		{"removal whose task is forgotten", func(f LiveFixture) bool { return f.Forget != nil }, removalForgotten},
		{"guest that cannot be brought to rest", func(f LiveFixture) bool { return f.Unquiet != nil }, unquiet},
		{"frozen while the guest writes", alwaysLive, frozen},
		{"changes between snapshots", alwaysLive, changesBetween},
		{"changes to the end", alwaysLive, changesToTheEnd},
		{"ids that are no longer known", func(f LiveFixture) bool { return f.Lose != nil }, idsLost},
		{"snapshot that is gone", alwaysLive, snapshotGone},
		{"stream cut short", func(f LiveFixture) bool { return f.EndEarly != nil && !f.Ranges }, cutShort},
	}
	for _, p := range parts {
		t.Run(p.name, func(t *testing.T) {
			f := New(t)
			if p.needs(f) {
				p.test(t, f)
			}
		})
	}
}

func alwaysLive(LiveFixture) bool { return true }

func liveTracking(t *testing.T, f LiveFixture) {
	for range 2 {
		ok(t, f.Source.SetChangeTracking(within(t), f.VM, true))
	}
	vm, err := f.Source.Inspect(within(t), f.VM)
	ok(t, err)
	if !vm.ChangeTracking {
		t.Error("it does not show")
	}
	s := take(t, f, "first")
	if s.ChangeIDs[vm.DiskList[0].Key] == "" {
		t.Errorf("the snapshot that made it active has no change id: %v", s.ChangeIDs)
	}
	ok(t, f.Source.SetChangeTracking(within(t), f.VM, true))
	must(t, f.Source.SetChangeTracking(within(t), f.VM, false), fault.Blocked, fault.Refused)
	ok(t, f.Source.RemoveSnapshot(within(t), f.VM, s))
	ok(t, f.Source.SetChangeTracking(within(t), f.VM, false))
	must(t, f.Source.SetChangeTracking(within(t), machine.Ref{MoRef: "no such"}, true), fault.Blocked, fault.NotFound)
}

const ours = "migration 1"

func take(t *testing.T, f LiveFixture, name string) sources.Snapshot {
	t.Helper()
	s, err := f.Source.TakeSnapshot(within(t), f.VM, sources.SnapshotSpec{Name: name, Description: ours})
	ok(t, err)
	return s
}

func takenOnce(t *testing.T, f LiveFixture) {
	f.Foreign("backup")
	a, b := take(t, f, "lease"), take(t, f, "lease")
	all, err := f.Source.Snapshots(within(t), f.VM)
	ok(t, err)
	if a.ID != b.ID || len(all) != 2 || a.Name != "lease" || a.Description != ours {
		t.Fatalf("%+v, then %+v, of %+v", a, b, all)
	}
	if all[0].Name != "backup" || all[0].Depth != 1 || all[1].ID != a.ID || all[1].Parent != all[0].ID || all[1].Depth != 2 {
		t.Errorf("the tree: %+v", all)
	}
	_, err = f.Source.TakeSnapshot(within(t), f.VM, sources.SnapshotSpec{Name: "backup", Description: ours})
	must(t, err, fault.Blocked, fault.NotOurs)
}

func takenForNobody(t *testing.T, f LiveFixture) {
	ok(t, f.Source.Settled(within(t), f.VM))
	f.Slow()
	gone, leave := context.WithCancel(within(t))
	asked := make(chan error, 1)
	go func() {
		_, err := f.Source.TakeSnapshot(gone, f.VM, sources.SnapshotSpec{Name: "lease", Description: ours})
		asked <- err
	}()
	for err := error(nil); err == nil; err = f.Source.Settled(within(t), f.VM) {
		select {
		case err := <-asked:
			t.Fatalf("not slow: %v", err)
		default:
		}
	}
	leave()
	if err := <-asked; err == nil {
		t.Error("who has gone was answered")
	}
	must(t, f.Source.Settled(within(t), f.VM), fault.Transient, "TaskInProgress")
	again := take(t, f, "lease")
	ok(t, f.Source.Settled(within(t), f.VM))
	all, err := f.Source.Snapshots(within(t), f.VM)
	ok(t, err)
	if len(all) != 1 || all[0].ID != again.ID {
		t.Errorf("%+v, not the one %+v", all, again)
	}
	must(t, f.Source.Settled(within(t), machine.Ref{MoRef: "no such"}), fault.Blocked, fault.NotFound)
}

func removedAlone(t *testing.T, f LiveFixture) {
	f.Foreign("before")
	s := take(t, f, "lease")
	f.Foreign("after")
	for range 2 {
		ok(t, f.Source.RemoveSnapshot(within(t), f.VM, s))
	}
	all, err := f.Source.Snapshots(within(t), f.VM)
	ok(t, err)
	if len(all) != 2 || all[0].Name != "before" || all[1].Name != "after" {
		t.Errorf("%+v", all)
	}
	stolen := all[0]
	stolen.Name, stolen.Description = "lease", ours
	must(t, f.Source.RemoveSnapshot(within(t), f.VM, stolen), fault.Blocked, fault.NotOurs)
}

func removalForgotten(t *testing.T, f LiveFixture) {
	s := take(t, f, "lease")
	f.Forget()
	ok(t, f.Source.RemoveSnapshot(within(t), f.VM, s))
	all, err := f.Source.Snapshots(within(t), f.VM)
	ok(t, err)
	if len(all) != 0 {
		t.Errorf("%+v", all)
	}
}

func unquiet(t *testing.T, f LiveFixture) {
	f.Unquiet()
	_, err := f.Source.TakeSnapshot(within(t), f.VM, sources.SnapshotSpec{Name: "lease", Description: ours, Quiesce: true})
	must(t, err, fault.Blocked, fault.QuiesceFailed)
	take(t, f, "lease")
}

// write is the guest, and the suite's own account of what it wrote.
func (f LiveFixture) write(offset int64, p []byte) {
	f.Write(offset, p)
	copy(f.Content[offset:], p)
}

func frozen(t *testing.T, f LiveFixture) {
	vm, err := f.Source.Inspect(within(t), f.VM)
	ok(t, err)
	f.write(1<<20+17, []byte("written before"))
	s := take(t, f, "lease")
	then := bytes.Clone(f.Content)
	f.write(1<<20, bytes.Repeat([]byte("written while it is read "), 4000))
	d := openFrozen(t, f, vm, s)
	if _, whole := d.(sources.Whole); whole == f.Ranges {
		t.Errorf("reader %s is a whole: %v", d.Reader(), whole)
	}
	if d.Size() != int64(len(then)) || d.Reader() == "" || d.Streams() < 1 {
		t.Errorf("%q, %d bytes, %d streams", d.Reader(), d.Size(), d.Streams())
	}
	for range 2 {
		got, err := contentOf(within(t), d)
		ok(t, err)
		if !bytes.Equal(got, then) {
			t.Error("it is not what the snapshot froze")
		}
	}
	own := errors.New("the caller's own")
	if w, ok := d.(sources.Whole); ok {
		if err := w.ReadAll(within(t), func(int64, []byte) error { return own }); !errors.Is(err, own) {
			t.Errorf("the caller's failure came back as %v", err)
		}
		_, err := d.Open(within(t), 0, 512)
		must(t, err, fault.Blocked, fault.Unsupported)
	}
	ok(t, d.Close())
	if _, err := contentOf(within(t), d); err == nil {
		t.Error("a closed disk is read")
	}
}

func openFrozen(t *testing.T, f LiveFixture, vm machine.VM, s sources.Snapshot) sources.Disk {
	t.Helper()
	d, err := f.Source.OpenFrozen(within(t), vm, s, vm.DiskList[0])
	ok(t, err)
	t.Cleanup(func() { _ = d.Close() })
	return d
}

// contentOf reads all of a disk, whichever way it is read.
func contentOf(ctx context.Context, d sources.Disk) ([]byte, error) {
	out := make([]byte, d.Size())
	w, whole := d.(sources.Whole)
	if !whole {
		r, err := d.Open(ctx, 0, d.Size())
		if err != nil {
			return nil, err
		}
		defer r.Close()
		_, err = io.ReadFull(r, out)
		return out, err
	}
	last := int64(-1)
	var mu sync.Mutex
	return out, w.ReadAll(ctx, func(offset int64, p []byte) error {
		mu.Lock()
		defer mu.Unlock()
		if offset <= last || offset+int64(len(p)) > d.Size() {
			return errors.New("parts overlap or come out of order")
		}
		last = offset + int64(len(p)) - 1
		copy(out[offset:], p)
		return nil
	})
}

// allChanges asks until the capacity is reached.
func allChanges(t *testing.T, f LiveFixture, vm machine.VM, s *sources.Snapshot, since string) []sources.Extent {
	t.Helper()
	var out []sources.Extent
	disk := vm.DiskList[0]
	for at := int64(0); at < disk.Capacity; {
		c, err := f.Source.Changed(within(t), vm, s, disk, since, at)
		ok(t, err)
		if c.Reach <= at || c.Reach > disk.Capacity {
			t.Fatalf("asked at %d, reached %d of %d", at, c.Reach, disk.Capacity)
		}
		for _, e := range c.Extents {
			if e.Offset < at || e.End() > c.Reach || e.Length <= 0 {
				t.Fatalf("extent %+v is outside of %d to %d", e, at, c.Reach)
			}
		}
		out = append(out, c.Extents...)
		at = c.Reach
	}
	return out
}

// covered fails where bytes differ outside of the extents.
func covered(t *testing.T, before, after []byte, changed []sources.Extent) {
	t.Helper()
	got := bytes.Clone(before)
	for _, e := range changed {
		copy(got[e.Offset:e.End()], after[e.Offset:e.End()])
	}
	if !bytes.Equal(got, after) {
		t.Error("bytes changed outside of what was told")
	}
}

func size(extents []sources.Extent) (n int64) {
	for _, e := range extents {
		n += e.Length
	}
	return n
}

func changesBetween(t *testing.T, f LiveFixture) {
	ok(t, f.Source.SetChangeTracking(within(t), f.VM, true))
	vm, err := f.Source.Inspect(within(t), f.VM)
	ok(t, err)
	key := vm.DiskList[0].Key
	first := take(t, f, "first")
	before := bytes.Clone(f.Content)
	f.write(70<<10, []byte("one"))
	f.write(2<<20-2, []byte("four"))
	ok(t, f.Source.RemoveSnapshot(within(t), f.VM, first))
	f.write(3<<20, []byte("between the snapshots"))
	second := take(t, f, "second")
	after := bytes.Clone(f.Content)
	f.write(0, []byte("after the second"))
	changed := allChanges(t, f, vm, &second, first.ChangeIDs[key])
	covered(t, before, after, changed)
	if n := size(changed); n == 0 || n >= int64(len(before))/2 {
		t.Errorf("%d of %d bytes are told as changed", n, len(before))
	}
	at, err := f.Source.Changed(within(t), vm, &second, vm.DiskList[0], first.ChangeIDs[key], vm.DiskList[0].Capacity)
	if err != nil || at.Reach != vm.DiskList[0].Capacity || len(at.Extents) != 0 {
		t.Errorf("at the end: %+v, %v", at, err)
	}
}

func changesToTheEnd(t *testing.T, f LiveFixture) {
	ok(t, f.Source.SetChangeTracking(within(t), f.VM, true))
	vm, err := f.Source.Inspect(within(t), f.VM)
	ok(t, err)
	s := take(t, f, "lease")
	id := s.ChangeIDs[vm.DiskList[0].Key]
	before := bytes.Clone(f.Content)
	f.write(1<<20, []byte("the last bytes"))
	_, err = f.Source.Changed(within(t), vm, nil, vm.DiskList[0], id, 0)
	must(t, err, fault.Transient, fault.VMRuns)
	f.Stop()
	ok(t, f.Source.RemoveSnapshot(within(t), f.VM, s))
	changed := allChanges(t, f, vm, nil, id)
	covered(t, before, f.Content, changed)
	d, err := f.Source.OpenDisk(within(t), vm, vm.DiskList[0])
	ok(t, err)
	defer d.Close()
	for _, e := range changed {
		ok(t, same(within(t), d, bytes.NewReader(f.Content), e.Offset, e.Length))
	}
}

func idsLost(t *testing.T, f LiveFixture) {
	ok(t, f.Source.SetChangeTracking(within(t), f.VM, true))
	vm, err := f.Source.Inspect(within(t), f.VM)
	ok(t, err)
	s := take(t, f, "lease")
	id := s.ChangeIDs[vm.DiskList[0].Key]
	f.Lose()
	for _, since := range []string{id, "nonsense", ""} {
		_, err := f.Source.Changed(within(t), vm, &s, vm.DiskList[0], since, 0)
		must(t, err, fault.Blocked, fault.TrackingLost)
	}
}

func snapshotGone(t *testing.T, f LiveFixture) {
	vm, err := f.Source.Inspect(within(t), f.VM)
	ok(t, err)
	s := take(t, f, "lease")
	ok(t, f.Source.RemoveSnapshot(within(t), f.VM, s))
	_, err = f.Source.OpenFrozen(within(t), vm, s, vm.DiskList[0])
	must(t, err, fault.Blocked, fault.NotFound)
}

func cutShort(t *testing.T, f LiveFixture) {
	vm, err := f.Source.Inspect(within(t), f.VM)
	ok(t, err)
	f.write(0, bytes.Repeat([]byte("no zeros here"), 20000))
	s := take(t, f, "lease")
	d := openFrozen(t, f, vm, s)
	for _, after := range []int64{0, 100, 70 << 10} {
		f.EndEarly(after)
		_, err = contentOf(within(t), d)
		must(t, err, fault.Transient, fault.EarlyEnd)
	}
	got, err := contentOf(within(t), d)
	ok(t, err)
	if !bytes.Equal(got, f.Content) {
		t.Error("read again, it is not what the snapshot froze")
	}
}
