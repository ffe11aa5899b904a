package cli

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"landfall/engine"
	"landfall/sources/esxsim"
)

// TestLargeThinDiskCostsItsDataOnly acquires a disk of 64 GiB with 2 GiB of data: what is read is the data, and the engine as a
// whole, its copies included, stays below 128 MiB.
func TestLargeThinDiskCostsItsDataOnly(t *testing.T) {
	const size, data, pieces = 64 << 30, 2 << 30, 64
	var ranges []esxsim.Range
	for i := range int64(pieces) {
		ranges = append(ranges, esxsim.Range{Offset: i*(size/pieces) + 7<<20, Length: data / pieces})
	}
	w := newWorld(t, esxsim.VM{Name: "large", ChangeTracking: true, NICs: []esxsim.NIC{{}},
		Disks: []esxsim.Disk{{Size: size, Contents: esxsim.Contents{Seed: 7, Ranges: ranges}}}})
	m := w.apply("large", nil)
	p := w.engine()
	start := time.Now()
	m = w.until(m.UID, "the disk", func(m engine.Migration) bool { return m.Status.Has(engine.DiskAcquired) })
	took := time.Since(start)
	peak := peakMemory(t, p.cmd.Process.Pid)
	p.kill()
	f := w.host.Counters().Extents(m.Status.Inventory.Ref.InstanceUUID)[0]
	t.Logf("64 GiB with 2 GiB of data: %s, %d MiB read in %d requests, peak memory of the engine %d MiB", took.Round(100*time.Millisecond), f.Bytes>>20, f.Requests, peak>>20)
	if f.Bytes > data+data/50 {
		t.Errorf("%d bytes read for %d of data", f.Bytes, int64(data))
	}
	if peak > 128<<20 {
		t.Errorf("peak memory %d MiB, more than 128", peak>>20)
	}
}

// peakMemory is the largest resident set that a process had, in bytes.
func peakMemory(t *testing.T, pid int) int64 {
	t.Helper()
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(b)) {
		if v, ok := strings.CutPrefix(line, "VmHWM:"); ok {
			n, err := strconv.ParseInt(strings.Fields(v)[0], 10, 64)
			if err != nil {
				t.Fatal(err)
			}
			return n << 10
		}
	}
	t.Fatal("no VmHWM")
	return 0
}
