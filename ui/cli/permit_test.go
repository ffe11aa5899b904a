package cli

import (
	"testing"

	"landfall/engine"
	"landfall/sources/esxsim"
)

// TestCopiesThatEndGiveTheirPermitsBack cancels more copies than a host has permits; the next must not wait for them.
func TestCopiesThatEndGiveTheirPermitsBack(t *testing.T) {
	w := newWorld(t, smallVM(t, "vm", 24<<20))
	w.engine()
	for range 3 {
		w.host.SetRate(4 << 20)
		m := w.apply("vm", nil)
		m = w.until(m.UID, "the copy", func(m engine.Migration) bool { return len(m.Status.Disks) > 0 && m.Status.Disks[0].Copied > 0 })
		w.cancelled(m)
	}
	w.host.SetRate(0)
	m := w.apply("vm", checked("vm"))
	w.equal(w.phase(m.UID, engine.Completed))
}

// TestFreedPermitIsUsedWhileAnotherDiskIsCopied: of three disks and two permits, the third is copied beside the slow one.
func TestFreedPermitIsUsedWhileAnotherDiskIsCopied(t *testing.T) {
	vm := smallVM(t, "vm", 8<<20)
	for i, size := range []int64{64 << 20, 4 << 20} {
		vm.Disks = append(vm.Disks, esxsim.Disk{Size: size, Contents: esxsim.Contents{Seed: uint64(i + 1), Ranges: []esxsim.Range{{Length: size}}}})
	}
	w := newWorld(t, vm)
	w.host.SetRate(8 << 20)
	m := w.apply("vm", nil)
	w.engine()
	m = w.until(m.UID, "the third disk", func(m engine.Migration) bool { return len(m.Status.Disks) == 3 && m.Status.Disks[2].Acquired })
	if m.Status.Disks[1].Acquired {
		t.Error("the third disk waited for the second, although a permit was free")
	}
}
