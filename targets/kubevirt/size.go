package kubevirt

import "math"

const mib = 1 << 20

// defaultOverhead is CDI's own, taken where its configuration may not be read.
const defaultOverhead = 0.06

func align(n int64) int64 { return (n + mib - 1) / mib * mib }

// usable is how CDI computes the disk that fits a file-system volume of the size, with its rounding.
func usable(size int64, overhead float64) int64 {
	return int64(math.Ceil((1-overhead)*float64(size))) / mib * mib
}

// required is the smallest volume on which CDI makes a disk of the size: then the disk is as large as the source's and
// not larger, and a partition table's backup at its end stays at its end.
func required(size int64, overhead float64) int64 {
	size = align(size)
	if overhead <= 0 {
		return size
	}
	r := align(int64(math.Ceil(float64(size) / (1 - overhead))))
	for usable(r, overhead) < size {
		r += mib
	}
	for r-mib >= size && usable(r-mib, overhead) >= size {
		r -= mib
	}
	return r
}
