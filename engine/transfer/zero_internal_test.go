package transfer

import "testing"

func TestIsZero(t *testing.T) {
	p := make([]byte, 100_000)
	for _, n := range []int{0, 1, 7, 4096, len(zeros) - 1, len(zeros), len(zeros) + 1, len(p)} {
		if !isZero(p[:n]) {
			t.Errorf("%d zeros are not zeros", n)
		}
		for _, at := range []int{0, n / 2, n - 1} {
			if at < 0 || at >= n {
				continue
			}
			p[at] = 1
			if isZero(p[:n]) {
				t.Errorf("a one at %d of %d was not seen", at, n)
			}
			p[at] = 0
		}
	}
}

func BenchmarkIsZero(b *testing.B) {
	p := make([]byte, ChunkSize)
	b.SetBytes(ChunkSize)
	for b.Loop() {
		isZero(p)
	}
}
