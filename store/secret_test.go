package store_test

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"landfall/engine"
	"landfall/engine/machine"
	"landfall/engine/secret"
	"landfall/sources"
	"landfall/targets"
)

// The value is where every reference leads to and in every place that may carry one in memory; no file must hold it.
func TestNoSecretInAnyFile(t *testing.T) {
	ctx := t.Context()
	const value = "hunter2-planted-value"
	t.Setenv("ESX_PASSWORD", value)
	file := filepath.Join(t.TempDir(), "password")
	write(t, file, []byte(value+"\n"))
	s := fresh(t)

	d := document(1)
	d.Spec.Source.Password = secret.Ref{Env: "ESX_PASSWORD"}
	m := must(s.Apply(ctx, d, ann))(t)
	resolved := d.Spec.Default()
	m.Status.Options = &resolved
	m.Status.Phase = engine.Importing
	m.Status.Source, m.Status.Inventory = &sources.About{Product: "ESXi"}, &machine.VM{}
	pull := &targets.Pull{Password: must(d.Spec.Source.Password.Resolve(ctx))(t)}
	if pull.Password.Reveal() != value {
		t.Fatal("the value was not planted")
	}
	m.Status.Plan = &targets.Plan{Namespace: "shop", Name: "web", Volumes: []targets.Volume{{Name: "disk-0", Pull: pull}}}
	c := step(m)
	c.Migration.Status.Phase = engine.Importing
	commit(t, s, c)
	d.Spec.Source.Password = secret.Ref{File: file}
	if err := s.Change(ctx, m.UID, 1, d, ann); err != nil {
		t.Fatal(err)
	}
	e := engine.Endpoint{Name: "esx1", Source: d.Spec.Source}
	if err := s.PutEndpoint(ctx, e, ann); err != nil {
		t.Fatal(err)
	}
	must(s.Answer(ctx, c.Ask[0].ID, 1, "yes", ann))(t)
	if err := s.Ledger(m.UID, 0).Record(ctx, batch(1)); err != nil {
		t.Fatal(err)
	}
	if err := s.Backup(ctx, filepath.Join(s.Dir(), "backup")); err != nil {
		t.Fatal(err)
	}
	names, found := must(os.ReadDir(s.Dir()))(t), false
	for _, n := range names {
		b := must(os.ReadFile(filepath.Join(s.Dir(), n.Name())))(t)
		if bytes.Contains(b, []byte(value)) {
			t.Errorf("%s holds the secret", n.Name())
		}
		found = found || bytes.Contains(b, []byte("ESX_PASSWORD"))
	}
	if len(names) < 5 || !found {
		t.Errorf("only %d files were looked through; the reference was found: %v", len(names), found)
	}
}
