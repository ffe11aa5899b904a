package vsphere

import (
	"fmt"
	"testing"
)

func TestContentRange(t *testing.T) {
	for _, c := range []struct {
		name, text string
		want       byteRange
	}{
		{"one byte", "bytes 0-0/1", byteRange{0, 0, 1}},
		{"middle", "bytes 1048576-2097151/68719476736", byteRange{1048576, 2097151, 68719476736}},
		{"unit in capitals", "Bytes 0-9/10", byteRange{0, 9, 10}},
		{"unknown total", "bytes 0-9/*", byteRange{}},
		{"unsatisfied", "bytes */10", byteRange{}},
		{"backwards", "bytes 9-0/10", byteRange{}},
		{"beyond the end", "bytes 0-10/10", byteRange{}},
		{"negative", "bytes -1-0/10", byteRange{}},
		{"overflow", "bytes 0-9/9223372036854775808", byteRange{}},
		{"plus sign", "bytes +0-9/10", byteRange{}},
		{"another unit", "lines 0-9/10", byteRange{}},
		{"absent", "", byteRange{}},
		{"several", "bytes 0-1,4-5/10", byteRange{}},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := parseContentRange(c.text)
			if got != c.want || (err != nil) != (c.want == byteRange{}) {
				t.Errorf("got %+v, %v", got, err)
			}
		})
	}
}

func FuzzContentRange(f *testing.F) {
	f.Add("bytes 0-0/1")
	f.Add("bytes 0-9/*")
	f.Fuzz(func(t *testing.T, s string) {
		r, err := parseContentRange(s)
		if err != nil {
			return
		}
		if r.first < 0 || r.last < r.first || r.total <= r.last {
			t.Fatalf("%q gives %+v", s, r)
		}
		if again, err := parseContentRange(fmt.Sprintf("bytes %d-%d/%d", r.first, r.last, r.total)); err != nil || again != r {
			t.Fatalf("%q gives %+v, written again %+v, %v", s, r, again, err)
		}
	})
}
