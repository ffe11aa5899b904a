package transfer

import "bytes"

// zeros is small enough to stay in the first cache, so that the test costs one pass over the tested bytes only.
var zeros [16 << 10]byte

// isZero tells whether p holds nothing but zeros.
func isZero(p []byte) bool {
	for len(p) > len(zeros) {
		if !bytes.Equal(p[:len(zeros)], zeros[:]) {
			return false
		}
		p = p[len(zeros):]
	}
	return bytes.Equal(p, zeros[:len(p)])
}
