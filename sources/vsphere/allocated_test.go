package vsphere

import (
	"slices"
	"testing"

	"landfall/sources"
)

func TestMerge(t *testing.T) {
	e := func(offset, length int64) sources.Extent { return sources.Extent{Offset: offset, Length: length} }
	for _, c := range []struct {
		name     string
		in, want []sources.Extent
	}{
		{"nothing", nil, nil},
		{"unsorted", []sources.Extent{e(40, 10), e(0, 10)}, []sources.Extent{e(0, 10), e(40, 10)}},
		{"touching", []sources.Extent{e(0, 10), e(10, 10)}, []sources.Extent{e(0, 20)}},
		{"overlapping", []sources.Extent{e(0, 30), e(10, 10), e(25, 10)}, []sources.Extent{e(0, 35)}},
		{"twice", []sources.Extent{e(5, 5), e(5, 5)}, []sources.Extent{e(5, 5)}},
		{"beyond the end", []sources.Extent{e(90, 20), e(100, 5), e(200, 5)}, []sources.Extent{e(90, 10)}},
		{"empty area", []sources.Extent{e(5, 0), e(7, 1)}, []sources.Extent{e(7, 1)}},
		{"whole disk", []sources.Extent{e(0, 1<<62)}, []sources.Extent{e(0, 100)}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := merge(slices.Clone(c.in), 100); !slices.Equal(got, c.want) {
				t.Errorf("got %v, want %v", got, c.want)
			}
		})
	}
}
