package transfer_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"slices"
	"testing"

	"landfall/engine/transfer"
)

// plainTop is the tree as it is described, split at the largest power of two.
func plainTop(sums []transfer.Sum) []byte {
	if len(sums) == 1 {
		h := sha256.Sum256(append([]byte{0}, sums[0][:]...))
		return h[:]
	}
	half := 1
	for half*2 < len(sums) {
		half *= 2
	}
	h := sha256.Sum256(append(append([]byte{1}, plainTop(sums[:half])...), plainTop(sums[half:])...))
	return h[:]
}

// plainChunk is a chunk's digest as it is described.
func plainChunk(p []byte) transfer.Sum {
	if !slices.ContainsFunc(p, func(b byte) bool { return b != 0 }) {
		return sha256.Sum256(p)
	}
	all := []byte{3}
	for block := range slices.Chunk(p, 64<<10) {
		sum := sha256.Sum256(block)
		all = append(all, sum[:]...)
	}
	return sha256.Sum256(all)
}

func TestChunkSumIsAsDescribed(t *testing.T) {
	full := bytes.Repeat([]byte{9}, mib)
	holed := slices.Clone(full)
	clear(holed[128<<10 : 300<<10])
	for name, p := range map[string][]byte{
		"data": full, "zeros": make([]byte, mib), "zeros within": holed, "one byte": {7}, "a block": full[:64<<10], "a block and a byte": full[:64<<10+1],
		"short": full[:700_001], "short zeros": make([]byte, 200_000), "a last byte": append(make([]byte, 64<<10), 1),
	} {
		if got, want := transfer.ChunkSum(p), plainChunk(p); got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
}

func TestRootIsTheTreeDescribed(t *testing.T) {
	for n := int64(1); n <= 70; n++ {
		var sums []transfer.Sum
		for i := range n {
			sums = append(sums, sha256.Sum256([]byte{byte(i)}))
		}
		size := n*mib - 5
		var b []byte
		b = append(b, 2)
		b = binary.BigEndian.AppendUint64(b, uint64(size))
		b = binary.BigEndian.AppendUint64(b, mib)
		b = append(b, plainTop(sums)...)
		if got, want := transfer.Root(size, func(i int64) transfer.Sum { return sums[i] }), transfer.Sum(sha256.Sum256(b)); got != want {
			t.Errorf("%d chunks: root %s, want %s", n, got, want)
		}
	}
}

// Recorded once and kept: a root that changes would disown every image made before.
func TestRootStaysWhatItWas(t *testing.T) {
	for size, want := range map[int64]string{
		0:         "01e1c028f2ef0719eecbd5997905e39775c941a80ba415c34c308fda55aa9617",
		1:         "2f0e395472d858b2fc35c02886181c6f0aa5e443f490d38dc85c1f2483f0d92a",
		3*mib + 1: "208988dc279f33568b345bf5f0f4d6ee3750f2620a90077a75896c1defb11280",
	} {
		got := transfer.Root(size, func(i int64) transfer.Sum { return transfer.ZeroSum(int(min(mib, size-i*mib))) }).String()
		if got != want {
			t.Errorf("root of %d zero bytes is %s, was %s", size, got, want)
		}
	}
}

func TestRootChangesWithAnyChunkOrderAndSize(t *testing.T) {
	base := []transfer.Sum{{1}, {2}, {3}, {4}, {5}}
	root := func(size int64, sums []transfer.Sum) transfer.Sum {
		return transfer.Root(size, func(i int64) transfer.Sum { return sums[i] })
	}
	seen := map[transfer.Sum]string{root(5*mib, base): "the base"}
	for name, c := range map[string]struct {
		size int64
		sums []transfer.Sum
	}{
		"two swapped":      {5 * mib, []transfer.Sum{{2}, {1}, {3}, {4}, {5}}},
		"one changed":      {5 * mib, []transfer.Sum{{1}, {2}, {3}, {4}, {6}}},
		"a byte shorter":   {5*mib - 1, base},
		"a chunk less":     {4 * mib, base[:4]},
		"the last doubled": {6 * mib, append(base[:5:5], base[4])},
	} {
		r := root(c.size, c.sums)
		if other, ok := seen[r]; ok {
			t.Errorf("%s has the root of %s", name, other)
		}
		seen[r] = name
	}
}
