package store

import (
	"testing"

	"landfall/engine"
	"landfall/engine/machine"
	"landfall/engine/spec"
	"landfall/engine/warm"
)

// TestWarmLines are written with every checkpoint, and made of what is there for a database of before.
func TestWarmLines(t *testing.T) {
	dir := t.TempDir() + "/workspace"
	s, err := Open(t.Context(), dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	var uids []string
	for _, name := range []string{"online", "offline"} {
		var d spec.Document
		d.APIVersion, d.Kind, d.Metadata.Name = spec.APIVersion, spec.Kind, name
		d.Spec.Source = spec.Source{Type: "vsphere", Address: "esxi.example", Username: "root", VM: spec.VM{Ref: machine.Ref{MoRef: "vm-" + name}}}
		d.Spec.Destination.Namespace = "vms"
		m, err := s.Apply(t.Context(), d, engine.Person{Name: "tester"})
		if err != nil {
			t.Fatal(err)
		}
		m.Status.Phase = engine.Preparing
		if name == "online" {
			m.Status.Warm = &warm.State{Phase: warm.Active, Waiting: "what it waits for", Workers: []warm.Disk{{Gap: 3, Count: 2}, {Gap: 4, Count: 7}}}
		}
		if _, err := s.Commit(t.Context(), engine.Checkpoint{Migration: m}); err != nil {
			t.Fatal(err)
		}
		uids = append(uids, m.UID)
	}
	want := func(want warm.Line) {
		t.Helper()
		lines, err := s.Lines(t.Context())
		if err != nil || len(lines) != 2 || lines[0].Warm != nil || lines[1].Warm == nil || *lines[1].Warm != want {
			t.Errorf("lines: %+v, %+v (%v)", lines[0].Warm, lines[1].Warm, err)
		}
	}
	line := warm.Line{Phase: warm.Active, Gap: 7, Rounds: 7, Waiting: "what it waits for"}
	want(line)

	if _, err := s.writer.Exec("DROP TABLE warm; DELETE FROM goose_db_version WHERE version_id = 3"); err != nil {
		t.Fatal(err)
	}
	if err := upgrade(t.Context(), s.writer, dir, schema()); err != nil {
		t.Fatal(err)
	}
	line.Gap = -1 // not known before the next checkpoint
	want(line)

	m, err := s.Migration(t.Context(), uids[0])
	if err != nil {
		t.Fatal(err)
	}
	m.Status.Warm.Workers[1].Gap = -1
	m.Status.Warm.Phase = warm.PreparingTarget
	if _, err := s.Commit(t.Context(), engine.Checkpoint{Migration: m}); err != nil {
		t.Fatal(err)
	}
	line.Phase = warm.PreparingTarget
	want(line)
}
