// Package sourcetest is the suite that every source must pass. It tests what sources.Source and sources.Disk promise, on
// a world that the source's own tests provide, and knows no technology.
package sourcetest

import (
	"context"
	"io"
	"testing"
	"time"

	"landfall/engine/fault"
	"landfall/engine/machine"
	"landfall/sources"
)

// Fixture is a source, connected, and hands on the world behind it. A hand that is nil leaves out the tests that need it;
// all else is required.
type Fixture struct {
	Source sources.Source

	// Off is a VM that is off and has at least one disk of at least 1 MiB.
	Off machine.Ref
	// Contents are the bytes of its disks, in the order in which Inspect gives them.
	Contents []io.ReaderAt
	// Obedient runs, and its guest shuts down within seconds when asked.
	Obedient machine.Ref
	// Toolless runs, and its guest cannot be asked.
	Toolless machine.Ref

	// EndSessions ends every session at the endpoint.
	EndSessions func()
	// EndEarly lets the next disk stream end cleanly after so many bytes.
	EndEarly func(after int64)
	// Start and Stop change a VM's power behind the source's back.
	Start, Stop func(machine.Ref)
	// Changes counts what was changed at the endpoint, whoever did it.
	Changes func() int64
	// Tracked says that the endpoint can tell what of Off's disks is allocated.
	Tracked bool
}

// Run tests a source. New makes a fresh world for each part.
func Run(t *testing.T, New func(t *testing.T) Fixture) {
	parts := []struct {
		name  string
		needs func(Fixture) bool
		test  func(*testing.T, Fixture)
	}{
		{"about", always, about},
		{"list", always, list},
		{"inspect", always, inspect},
		{"not found", always, notFound},
		{"power is idempotent", always, power},
		{"shutdown", always, shutdown},
		{"prove off", always, proveOff},
		{"disk is read whole", always, readWhole},
		{"disk ranges", always, ranges},
		{"disk closed under a stream", always, closedDisk},
		{"disk of a running VM", always, heldDisk},
		{"VM started under a disk", func(f Fixture) bool { return f.Start != nil }, startedUnder},
		{"stream ends early", func(f Fixture) bool { return f.EndEarly != nil }, endsEarly},
		{"session ended", func(f Fixture) bool { return f.EndSessions != nil }, sessionEnded},
		{"allocated", always, allocated},
		{"probe", func(f Fixture) bool { _, can := f.Source.(sources.Prober); return can }, probe},
		{"cancelled", always, cancelled},
		{"closed", always, closed},
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

func always(Fixture) bool { return true }

func within(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(cancel)
	return ctx
}

// must fails the test unless err has the class and reason.
func must(t *testing.T, err error, class fault.Class, reason string) {
	t.Helper()
	if err == nil {
		t.Fatalf("no error, want %s %s", class, reason)
	}
	if fault.ClassOf(err) != class || fault.ReasonOf(err) != reason {
		t.Fatalf("%s %s (%v), want %s %s", fault.ClassOf(err), fault.ReasonOf(err), err, class, reason)
	}
}

func ok(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatalf("%v [%s %s; %s]", err, fault.ClassOf(err), fault.ReasonOf(err), fault.HintOf(err))
	}
}

func openFirst(t *testing.T, f Fixture) (machine.VM, sources.Disk) {
	t.Helper()
	vm, err := f.Source.Inspect(within(t), f.Off)
	ok(t, err)
	if len(vm.DiskList) == 0 {
		t.Fatal("the VM shows no disk")
	}
	d, err := f.Source.OpenDisk(within(t), vm, vm.DiskList[0])
	ok(t, err)
	t.Cleanup(func() { _ = d.Close() })
	return vm, d
}
