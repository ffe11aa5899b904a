package store_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"landfall/engine"
	"landfall/engine/machine"
	"landfall/engine/spec"
	"landfall/store"
)

// TestMain lets the test binary be the other process of a test.
func TestMain(m *testing.M) {
	if act, ok := acts[os.Getenv("LANDFALL_ACT")]; ok {
		if err := act(os.Getenv("LANDFALL_DIR")); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

var (
	start = time.Date(2026, 3, 1, 12, 0, 0, 123456789, time.UTC)
	ann   = engine.Person{Name: "ann", From: "pts/1 10.0.0.5"}
	bob   = engine.Person{Name: "bob", From: "pts/2"}
)

// ticking is a clock that goes on by a second at every look.
func ticking() func() time.Time {
	var mu sync.Mutex
	now := start
	return func() time.Time {
		mu.Lock()
		defer mu.Unlock()
		now = now.Add(time.Second)
		return now
	}
}

type seeded struct{ *rand.Rand }

func (s seeded) Read(b []byte) (int, error) {
	for i := range b {
		b[i] = byte(s.Uint32())
	}
	return len(b), nil
}

func options() store.Options {
	return store.Options{Clock: ticking(), Random: seeded{rand.New(rand.NewPCG(1, 2))}}
}

func open(t testing.TB, dir string) *store.Store {
	t.Helper()
	s, err := store.Open(t.Context(), dir, options())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

func fresh(t testing.TB) *store.Store {
	t.Helper()
	return open(t, filepath.Join(t.TempDir(), "workspace"))
}

// document is a checked document of the n-th VM.
func document(n int) spec.Document {
	d := spec.Document{APIVersion: spec.APIVersion, Kind: spec.Kind, Metadata: spec.Metadata{Name: fmt.Sprintf("web-%d", n)}}
	d.Spec.Source.Address = "esx1.example"
	d.Spec.Source.VM = spec.VM{Name: fmt.Sprintf("web %d", n), Ref: machine.Ref{MoRef: fmt.Sprintf("vm-%d", n)}}
	d.Spec.Destination.Namespace = "shop"
	return d
}

func applied(t testing.TB, s *store.Store, n int) engine.Migration {
	t.Helper()
	m, err := s.Apply(t.Context(), document(n), ann)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// commit writes a checkpoint and gives the migration as it is then read.
func commit(t testing.TB, s *store.Store, c engine.Checkpoint) engine.Migration {
	t.Helper()
	v, err := s.Commit(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	m, err := s.Migration(t.Context(), c.Migration.UID)
	if err != nil {
		t.Fatal(err)
	}
	if m.Version != v {
		t.Fatalf("commit gave version %d and %d is read", v, m.Version)
	}
	return m
}

func enter(t testing.TB, s *store.Store, m engine.Migration, p engine.Phase) engine.Migration {
	t.Helper()
	m.Status.Phase = p
	return commit(t, s, engine.Checkpoint{Migration: m})
}

func must[T any](v T, err error) func(testing.TB) T {
	return func(t testing.TB) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

func changed(t testing.TB, s *store.Store) int64 {
	t.Helper()
	return must(s.Changed(t.Context()))(t)
}
