package targettest

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"landfall/engine/spec"
	"landfall/targets"
)

// wholeLife moves one VM from nothing to running and away again, doing everything twice that may be done twice.
func wholeLife(t *testing.T, f Fixture) {
	ctx := t.Context()
	m := begin(t, f, "life-1", "life", f.Class)
	made := f.Target.Makes(m.owner, m.volume())

	for range 2 {
		if err := f.Target.CreateVolume(ctx, m.owner, m.volume()); err != nil {
			t.Fatal(err)
		}
	}
	m.untilVolume(t, "the volume to take an upload", func(s targets.VolumeState) bool { return s.Ready })
	var acked atomic.Int64
	err := f.Target.Deliver(ctx, m.owner, m.volume(), NewImage(m.disk), func(n int64) {
		if last := acked.Swap(n); n < last {
			t.Errorf("progress went back from %d to %d", last, n)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	if acked.Load() != int64(len(m.disk)) {
		t.Errorf("%d bytes acknowledged of %d", acked.Load(), len(m.disk))
	}
	m.untilVolume(t, "the volume to be done", func(s targets.VolumeState) bool {
		if s.Done && (!s.Exists || !s.Ours || !s.Matches || s.Failed || s.Ready || s.Digest != digest) {
			t.Errorf("a finished volume looks like %+v", s)
		}
		return s.Done
	})
	if got := f.World.Contents(t, f.Namespace, m.volume().Name, int64(len(m.disk))); !bytes.Equal(got, m.disk) {
		t.Error("what arrived is not what was sent")
	}

	for range 2 {
		if err := f.Target.ApplyMachine(ctx, m.owner, m.plan); err != nil {
			t.Fatal(err)
		}
	}
	s, err := f.Target.Machine(ctx, m.owner, m.plan)
	if err != nil || !s.Exists || !s.Ours || !s.Matches || s.RunStrategy != "Halted" || s.UID == "" {
		t.Fatalf("the machine is %+v, %v", s, err)
	}
	if i, err := f.Target.Instance(ctx, m.owner, m.plan); err != nil || i.Exists {
		t.Fatalf("halted, and the instance is %+v, %v", i, err)
	}
	for range 2 {
		if err := f.Target.SetRunStrategy(ctx, m.owner, m.plan, "Always"); err != nil {
			t.Fatal(err)
		}
	}
	m.until(t, "the instance to run", func(ctx context.Context) (bool, string, error) {
		i, err := f.Target.Instance(ctx, m.owner, m.plan)
		return i.Phase == "Running", fmt.Sprintf("%+v", i), err
	})
	if s, err := f.Target.Machine(ctx, m.owner, m.plan); err != nil || !s.Matches || s.RunStrategy != "Always" {
		t.Errorf("running, the machine is %+v, %v", s, err)
	}
	m.probe(t)
	m.takeAway(t, append(made, f.Target.MakesMachine(m.owner, m.plan, []spec.Check{f.Page})...))
}

// probe runs every sort of check, and one that the guest fails.
func (m migration) probe(t *testing.T) {
	t.Helper()
	checks := []spec.Check{m.Page, {Type: "IP"}}
	if m.Agent {
		checks = append(checks, spec.Check{Type: "GuestAgent"})
	}
	for _, c := range checks {
		m.until(t, "check "+c.Type, func(ctx context.Context) (bool, string, error) {
			r, err := m.Target.Probe(ctx, m.owner, m.plan, c)
			if err == nil && (r.When.IsZero() || r.Detail == "") {
				t.Errorf("a result without time or detail: %+v", r)
			}
			return r.Passed, r.Detail, err
		})
	}
	wrong := m.Page
	wrong.ExpectBodyContains = "nothing that any guest says 7f3a"
	if r, err := m.Target.Probe(t.Context(), m.owner, m.plan, wrong); err != nil || r.Passed || !r.Wrong {
		t.Errorf("the wrong page gives %+v, %v", r, err)
	}
	missing := m.Page
	missing.Path, missing.ExpectBodyContains = "/no-such-page-7f3a", ""
	if r, err := m.Target.Probe(t.Context(), m.owner, m.plan, missing); err != nil || r.Passed {
		t.Errorf("a missing page gives %+v, %v", r, err)
	}
}

// takeAway removes what is owned, which must be what was announced, and sees it gone.
func (m migration) takeAway(t *testing.T, announced []targets.Ref) {
	t.Helper()
	refs, err := m.Target.Owned(t.Context(), m.owner)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range announced {
		if !slices.Contains(refs, r) {
			t.Errorf("%s was announced and is not among what is owned: %v", r, refs)
		}
	}
	for _, r := range refs {
		if !slices.Contains(announced, r) {
			t.Errorf("%s is owned and was never announced: %v", r, announced)
		}
		if ok, err := m.Target.Present(t.Context(), m.owner, r); err != nil || !ok {
			t.Errorf("%s is owned and not present (%v)", r, err)
		}
	}
	for range 2 {
		for _, r := range refs {
			if err := m.Target.Remove(t.Context(), m.owner, r); err != nil {
				t.Errorf("remove %s: %v", r, err)
			}
		}
	}
	m.until(t, "everything to be gone", func(ctx context.Context) (bool, string, error) {
		var left []string
		for _, r := range refs {
			ok, err := m.Target.Present(ctx, m.owner, r)
			if err != nil {
				return false, "", err
			}
			if ok {
				left = append(left, r.String())
			}
		}
		return len(left) == 0, strings.Join(left, ", "), nil
	})
	if m.World.Exists(t, "persistentvolumeclaim", m.Namespace, m.volume().Name) {
		m.until(t, "the claim to be gone", func(context.Context) (bool, string, error) {
			return !m.World.Exists(t, "persistentvolumeclaim", m.Namespace, m.volume().Name), "", nil
		})
	}
	if refs, err := m.Target.Owned(t.Context(), m.owner); err != nil || len(refs) != 0 {
		t.Errorf("left: %v, %v", refs, err)
	}
}

// absentThings looks at what is not there: that is an answer, not an error.
func absentThings(t *testing.T, f Fixture) {
	ctx := t.Context()
	m := begin(t, f, "absent-1", "absent", f.Class)
	if s, err := f.Target.Volume(ctx, m.owner, m.volume()); err != nil || s.Exists {
		t.Errorf("volume %+v, %v", s, err)
	}
	if s, err := f.Target.Machine(ctx, m.owner, m.plan); err != nil || s.Exists {
		t.Errorf("machine %+v, %v", s, err)
	}
	if s, err := f.Target.Instance(ctx, m.owner, m.plan); err != nil || s.Exists {
		t.Errorf("instance %+v, %v", s, err)
	}
	if refs, err := f.Target.Owned(ctx, m.owner); err != nil || len(refs) > 0 {
		t.Errorf("owned %v, %v", refs, err)
	}
	for _, kind := range []string{"virtualmachine", "datavolume", "persistentvolumeclaim", "service", "secret", "configmap"} {
		r := targets.Ref{Kind: kind, Namespace: f.Namespace, Name: "absent"}
		if ok, err := f.Target.Present(ctx, m.owner, r); err != nil || ok {
			t.Errorf("%s is present: %v, %v", r, ok, err)
		}
		if err := f.Target.Remove(ctx, m.owner, r); err != nil {
			t.Errorf("remove %s: %v", r, err)
		}
	}
}
