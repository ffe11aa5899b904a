package cli

import (
	"strings"
	"testing"

	"landfall/engine"
	"landfall/engine/spec"
	"landfall/engine/warm"
	"landfall/sources/esxsim"
	"landfall/testdata/guest"
)

// TestLabMovesARunningGuest takes a real guest to a real cluster while it runs and is written to: the volume stands ready at
// the real CDI before the source is stopped, what arrives is the source as it was left, and its page comes back.
func TestLabMovesARunningGuest(t *testing.T) {
	if !strings.Contains(labLayers(), "boot") {
		newLabWorld(t) // says why not
	}
	vm, token := realGuest(t)
	w := newLabWorld(t, vm)
	// Nothing of the guest's file system lies at the end of its disk.
	if err := w.host.SetWriter(vm.Name, esxsim.Writer{Rate: 256 << 10, Seed: 1, Area: esxsim.Range{Offset: guest.Size - 1<<20, Length: 1 << 20}}); err != nil {
		t.Fatal(err)
	}
	uid := w.apply(vm.Name, func(d *spec.Document) {
		d.Spec.Validation = spec.Validation{BootTimeoutSeconds: 900, Checks: []spec.Check{{Type: "HTTP", Port: 80, ExpectBodyContains: token}}}
		d.Spec.Strategy.Type = "Warm"
		d.Spec.Strategy.Warm = spec.Warm{ThresholdBytes: 8 << 20, RoundSeconds: 1}
	}).UID
	p := w.engine()
	w.until(uid, "the word to be waited for", func(m engine.Migration) bool {
		if m.Status.Phase == engine.ManualInterventionRequired {
			if m.Status.Reason != "Decision" {
				t.Fatalf("a person is asked: %s: %s (%s)", m.Status.Reason, m.Status.Message, m.Status.Hint)
			}
			w.accept(uid)
		}
		s := m.Status.Warm
		return s != nil && s.Phase == warm.PreparingTarget && strings.HasPrefix(s.Waiting, "ready: ")
	})
	if err := w.store.CutOver(t.Context(), uid, tester); err != nil {
		t.Fatal(err)
	}
	w.until(uid, "the disk in the cluster", func(m engine.Migration) bool {
		return m.Status.Has(engine.DiskImported) || m.Status.Phase == engine.ManualInterventionRequired
	})
	p.kill() // before the guest writes
	m, err := w.store.Migration(t.Context(), uid)
	if err != nil {
		t.Fatal(err)
	}
	if m.Status.Phase == engine.ManualInterventionRequired {
		t.Fatalf("a person is asked: %s: %s", m.Status.Reason, m.Status.Message)
	}
	source := w.arrived(vm.Name, m)
	for _, r := range m.Status.Warm.Workers[0].Rounds {
		t.Logf("round %d, %s: %d bytes in %.1f s by %s", r.Number, r.Kind, r.Bytes, r.Seconds, m.Status.Warm.Workers[0].Reader)
	}
	volume := m.Status.Disks[0].Volume
	if d := w.said("cdi.kubevirt.io", "v1beta1", "datavolumes", volume, "metadata", "annotations", "landfall.dev/digest"); d == "" || d != m.Status.Disks[0].Artifact.Digest {
		t.Errorf("the DataVolume is marked %q, the image is %s", d, m.Status.Disks[0].Artifact.Digest)
	}
	p = w.engine()
	m = w.phase(uid, engine.Completed)
	p.stop(t)
	t.Logf("check: %s", m.Status.Checks[0].Detail)
	if d, _, ok := m.Status.Times.Downtime(m.Status.Times.Completed); ok {
		t.Logf("downtime %s, of which the engine was dead for a part", d)
	}
	if after, err := w.host.Digest(vm.Name, 0); err != nil || after != source {
		t.Errorf("the source disk was written after it was off: %s, %v", after, err)
	}
	w.noSnapshots(vm.Name)
}
