package targettest

import (
	"bytes"
	"slices"
	"testing"

	"landfall/engine/fault"
	"landfall/engine/spec"
	"landfall/targets"
)

func facts(t *testing.T, f Fixture) {
	q, err := f.Target.Facts(t.Context(), targets.Question{
		Namespace: f.Namespace, VMName: "unheard-of", StorageClasses: []string{f.Class}, MACs: []string{"00:50:56:FF:00:01"},
		Networks: []string{f.Namespace + "/no-such-network"}, Owner: targets.Owner{UID: "facts"}, Delivery: spec.Upload,
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, fact := range []string{targets.FactPods, targets.FactServices} {
		delete(q.Unknown, fact) // not every cluster tells its own addresses
	}
	if len(q.Unknown) > 0 || len(q.Denied) > 0 {
		t.Errorf("unknown %v, denied %v", q.Unknown, q.Denied)
	}
	if !q.KubeVirtReady || !q.CDIReady || !q.NamespaceExists || q.NameTaken != "" || len(q.MACs) > 0 || q.Taken.IsZero() {
		t.Errorf("facts of a healthy cluster: %+v", q)
	}
	if q.About.Kubernetes == "" || q.About.KubeVirt == "" || q.About.CDI == "" || q.About.Server == "" || q.About.Context == "" {
		t.Errorf("about: %+v", q.About)
	}
	if there, ok := q.Networks[f.Namespace+"/no-such-network"]; !ok || there {
		t.Errorf("networks: %v", q.Networks)
	}
	if c := q.Classes[f.Waits]; !c.WaitForFirstConsumer || q.Classes[f.Class].WaitForFirstConsumer {
		t.Errorf("classes: %+v", q.Classes)
	}
	if q, err := f.Target.Facts(t.Context(), targets.Question{Namespace: "no-such-namespace-7f3a", Owner: targets.Owner{UID: "facts"}, Delivery: spec.Upload}); err != nil || q.NamespaceExists {
		t.Errorf("a missing namespace exists: %v, %v", q.NamespaceExists, err)
	}
	if a, err := f.Target.About(t.Context()); err != nil || a != q.About {
		t.Errorf("about says %+v and facts %+v, %v", a, q.About, err)
	}
}

// waitsForFirstConsumer fills a volume that nobody consumes yet: it is asked to bind at once.
func waitsForFirstConsumer(t *testing.T, f Fixture) {
	m := begin(t, f, "wffc-1", "wffc", f.Waits)
	if !m.volume().BindNow {
		t.Fatalf("planned %+v", m.volume())
	}
	m.fill(t, NewImage(m.disk))

	late := begin(t, f, "wffc-2", "late", f.Waits)
	v := late.volume()
	v.BindNow = false
	if err := f.Target.CreateVolume(t.Context(), late.owner, v); err != nil {
		t.Fatal(err)
	}
	late.untilVolume(t, "the volume to say that it waits", func(s targets.VolumeState) bool {
		if s.Ready || s.Done || s.Failed {
			t.Fatalf("without a consumer the volume is %+v", s)
		}
		return s.Waiting != ""
	})
}

// markedLate makes a volume before its digest is known, as warm migrations do, and marks it when it takes an upload.
func markedLate(t *testing.T, f Fixture) {
	ctx := t.Context()
	m := begin(t, f, "mark-1", "marked", f.Class)
	refused(t, "mark what is not there", f.Target.MarkVolume(ctx, m.owner, m.volume()), fault.Transient, fault.NotFound)
	v := m.volume()
	v.Digest = ""
	if err := f.Target.CreateVolume(ctx, m.owner, v); err != nil {
		t.Fatal(err)
	}
	m.untilVolume(t, "the volume to take an upload", func(s targets.VolumeState) bool {
		if s.Digest != "" || s.Exists && !s.Matches {
			t.Fatalf("before it is marked the volume is %+v", s)
		}
		return s.Ready
	})
	other := targets.Owner{UID: "mark-2", Name: "other", Namespace: f.Namespace}
	refused(t, "mark another's", f.Target.MarkVolume(ctx, other, m.volume()), fault.Blocked, fault.NotOurs)
	for range 2 {
		if err := f.Target.MarkVolume(ctx, m.owner, m.volume()); err != nil {
			t.Fatal(err)
		}
	}
	m.fill(t, NewImage(m.disk))
	if s, err := f.Target.Volume(ctx, m.owner, m.volume()); err != nil || s.Digest != digest || !s.Matches {
		t.Errorf("marked, the volume is %+v, %v", s, err)
	}
}

func quotaExceeded(t *testing.T, f Fixture) {
	m := begin(t, f, "quota-1", "quota", f.Class)
	f.World.LimitStorage(t, f.Namespace, 1<<20)
	q, err := f.Target.Facts(t.Context(), targets.Question{Namespace: f.Namespace, Owner: m.owner, Delivery: spec.Upload})
	if err != nil || q.QuotaStorage == nil || *q.QuotaStorage != 1<<20 || len(q.Quota) == 0 {
		t.Errorf("quota is %v, %v, %v", q.QuotaStorage, q.Quota, err)
	}
	err = f.Target.CreateVolume(t.Context(), m.owner, m.volume())
	if err != nil {
		refused(t, "create beyond the quota", err, fault.Blocked, fault.QuotaExceeded)
		return
	}
	// CDI takes the order and cannot make the claim.
	m.untilVolume(t, "the volume to say that the quota is spent", func(s targets.VolumeState) bool {
		if s.Ready || s.Done {
			t.Fatalf("beyond the quota the volume is %+v", s)
		}
		return s.Waiting != ""
	})
}

func (m migration) readied(t *testing.T) {
	t.Helper()
	if err := m.Target.CreateVolume(t.Context(), m.owner, m.volume()); err != nil {
		t.Fatal(err)
	}
	m.untilVolume(t, "the volume to take an upload", func(s targets.VolumeState) bool { return s.Ready })
}

// tokenRefused is over with the next try, for every try asks for a token of its own.
func tokenRefused(t *testing.T, f Fixture) {
	m := begin(t, f, "token-1", "token", f.Class)
	m.readied(t)
	f.World.RefuseUpload(t, f.Namespace, m.volume().Name)
	deliver := func() error {
		return f.Target.Deliver(t.Context(), m.owner, m.volume(), NewImage(m.disk), func(int64) {})
	}
	refused(t, "deliver with a refused token", deliver(), fault.Transient, fault.NotAuthenticated)
	if err := deliver(); err != nil {
		t.Error(err)
	}
}

func uploadCut(t *testing.T, f Fixture) {
	m := begin(t, f, "cut-1", "cut", f.Class)
	m.readied(t)
	f.World.CutUpload(t, f.Namespace, m.volume().Name, 1000)
	err := f.Target.Deliver(t.Context(), m.owner, m.volume(), NewImage(m.disk), func(int64) {})
	if fault.ClassOf(err) != fault.Transient {
		t.Fatalf("a cut upload gives %v (%s)", err, fault.ClassOf(err))
	}
	m.fill(t, NewImage(m.disk))
	if got := f.World.Contents(t, f.Namespace, m.volume().Name, int64(len(m.disk))); !bytes.Equal(got, m.disk) {
		t.Error("what arrived at last is not what was sent")
	}
}

// tooLarge sends more than the volume holds.
func tooLarge(t *testing.T, f Fixture) {
	m := begin(t, f, "large-1", "large", f.Class)
	m.readied(t)
	big := append(slices.Clone(m.disk), bytes.Repeat([]byte("too large "), 3<<20/10)...)
	err := f.Target.Deliver(t.Context(), m.owner, m.volume(), NewImage(big), func(int64) {})
	if err == nil {
		t.Fatal("an image larger than the volume was delivered")
	}
	if fault.ClassOf(err) == fault.Permanent {
		t.Errorf("got %v (%s)", err, fault.ClassOf(err))
	}
	m.untilVolume(t, "the volume not to be done", func(s targets.VolumeState) bool { return !s.Done })
}

// damaged sends an artifact that is found not to be as recorded: the stream never ends as a whole one.
func damaged(t *testing.T, f Fixture) {
	m := begin(t, f, "damaged-1", "damaged", f.Class)
	m.readied(t)
	bad := NewImage(m.disk)
	bad.Damaged = bad.Chunks() - 1
	err := f.Target.Deliver(t.Context(), m.owner, m.volume(), bad, func(int64) {})
	refused(t, "deliver a damaged artifact", err, fault.Permanent, fault.Damaged)
	if s, err := f.Target.Volume(t.Context(), m.owner, m.volume()); err != nil || s.Done {
		t.Errorf("after half an artifact the volume is %+v, %v", s, err)
	}
	m.fill(t, NewImage(m.disk))
}
