package sourcetest

import (
	"testing"
	"time"

	"landfall/engine/fault"
	"landfall/engine/machine"
)

func is(t *testing.T, f Fixture, ref machine.Ref, want machine.Power) {
	t.Helper()
	got, err := f.Source.Power(within(t), ref)
	ok(t, err)
	if got != want {
		t.Fatalf("VM %s is %s, want %s", ref, got, want)
	}
}

func power(t *testing.T, f Fixture) {
	for _, act := range []struct {
		on   bool
		want machine.Power
	}{{false, machine.Off}, {true, machine.On}, {true, machine.On}, {false, machine.Off}, {false, machine.Off}} {
		if act.on {
			ok(t, f.Source.PowerOn(within(t), f.Off))
		} else {
			ok(t, f.Source.PowerOff(within(t), f.Off))
		}
		is(t, f, f.Off, act.want)
	}
}

func shutdown(t *testing.T, f Fixture) {
	must(t, f.Source.Shutdown(within(t), f.Toolless), fault.Blocked, fault.ToolsUnavailable)
	is(t, f, f.Toolless, machine.On)

	ok(t, f.Source.Shutdown(within(t), f.Obedient))
	for deadline := time.Now().Add(30 * time.Second); ; time.Sleep(50 * time.Millisecond) {
		p, err := f.Source.Power(within(t), f.Obedient)
		ok(t, err)
		if p == machine.Off {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("the obedient guest is %s after 30 s", p)
		}
	}
	ok(t, f.Source.Shutdown(within(t), f.Obedient)) // off already
}

func proveOff(t *testing.T, f Fixture) {
	off, err := f.Source.Inspect(within(t), f.Off)
	ok(t, err)
	ok(t, f.Source.ProveOff(within(t), off))

	on, err := f.Source.Inspect(within(t), f.Toolless)
	ok(t, err)
	must(t, f.Source.ProveOff(within(t), on), fault.Transient, fault.VMRuns)

	// What was recorded earlier proves nothing: the VM is on now.
	ok(t, f.Source.PowerOn(within(t), f.Off))
	must(t, f.Source.ProveOff(within(t), off), fault.Transient, fault.VMRuns)
}
