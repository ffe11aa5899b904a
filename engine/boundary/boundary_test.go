package boundary_test

import (
	"slices"
	"testing"

	"landfall/engine/boundary"
)

func TestCross(t *testing.T) {
	boundary.Cross(boundary.Commit, "nobody listens")
	var seen []string
	boundary.Hook = func(k boundary.Kind, name string) { seen = append(seen, string(k)+": "+name) }
	t.Cleanup(func() { boundary.Hook = nil })
	boundary.Cross(boundary.Rename, "image")
	boundary.Cross(boundary.Sync, "ledger")
	if want := []string{"rename: image", "sync: ledger"}; !slices.Equal(seen, want) {
		t.Errorf("got %q, want %q", seen, want)
	}
}

// BenchmarkCross is what a mark costs in the product.
func BenchmarkCross(b *testing.B) {
	for b.Loop() {
		boundary.Cross(boundary.Chunk, "chunk")
	}
}
