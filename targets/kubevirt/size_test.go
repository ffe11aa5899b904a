package kubevirt

import (
	"math/rand/v2"
	"testing"
)

func TestRequiredHoldsTheDisk(t *testing.T) {
	check := func(size int64, overhead float64) {
		t.Helper()
		r := required(size, overhead)
		if u := usable(r, overhead); u < size {
			t.Errorf("%d bytes at overhead %g: %d asked for, %d usable", size, overhead, r, u)
		}
		if r%mib != 0 || r < size {
			t.Errorf("%d bytes at overhead %g: %d asked for", size, overhead, r)
		}
		// One MiB less would not hold it: the disk that CDI makes is no larger than the source's.
		if overhead > 0 && r > align(size) && usable(r-mib, overhead) >= align(size) {
			t.Errorf("%d bytes at overhead %g: %d is more than needed", size, overhead, r)
		}
		if overhead < 0.5 && usable(r, overhead) != align(size) {
			t.Errorf("%d bytes at overhead %g: CDI makes a disk of %d", size, overhead, usable(r, overhead))
		}
	}
	for _, gibs := range []int64{1, 10, 1000} {
		for _, o := range []float64{0, 0.055, 0.06, 0.1, 0.15, 0.333, 0.5} {
			check(gibs*gib, o)
			check(gibs*gib+1, o)
			check(gibs*gib-512, o)
		}
	}
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 1))
	for range 20000 {
		check(1+r.Int64N(64<<40), float64(r.IntN(950))/1000)
	}
}

func TestAlign(t *testing.T) {
	for n, want := range map[int64]int64{1: mib, mib: mib, mib + 1: 2 * mib, 10 * gib: 10 * gib} {
		if got := align(n); got != want {
			t.Errorf("align(%d) = %d, want %d", n, got, want)
		}
	}
}
