package store_test

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"math/rand/v2"
	"os"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"landfall/engine"
	"landfall/engine/fault"
	"landfall/engine/transfer"
)

func chunk(i int64, of string) transfer.Chunk {
	return transfer.Chunk{Index: i, Sum: sha256.Sum256(binary.BigEndian.AppendUint64([]byte(of), uint64(i)))}
}

func loaded(t testing.TB, l transfer.Ledger) map[int64][32]byte {
	t.Helper()
	all := make(map[int64][32]byte)
	for _, c := range must(l.Load(t.Context()))(t) {
		if _, ok := all[c.Index]; ok {
			t.Errorf("chunk %d is there twice", c.Index)
		}
		all[c.Index] = c.Sum
	}
	return all
}

func TestLedger(t *testing.T) {
	ctx := t.Context()
	s := fresh(t)
	m := applied(t, s, 1)
	l := s.Ledger(m.UID, 0)
	if got := loaded(t, l); len(got) != 0 {
		t.Errorf("a new ledger has %d chunks", len(got))
	}
	want := make(map[int64][32]byte)
	record := func(cs ...transfer.Chunk) {
		t.Helper()
		if err := l.Record(ctx, cs); err != nil {
			t.Fatal(err)
		}
		for _, c := range cs {
			want[c.Index] = c.Sum
		}
		if d := cmp.Diff(want, loaded(t, l)); d != "" {
			t.Fatal(d)
		}
	}
	record()
	record(chunk(0, "a"), chunk(119, "a"), chunk(120, "a"), chunk(1<<36, "a"))
	record(chunk(119, "b"), chunk(5, "a"))
	record(chunk(5, "c"), chunk(5, "d")) // the last of a batch counts
	record(transfer.Chunk{Index: 7})     // a sum of zeros is a sum
	for range 50 {
		var cs []transfer.Chunk
		for range 32 {
			cs = append(cs, chunk(rand.Int64N(2000), "r"))
		}
		record(cs...)
	}

	other := s.Ledger(m.UID, 1)
	if err := other.Record(ctx, []transfer.Chunk{chunk(0, "other")}); err != nil {
		t.Fatal(err)
	}
	if err := s.ResetLedger(ctx, m.UID, 0); err != nil {
		t.Fatal(err)
	}
	if got := loaded(t, l); len(got) != 0 {
		t.Errorf("%d chunks after a reset", len(got))
	}
	if got := loaded(t, other); len(got) != 1 {
		t.Errorf("%d chunks of another disk after a reset", len(got))
	}
	if err := s.ResetLedger(ctx, m.UID, 7); err != nil {
		t.Errorf("reset of an empty ledger: %v", err)
	}
	clear(want)
	record(chunk(1, "again"))

	for _, i := range []int64{-1, 1<<36 + 1} {
		if err := l.Record(ctx, []transfer.Chunk{chunk(3, "x"), chunk(i, "x")}); err == nil {
			t.Errorf("chunk %d was recorded", i)
		}
	}
	if err := s.Ledger("no such", 0).Record(ctx, []transfer.Chunk{chunk(0, "a")}); !errors.Is(err, engine.ErrNotFound) {
		t.Errorf("ledger of no migration: %v", err)
	}
	if d := cmp.Diff(want, loaded(t, l)); d != "" {
		t.Error(d)
	}
}

func TestChunksAreForgotten(t *testing.T) {
	s := fresh(t)
	m := applied(t, s, 1)
	l := s.Ledger(m.UID, 0)
	if err := l.Forget(t.Context(), []int64{0, 4}); err != nil {
		t.Errorf("of an empty ledger: %v", err)
	}
	if err := l.Record(t.Context(), []transfer.Chunk{chunk(0, "a"), chunk(4, "b"), chunk(5000, "c")}); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := l.Forget(t.Context(), []int64{5000, 0, 77, 90000}); err != nil {
			t.Fatal(err)
		}
		if got := loaded(t, l); len(got) != 1 || got[4] != chunk(4, "b").Sum {
			t.Errorf("left: %v", got)
		}
	}
	if err := l.Forget(t.Context(), []int64{-1}); err == nil {
		t.Error("chunk -1 was forgotten")
	}
}

// A changed byte within a value is nothing to SQLite; a ledger must not vouch for it.
func TestADamagedSumIsNoticed(t *testing.T) {
	s := fresh(t)
	m := applied(t, s, 1)
	l := s.Ledger(m.UID, 0)
	if err := l.Record(t.Context(), batch(1)); err != nil {
		t.Fatal(err)
	}
	if _, err := raw(t, s.Dir()).Exec("UPDATE chunks SET sums = CAST(substr(sums, 1, 99) || x'AA' || substr(sums, 101) AS BLOB)"); err != nil {
		t.Fatal(err)
	}
	if _, err := l.Load(t.Context()); !fault.Is(err, fault.Damaged) || fault.ClassOf(err) != fault.Permanent || fault.HintOf(err) == "" {
		t.Errorf("load: %v", err)
	}
	if err := l.Record(t.Context(), []transfer.Chunk{chunk(0, "a")}); !fault.Is(err, fault.Damaged) {
		t.Errorf("record over damaged sums: %v", err)
	}
}

// The ledger of a disk of 1 TiB in chunks of 1 MiB.
func TestAMillionChunks(t *testing.T) {
	const n = 1 << 20
	dir := t.TempDir() + "/workspace"
	s := open(t, dir)
	m := applied(t, s, 1)
	millionChunks(t, s.Ledger(m.UID, 0), n)
	begin := time.Now()
	all := must(s.Ledger(m.UID, 0).Load(t.Context()))(t)
	load := time.Since(begin)
	if len(all) != n {
		t.Fatalf("%d chunks", len(all))
	}
	for _, c := range all {
		if c != chunk(c.Index, "m") {
			t.Fatalf("chunk %d is not what was recorded", c.Index)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	st := must(os.Stat(dir + "/landfall.db"))(t)
	begin = time.Now()
	s = open(t, dir)
	t.Logf("load %v, reopen with checks %v, file %.1f MiB", load, time.Since(begin), float64(st.Size())/(1<<20))
	if size := st.Size(); size > 40<<20 {
		t.Errorf("the file has %d bytes", size)
	}
	begin = time.Now()
	if err := s.ResetLedger(t.Context(), m.UID, 0); err != nil {
		t.Fatal(err)
	}
	t.Logf("reset %v", time.Since(begin))
}

func millionChunks(t testing.TB, l transfer.Ledger, n int64) {
	t.Helper()
	for at := int64(0); at < n; {
		var cs []transfer.Chunk
		for range 16384 {
			if at < n {
				cs = append(cs, chunk(at, "m"))
				at++
			}
		}
		if err := l.Record(t.Context(), cs); err != nil {
			t.Fatal(err)
		}
	}
}
