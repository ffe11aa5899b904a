package targettest

import (
	"context"
	"fmt"
	"testing"
	"time"

	"landfall/engine/fault"
	"landfall/engine/machine"
	"landfall/engine/spec"
	"landfall/targets"
)

const digest = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

// migration is one migration under test.
type migration struct {
	Fixture
	owner targets.Owner
	plan  targets.Plan
	disk  []byte
}

// begin renders a VM with one disk on the class.
func begin(t *testing.T, f Fixture, uid, name, class string) migration {
	t.Helper()
	m := migration{Fixture: f, owner: targets.Owner{UID: uid, Name: name, Namespace: f.Namespace}, disk: f.Disk(t)}
	known, err := f.Target.Facts(t.Context(), targets.Question{
		Namespace: f.Namespace, VMName: name, StorageClasses: []string{class}, Owner: m.owner, Delivery: spec.Upload,
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, ok := known.Classes[class]; !ok {
		t.Fatalf("storage class %s is not among the facts: %v", class, known.Classes)
	}
	m.plan, err = f.Target.Render(targets.Input{
		Owner: m.owner,
		Spec: spec.Spec{
			Destination: spec.Destination{Namespace: f.Namespace, VMName: name, Firmware: "auto"},
			Storage:     spec.Storage{Mappings: []spec.StorageMapping{{Datastore: "*", StorageClass: class}}},
			Network:     spec.Network{Mappings: []spec.NetworkMapping{{PortGroup: "*", Type: "Pod", Binding: "masquerade"}}},
		},
		VM: machine.VM{
			Summary:  machine.Summary{Name: name, GuestID: f.GuestID, CPUs: 1, MemoryMiB: 256, Ref: machine.Ref{MoRef: "vm-1"}},
			Firmware: "bios",
			DiskList: []machine.Disk{{Bus: machine.SCSI, Capacity: int64(len(m.disk)), Datastore: "ds"}},
			NICs:     []machine.NIC{{MAC: "00:50:56:00:00:01", Network: "VM Network", StartConnected: true}},
		},
		Classes: known.Classes,
		Digests: []string{digest},
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(m.plan.Volumes) != 1 {
		t.Fatalf("%d volumes for one disk", len(m.plan.Volumes))
	}
	return m
}

func (m migration) volume() targets.Volume { return m.plan.Volumes[0] }

// until looks again and again until what is wanted was seen.
func (m migration) until(t *testing.T, what string, seen func(context.Context) (bool, string, error)) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), m.Patience)
	defer cancel()
	last := ""
	for {
		ok, now, err := seen(ctx)
		switch {
		case ok && err == nil:
			return
		case err != nil && fault.ClassOf(err) != fault.Transient:
			t.Fatalf("%s: %v", what, err)
		case err != nil:
			now = err.Error()
		}
		if now != "" {
			last = now
		}
		select {
		case <-ctx.Done():
			t.Fatalf("waited %s for %s; last: %s", m.Patience, what, last)
		case <-time.After(5 * time.Millisecond):
		}
	}
}

func (m migration) untilVolume(t *testing.T, what string, want func(targets.VolumeState) bool) {
	t.Helper()
	m.until(t, what, func(ctx context.Context) (bool, string, error) {
		s, err := m.Target.Volume(ctx, m.owner, m.volume())
		return err == nil && want(s), fmt.Sprintf("%+v", s), err
	})
}

// fill brings the volume to its end, delivering until the other side has all.
func (m migration) fill(t *testing.T, a targets.Artifact) {
	t.Helper()
	if err := m.Target.CreateVolume(t.Context(), m.owner, m.volume()); err != nil {
		t.Fatal(err)
	}
	m.untilVolume(t, "the volume to take an upload", func(s targets.VolumeState) bool { return s.Ready })
	m.until(t, "the delivery", func(ctx context.Context) (bool, string, error) {
		err := m.Target.Deliver(ctx, m.owner, m.volume(), a, func(int64) {})
		return err == nil, "", err
	})
	m.untilVolume(t, "the volume to be done", func(s targets.VolumeState) bool { return s.Done })
}

// refused checks an error's class and reason.
func refused(t *testing.T, what string, err error, class fault.Class, reason string) {
	t.Helper()
	if fault.ClassOf(err) != class || !fault.Is(err, reason) {
		t.Errorf("%s: got %v (%s, %s), want %s, %s", what, err, fault.ClassOf(err), fault.ReasonOf(err), class, reason)
	}
}
