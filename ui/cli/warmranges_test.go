package cli

import (
	"bytes"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"landfall/engine"
	"landfall/engine/spec"
	"landfall/engine/warm"
)

// TestRoundsReadRangesOfARunningDisk: with an NBD reader every round is applied while the VM runs, and the last pass is small.
// The served file is kept like the disk; being a little newer than a snapshot harms nothing, as that is read again.
func TestRoundsReadRangesOfARunningDisk(t *testing.T) {
	if _, err := exec.LookPath("nbdkit"); err != nil {
		t.Skip("nbdkit is not here")
	}
	vm := writingVM(t, "vm", 16<<20)
	served := filepath.Join(t.TempDir(), "served.raw")
	from, err := os.Open(vm.Disks[0].Contents.File)
	if err != nil {
		t.Fatal(err)
	}
	defer from.Close()
	to, err := os.Create(served)
	if err != nil {
		t.Fatal(err)
	}
	defer to.Close()
	if _, err := io.Copy(to, from); err != nil {
		t.Fatal(err)
	}
	w := newWorld(t, vm)
	m := w.apply("vm", func(d *spec.Document) {
		warmly("vm", nil)(d)
		d.Spec.Strategy.Verify = "proved"
		d.Spec.Source.NBD.Command = []string{"nbdkit", "-f", "-r", "-U", "{socket}", "file", served}
	})
	w.engine()
	m = w.converged(m.UID)
	if d := m.Status.Warm.Workers[0]; d.Whole || d.Reader != "nbd" {
		t.Fatalf("read by %s, whole %v", d.Reader, d.Whole)
	}
	for i := range 3 {
		p, at := bytes.Repeat([]byte{byte(i + 1)}, 100<<10), int64(5<<20+i*300<<10)
		if _, err := to.WriteAt(p, at); err != nil {
			t.Fatal(err)
		}
		if err := w.host.WriteDisk("vm", 0, at, p); err != nil {
			t.Fatal(err)
		}
		before := m.Status.Warm.Workers[0].Count
		m = w.until(m.UID, "a round that applies it", func(m engine.Migration) bool {
			for _, r := range m.Status.Warm.Workers[0].Rounds {
				if r.Number > before && r.Kind == warm.KindChanges && r.Bytes > 0 {
					return true
				}
			}
			return false
		})
	}
	w.cut(m)
	m = w.phase(m.UID, engine.Completed)
	w.equal(m)
	w.noSnapshots("vm")
	rounds := m.Status.Warm.Workers[0].Rounds
	if last := rounds[len(rounds)-1]; last.Kind != warm.KindFinal || last.Bytes > 1<<20 {
		t.Errorf("the last pass: %+v", last)
	}
}
