package kubevirt

import "testing"

func TestBefore(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want bool
	}{
		{"1.4.9", "1.5.0", true},
		{"v1.4.9", "1.5.0", true},
		{"v1.5.0", "1.5.0", false},
		{"v1.5.0-rc.1", "1.5.0", false},
		{"v1.10.0", "1.5.0", false},
		{"v0.59.2", "1.0.0", true},
		{"4.18.1", "1.5.0", false}, // a vendor's own count
		{"1.4", "1.5.0", true},
		{"1.4.0-12-gabcdef", "1.5.0", true},
		{"", "1.5.0", false},
		{"devel", "1.5.0", false},
		{"v1", "1.5.0", false},
		{"99999999999999999999.1.1", "1.5.0", false},
	} {
		if got := before(c.a, c.b); got != c.want {
			t.Errorf("before(%q, %q) = %v", c.a, c.b, got)
		}
	}
}
