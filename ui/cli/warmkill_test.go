package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"landfall/engine"
	"landfall/engine/spec"
	"landfall/engine/warm"
	"landfall/sources/esxsim"
)

// envEvery has every boundary of a warm migration tried, which takes about a quarter of an hour; else each sixth is.
const envEvery = "LANDFALL_TEST_EVERY_BOUNDARY"

// TestWarmKilledAtBoundaries kills the engine at write boundaries of a warm migration whose guest keeps writing, and once
// more early in its recovery. In the end the volume holds what the source holds, and nothing of ours is on the source.
func TestWarmKilledAtBoundaries(t *testing.T) {
	w := newWorld(t, writingVM(t, "victim", 12<<20))
	boundaries := w.surviveWarm(0, 0)
	if len(boundaries) < 60 {
		t.Fatalf("only %d boundaries: %v", len(boundaries), boundaries)
	}
	stride := 6
	if os.Getenv(envEvery) != "" {
		stride = 1
	}
	t.Logf("%d boundaries, every %d. is tried", len(boundaries), stride)
	const worlds = 4
	for i := range worlds {
		t.Run(fmt.Sprintf("world %d", i), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, writingVM(t, "victim", 12<<20))
			for n := i * stride; n < len(boundaries); n += worlds * stride {
				t.Run(fmt.Sprintf("%03d", n+1), func(t *testing.T) {
					sub := *w
					sub.t = t
					t.Log(boundaries[n])
					sub.surviveWarm(n+1, n%11+1)
				})
			}
		})
	}
}

func (w *testWorld) surviveWarm(n, m int) []string {
	w.t.Helper()
	t := w.t
	name := fmt.Sprintf("victim-%d", n)
	w.fresh(fmt.Sprintf("workspace-%d", n))
	_ = w.host.SetPower("victim", esxsim.On) // refused where it is on
	w.guestWrites("victim", 128<<10)
	mig := w.apply("victim", func(d *spec.Document) {
		warmly("victim", nil)(d)
		d.Spec.Destination.VMName = name
		keep := false // the machines of the runs before have the address
		d.Spec.PreserveMACAddress = &keep
		if n%3 == 0 {
			d.Spec.Strategy.Verify = "proved"
		}
	})
	if err := w.store.CutOver(t.Context(), mig.UID, tester); err != nil {
		t.Fatal(err)
	}
	crossed := filepath.Join(w.workspace, "crossed")
	for _, kill := range []int{n, m} {
		if kill == 0 {
			continue
		}
		p := w.engine(fmt.Sprintf("%s=%d", envKill, kill))
		w.until(mig.UID, "the engine's death", func(mig engine.Migration) bool { return p.ended() || mig.Status.Phase.Terminal() })
		p.kill()
	}
	p := w.engine(envCount + "=" + crossed)
	done := w.phase(mig.UID, engine.Completed)
	p.stop(t)
	w.equal(done)
	w.noSnapshots("victim")
	if s := done.Status.Warm; s.Phase != warm.Completed || s.Failure != "" {
		t.Errorf("%s: %s", s.Phase, s.Failure)
	}
	if _, err := os.Stat(filepath.Join(w.workspace, "staging", mig.UID)); !os.IsNotExist(err) {
		t.Errorf("staging: %v", err)
	}
	if d, _, ok := done.Status.Times.Downtime(done.Status.Times.Completed); !ok || d <= 0 {
		t.Errorf("downtime %s", d)
	}
	b, err := os.ReadFile(crossed)
	if err != nil && n == 0 {
		t.Fatal(err)
	}
	return strings.Split(strings.TrimSpace(string(b)), "\n")
}
