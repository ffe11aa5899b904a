package targets

import (
	"math/rand/v2"
	"testing"

	"landfall/engine/spec"
)

const gib = 1 << 30

func TestRequiredHoldsTheDisk(t *testing.T) {
	check := func(size int64, overhead float64) {
		t.Helper()
		r := Required(size, overhead)
		if u := Usable(r, overhead); u < size {
			t.Errorf("%d bytes at overhead %g: %d asked for, %d usable", size, overhead, r, u)
		}
		if r%mib != 0 || r < size {
			t.Errorf("%d bytes at overhead %g: %d asked for", size, overhead, r)
		}
		// One MiB less would not hold it: the disk that CDI makes is no larger than the source's.
		if overhead > 0 && r > Align(size) && Usable(r-mib, overhead) >= Align(size) {
			t.Errorf("%d bytes at overhead %g: %d is more than needed", size, overhead, r)
		}
		if overhead < 0.5 && Usable(r, overhead) != Align(size) {
			t.Errorf("%d bytes at overhead %g: CDI makes a disk of %d", size, overhead, Usable(r, overhead))
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
		if got := Align(n); got != want {
			t.Errorf("Align(%d) = %d, want %d", n, got, want)
		}
	}
}

func TestRequiredOfTheImpossible(t *testing.T) {
	for what, n := range map[string]int64{
		"overhead of everything": Required(gib, 1), "more than everything": Required(gib, 3), "almost everything": Required(1<<62, 0.999), "too large": Align(1<<63 - 1),
	} {
		if n < 1<<62 || n%mib != 0 {
			t.Errorf("%s: %d", what, n)
		}
	}
}

func TestVolumeSize(t *testing.T) {
	files := StorageClass{VolumeMode: "Filesystem", Overhead: 0.06, Modes: []Modes{{"Filesystem", []string{"ReadWriteOnce"}}, {"Block", []string{"ReadWriteMany"}}}}
	for _, c := range []struct {
		what  string
		m     spec.StorageMapping
		class StorageClass
		size  int64
		modes string
	}{
		{"the class's own mode", spec.StorageMapping{}, files, 1090 * mib, "Filesystem ReadWriteOnce"},
		{"another mode that the profile knows", spec.StorageMapping{VolumeMode: "Block"}, files, gib, "Block ReadWriteMany"},
		{"asked access modes", spec.StorageMapping{AccessModes: []string{"ReadWriteMany"}}, files, 1090 * mib, "Filesystem ReadWriteMany"},
		{"a driver that CDI does not know", spec.StorageMapping{}, StorageClass{Overhead: 0.06}, 1090 * mib, "Filesystem ReadWriteOnce"},
		{"block asked of one", spec.StorageMapping{VolumeMode: "Block"}, StorageClass{Overhead: 0.06}, gib, "Block ReadWriteOnce"},
	} {
		mode, access := ModesFor(c.m, c.class)
		if got := VolumeSize(gib, c.m, c.class); got != c.size || mode+" "+access[0] != c.modes {
			t.Errorf("%s: %d, %s %v; want %d, %s", c.what, got, mode, access, c.size, c.modes)
		}
	}
}

func TestScratch(t *testing.T) {
	for _, c := range []struct {
		what     string
		delivery spec.Delivery
		format   string
		want     int64
	}{
		{"raw upload goes straight", spec.Upload, "raw", 0},
		{"format not known yet is raw", spec.Upload, "", 0},
		{"qcow2 upload is converted", spec.Upload, "qcow2", gib},
		{"what CDI fetches", spec.DeliverHTTP, "raw", gib},
	} {
		if got := Scratch(gib, c.delivery, c.format); got != c.want {
			t.Errorf("%s: %d, want %d", c.what, got, c.want)
		}
	}
}
