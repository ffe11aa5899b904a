package transfer_test

import (
	"crypto/sha256"
	"testing"

	"landfall/engine/transfer"
)

func TestDigestsRememberWhatWasSet(t *testing.T) {
	const size = 2100*mib + 77 // three pages, short tail
	d := transfer.NewDigests(size)
	want := map[int64]transfer.Sum{}
	set := func(i int64, s transfer.Sum) { d.Set(i, s); want[i] = s }
	set(0, sha256.Sum256([]byte("a")))
	set(1023, transfer.ZeroSum(mib))
	set(1024, sha256.Sum256([]byte("b")))
	set(1024, transfer.ZeroSum(mib))          // replaced by zeros
	set(1023, sha256.Sum256([]byte("again"))) // and the other way
	set(2100, transfer.ZeroSum(77))
	set(2099, transfer.ZeroSum(77)) // not what zeros of a whole chunk give
	if d.Count() != int64(len(want)) || d.Complete() {
		t.Errorf("count %d, complete %v", d.Count(), d.Complete())
	}
	for i := int64(-1); i <= 2101; i++ {
		sum, ok := d.Get(i)
		w, known := want[i]
		if ok != known || sum != w {
			t.Errorf("chunk %d: %s %v, want %s %v", i, sum, ok, w, known)
		}
	}
	for i, zero := range map[int64]bool{0: false, 1023: false, 1024: true, 2099: false, 2100: true} {
		if d.Zero(i) != zero {
			t.Errorf("chunk %d: zero is %v", i, d.Zero(i))
		}
	}
	if m := d.Manifest(); m.Zero != mib+77 || m.Data != size-mib-77 {
		t.Errorf("manifest %+v", m)
	}
}
