package vsphere

import (
	"fmt"
	"strconv"
	"strings"
)

// byteRange is what an answer of 206 holds: the bytes from first to last, both inclusive, of total.
type byteRange struct{ first, last, total int64 }

// parseContentRange reads "bytes 0-1023/4096". A total of "*" is an error: it proves nothing about the size.
func parseContentRange(s string) (byteRange, error) {
	bad := func() (byteRange, error) { return byteRange{}, fmt.Errorf("content range %.60q cannot be read", s) }
	unit, rest, ok := strings.Cut(strings.TrimSpace(s), " ")
	if !ok || !strings.EqualFold(unit, "bytes") {
		return bad()
	}
	span, total, ok := strings.Cut(rest, "/")
	if !ok {
		return bad()
	}
	first, last, ok := strings.Cut(span, "-")
	if !ok {
		return bad()
	}
	var n [3]int64
	for i, text := range []string{first, last, total} {
		v, err := strconv.ParseUint(strings.TrimSpace(text), 10, 63)
		if err != nil {
			return bad()
		}
		n[i] = int64(v)
	}
	r := byteRange{n[0], n[1], n[2]}
	if r.first > r.last || r.last >= r.total {
		return bad()
	}
	return r, nil
}

func rangeHeader(offset, length int64) string {
	return "bytes=" + strconv.FormatInt(offset, 10) + "-" + strconv.FormatInt(offset+length-1, 10)
}
