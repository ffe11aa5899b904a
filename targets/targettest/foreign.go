package targettest

import (
	"context"
	"testing"

	"landfall/engine/fault"
	"landfall/engine/spec"
	"landfall/targets"
)

// drift is a person's edit: what was rendered is laid over it, what the person added stays.
func drift(t *testing.T, f Fixture) {
	ctx := t.Context()
	m := begin(t, f, "drift-1", "drift", f.Class)
	if err := f.Target.ApplyMachine(ctx, m.owner, m.plan); err != nil {
		t.Fatal(err)
	}
	f.World.Edit(t, f.Namespace, m.plan.Name)
	s, err := f.Target.Machine(ctx, m.owner, m.plan)
	if err != nil || s.Matches || len(s.Diff) != 1 {
		t.Fatalf("after an edit the machine is %+v, %v", s, err)
	}
	t.Log(s.Diff[0])
	m.until(t, "the edit to be mended", func(ctx context.Context) (bool, string, error) {
		err := f.Target.ApplyMachine(ctx, m.owner, m.plan) // the cluster's own controllers write to it meanwhile
		return err == nil, "", err
	})
	if s, err := f.Target.Machine(ctx, m.owner, m.plan); err != nil || !s.Matches || len(s.Diff) > 0 {
		t.Errorf("mended, the machine is %+v, %v", s, err)
	}
	if f.World.Label(t, f.Namespace, m.plan.Name, "edited-by") == "" {
		t.Error("what the person added is gone")
	}

	v := m.volume()
	if err := f.Target.CreateVolume(ctx, m.owner, v); err != nil {
		t.Fatal(err)
	}
	v.Size += 1 << 20
	v.StorageClass = f.Waits
	vs, err := f.Target.Volume(ctx, m.owner, v)
	if err != nil || !vs.Exists || vs.Matches || len(vs.Diff) != 2 {
		t.Errorf("planned larger and elsewhere, the volume is %+v, %v", vs, err)
	}
}

// notOurs puts things of others in the way: nothing is changed, and it is said whose they are.
func notOurs(t *testing.T, f Fixture) {
	ctx := t.Context()
	m := begin(t, f, "mine", "taken", f.Class)
	other := begin(t, f, "other", "theirs", f.Class)
	if err := f.Target.ApplyMachine(ctx, other.owner, other.plan); err != nil {
		t.Fatal(err)
	}
	refused(t, "apply over another migration's", f.Target.ApplyMachine(ctx, m.owner, other.plan), fault.Blocked, fault.NotOurs)
	refused(t, "start another migration's", f.Target.SetRunStrategy(ctx, m.owner, other.plan, "Always"), fault.Blocked, fault.NotOurs)
	if s, err := f.Target.Machine(ctx, other.owner, other.plan); err != nil || !s.Ours || s.RunStrategy != "Halted" {
		t.Errorf("the other's machine is %+v, %v", s, err)
	}

	f.World.Foreign(t, "virtualmachine", f.Namespace, m.plan.Name)
	s, err := f.Target.Machine(ctx, m.owner, m.plan)
	if err != nil || !s.Exists || s.Ours || s.Matches {
		t.Errorf("a stranger's machine is %+v, %v", s, err)
	}
	refused(t, "apply over a stranger's", f.Target.ApplyMachine(ctx, m.owner, m.plan), fault.Blocked, fault.NotOurs)
	if q, err := f.Target.Facts(ctx, targets.Question{Namespace: f.Namespace, VMName: m.plan.Name, Owner: m.owner, Delivery: spec.Upload}); err != nil || q.NameTaken != "virtualmachine "+m.plan.Name {
		t.Errorf("name taken: %q, %v", q.NameTaken, err)
	}

	f.World.Foreign(t, "datavolume", f.Namespace, m.volume().Name)
	vs, err := f.Target.Volume(ctx, m.owner, m.volume())
	if err != nil || !vs.Exists || vs.Ours {
		t.Errorf("a stranger's volume is %+v, %v", vs, err)
	}
	refused(t, "create over a stranger's", f.Target.CreateVolume(ctx, m.owner, m.volume()), fault.Blocked, fault.NotOurs)
	refused(t, "deliver into a stranger's", f.Target.Deliver(ctx, m.owner, m.volume(), NewImage(m.disk), func(int64) {}), fault.Blocked, fault.NotOurs)

	third := begin(t, f, "third", "claimed", f.Class)
	f.World.Foreign(t, "persistentvolumeclaim", f.Namespace, third.volume().Name)
	refused(t, "create beside a stranger's claim", f.Target.CreateVolume(ctx, third.owner, third.volume()), fault.Blocked, fault.NotOurs)
	if q, err := f.Target.Facts(ctx, targets.Question{Namespace: f.Namespace, VMName: third.plan.Name, Owner: third.owner, Delivery: spec.Upload}); err != nil || q.NameTaken != "persistentvolumeclaim "+third.volume().Name {
		t.Errorf("name taken: %q, %v", q.NameTaken, err)
	}
}

// removal touches only what carries the owner's label.
func removal(t *testing.T, f Fixture) {
	ctx := t.Context()
	m := begin(t, f, "keeper", "keep", f.Class)
	if err := f.Target.ApplyMachine(ctx, m.owner, m.plan); err != nil {
		t.Fatal(err)
	}
	stranger := m.owner
	stranger.UID = "stranger"
	f.World.Foreign(t, "service", f.Namespace, "lonely")
	for _, r := range []targets.Ref{
		{Kind: "virtualmachine", Namespace: f.Namespace, Name: m.plan.Name},
		{Kind: "service", Namespace: f.Namespace, Name: "lonely"},
	} {
		refused(t, "remove "+r.String(), f.Target.Remove(ctx, stranger, r), fault.Blocked, fault.NotOurs)
		if ok, err := f.Target.Present(ctx, stranger, r); err != nil || ok {
			t.Errorf("%s is present as the stranger's: %v, %v", r, ok, err)
		}
		if !f.World.Exists(t, r.Kind, r.Namespace, r.Name) {
			t.Errorf("%s is gone", r)
		}
	}
	if refs, err := f.Target.Owned(ctx, stranger); err != nil || len(refs) > 0 {
		t.Errorf("the stranger owns %v, %v", refs, err)
	}
	if err := f.Target.Remove(ctx, m.owner, targets.Ref{Kind: "namespace", Namespace: f.Namespace, Name: f.Namespace}); err == nil {
		t.Error("a namespace was removed")
	}
}
