package cli

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	"landfall/engine"
	"landfall/targets"
	"landfall/targets/kubesim"
)

// TestWarmVolumesTellWhatTheyAre by themselves, as those of a cold migration do, so that they can be told again when the
// workspace is lost: whose they are, and by the digest which image they hold.
func TestWarmVolumesTellWhatTheyAre(t *testing.T) {
	vm := writingVM(t, "vm", 12<<20)
	cold := smallVM(t, "cold", 8<<20)
	w := newWorld(t, vm, cold)
	w.guestWrites("vm", 128<<10)
	online, offline := w.apply("vm", warmly("vm", nil)), w.apply("cold", nil)
	w.engine()
	online = w.converged(online.UID)
	w.cut(online)
	for _, m := range []engine.Migration{w.phase(online.UID, engine.Completed), w.phase(offline.UID, engine.Completed)} {
		w.equal(m)
		// What follows asks the cluster alone.
		target, err := dialTarget(t.Context(), m.Document.Spec.Destination, false)
		if err != nil {
			t.Fatal(err)
		}
		defer target.Close()
		owner := targets.Owner{UID: m.UID, Namespace: "vms"}
		owned, err := target.Owned(t.Context(), owner)
		if err != nil {
			t.Fatal(err)
		}
		found := 0
		for _, r := range owned {
			if r.Kind != "datavolume" {
				continue
			}
			found++
			s, err := target.Volume(t.Context(), owner, targets.Volume{Name: r.Name})
			if err != nil || !s.Done || s.Digest != m.Status.Disks[0].Artifact.Digest {
				t.Errorf("%s: %+v (%v), want digest %s", r, s, err, m.Status.Disks[0].Artifact.Digest)
			}
			if of := w.digestsOn(r.Name); of[0] != s.Digest || of[1] != s.Digest {
				t.Errorf("%s: the volume and its claim carry %q", r, of)
			}
		}
		if found != 1 {
			t.Errorf("owned: %v", owned)
		}
	}
}

// TestVolumesThatMayNotBeMarked do not keep a migration from ending well.
func TestVolumesThatMayNotBeMarked(t *testing.T) {
	w := newWorld(t, writingVM(t, "vm", 12<<20))
	w.cluster.Deny(kubesim.Rule{Verbs: []string{"patch"}, Groups: []string{"cdi.kubevirt.io", ""}, Resources: []string{"datavolumes", "persistentvolumeclaims"}})
	m := w.apply("vm", warmly("vm", nil))
	w.engine()
	m = w.cutAndComplete(w.converged(m.UID), "vm")
	if len(w.events(m.UID, "Unmarked")) != 1 {
		t.Error("nobody was told, or too often")
	}
}

// digestsOn gives the digests that a volume and its claim carry.
func (w *testWorld) digestsOn(name string) (digests [2]string) {
	w.t.Helper()
	client, err := dynamic.NewForConfig(w.cluster.RESTConfig("operator"))
	if err != nil {
		w.t.Fatal(err)
	}
	for i, kind := range []schema.GroupVersionResource{
		{Group: "cdi.kubevirt.io", Version: "v1beta1", Resource: "datavolumes"}, {Version: "v1", Resource: "persistentvolumeclaims"},
	} {
		o, err := client.Resource(kind).Namespace("vms").Get(w.t.Context(), name, metav1.GetOptions{})
		if err != nil {
			w.t.Fatal(err)
		}
		if digests[i] = o.GetAnnotations()["landfall.dev/digest"]; digests[i] != "" && o.GetLabels()["landfall.dev/digest"] == "" {
			w.t.Errorf("%s %s carries its digest as an annotation alone", kind.Resource, name)
		}
	}
	return digests
}
