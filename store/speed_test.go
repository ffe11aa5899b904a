package store_test

import (
	"fmt"
	"strings"
	"testing"

	"landfall/engine"
	"landfall/engine/machine"
	"landfall/engine/transfer"
	"landfall/sources"
)

// heavy is a migration as it is in the middle of a copy, with everything that was found out about it.
func heavy(t testing.TB, m engine.Migration, extents int) engine.Migration {
	m.Status = filled[engine.Status](t)
	m.Status.Phase = engine.Preparing
	m.Status.Inventory.Ref = m.Document.Spec.Source.VM.Ref
	m.Status.Plan.Manifest = strings.Repeat("spec: halted\n", 400)
	m.Status.Disks[0].Extents = nil
	for i := range extents {
		m.Status.Disks[0].Extents = append(m.Status.Disks[0].Extents, sources.Extent{Offset: int64(i) << 21, Length: 1 << 20})
	}
	return m
}

func many(t testing.TB, n int) (uid string, lines func() []engine.Line) {
	t.Helper()
	s := fresh(t)
	for i := range n {
		m := applied(t, s, i)
		if _, err := s.Commit(t.Context(), engine.Checkpoint{Migration: heavy(t, m, 1000)}); err != nil {
			t.Fatal(err)
		}
		uid = m.UID
	}
	return uid, func() []engine.Line { return must(s.Lines(t.Context()))(t) }
}

// Lists must not read statuses: it is the bytes that tell, not the time.
func TestLinesDoNotReadStatuses(t *testing.T) {
	s := fresh(t)
	m := applied(t, s, 1)
	commit(t, s, engine.Checkpoint{Migration: heavy(t, m, 10)})
	if _, err := raw(t, s.Dir()).Exec("UPDATE migrations SET status = 'not JSON', document = 'not JSON'"); err != nil {
		t.Fatal(err)
	}
	if l := must(s.Lines(t.Context()))(t); len(l) != 1 || l[0].Name != "web-1" || l[0].Phase != engine.Preparing {
		t.Errorf("lines: %+v", l)
	}
	if _, err := s.Migration(t.Context(), m.UID); err == nil {
		t.Error("a status that is not JSON was read")
	}
}

func BenchmarkLines(b *testing.B) {
	_, lines := many(b, 1000)
	b.ReportAllocs()
	for b.Loop() {
		if l := lines(); len(l) != 1000 {
			b.Fatal(len(l))
		}
	}
}

func BenchmarkCommit(b *testing.B) {
	for _, extents := range []int{0, 1000, 50_000} {
		b.Run(fmt.Sprintf("%d extents", extents), func(b *testing.B) {
			s := fresh(b)
			m := heavy(b, applied(b, s, 1), extents)
			b.ReportAllocs()
			for b.Loop() {
				m.Status.Disks[0].Copied++
				v, err := s.Commit(b.Context(), engine.Checkpoint{Migration: m})
				if err != nil {
					b.Fatal(err)
				}
				m.Version = v
			}
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "commits/s")
		})
	}
}

func BenchmarkRecord(b *testing.B) {
	s := fresh(b)
	l := s.Ledger(applied(b, s, 1).UID, 0)
	cs := make([]transfer.Chunk, 32)
	var at int64
	b.ReportAllocs()
	for b.Loop() {
		for i := range cs {
			cs[i] = chunk(at, "m")
			at++
		}
		if err := l.Record(b.Context(), cs); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "records/s")
}

func BenchmarkLoadAMillionChunks(b *testing.B) {
	s := fresh(b)
	l := s.Ledger(applied(b, s, 1).UID, 0)
	millionChunks(b, l, 1<<20)
	b.ReportAllocs()
	for b.Loop() {
		if all, err := l.Load(b.Context()); err != nil || len(all) != 1<<20 {
			b.Fatal(len(all), err)
		}
	}
}

func BenchmarkInventory(b *testing.B) {
	s := fresh(b)
	if err := s.PutEndpoint(b.Context(), engine.Endpoint{Name: "esx1", Source: document(1).Spec.Source}, ann); err != nil {
		b.Fatal(err)
	}
	vms := make([]machine.VM, 5000)
	for i := range vms {
		vms[i].Summary = filled[machine.Summary](b)
		vms[i].Ref.MoRef = fmt.Sprint("vm-", i)
	}
	b.Run("put", func(b *testing.B) {
		for b.Loop() {
			if err := s.PutInventory(b.Context(), "esx1", vms, "", ""); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("read", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if all := must(s.Inventory(b.Context()))(b); len(all) != 5000 {
				b.Fatal(len(all))
			}
		}
	})
}

func BenchmarkChanged(b *testing.B) {
	s := fresh(b)
	for b.Loop() {
		changed(b, s)
	}
}
