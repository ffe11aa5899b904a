package targets

import (
	"math"

	"landfall/engine/spec"
)

const mib = 1 << 20

// Align rounds a size up to whole MiB.
func Align(n int64) int64 {
	if n > math.MaxInt64-mib {
		return math.MaxInt64 / mib * mib
	}
	return (n + mib - 1) / mib * mib
}

// Usable is the disk that CDI makes on a file-system volume of the size, with CDI's rounding.
func Usable(size int64, overhead float64) int64 {
	return int64(math.Ceil((1-overhead)*float64(size))) / mib * mib
}

// Required is the smallest file-system volume on which CDI makes a disk of the size: then the disk is as large as the
// source's and not larger, and a partition table's backup at its end stays at its end. With an overhead of 1 or more no
// volume is large enough: the answer is then the largest number.
func Required(size int64, overhead float64) int64 {
	size = Align(size)
	if overhead <= 0 {
		return size
	}
	if overhead >= 1 || float64(size)/(1-overhead) > math.MaxInt64/2 {
		return math.MaxInt64 / mib * mib
	}
	r := Align(int64(math.Ceil(float64(size) / (1 - overhead))))
	for Usable(r, overhead) < size {
		r += mib
	}
	for r-mib >= size && Usable(r-mib, overhead) >= size {
		r -= mib
	}
	return r
}

// VolumeSize is what is asked for to hold a disk: whole MiB on a block volume, and room for CDI's overhead in a file system.
func VolumeSize(capacity int64, m spec.StorageMapping, c StorageClass) int64 {
	if mode, _ := ModesFor(m, c); mode == "Block" {
		return Align(capacity)
	}
	return Required(capacity, c.Overhead)
}

// ModesFor gives the volume and access modes of a disk's volume: the mapping's, else the class's own, else what Kubernetes
// means by none.
func ModesFor(m spec.StorageMapping, c StorageClass) (volume string, access []string) {
	volume, access = m.VolumeMode, m.AccessModes
	if volume == "" {
		volume = c.VolumeMode
	}
	if volume == "" {
		volume = "Filesystem"
	}
	if len(access) > 0 {
		return volume, access
	}
	// Access modes of a profile belong to its own volume mode.
	if volume == c.VolumeMode || c.VolumeMode == "" {
		access = c.AccessModes
	}
	for _, s := range c.Modes {
		if len(access) == 0 && s.VolumeMode == volume {
			access = s.AccessModes
		}
	}
	if len(access) == 0 {
		access = []string{"ReadWriteOnce"}
	}
	return volume, access
}

// Scratch is the scratch volume that CDI takes beside a volume of the size while it fills it, 0 where it takes none: what it
// fetches itself and what it has to convert goes through one, a raw image that is uploaded goes straight to its volume.
func Scratch(size int64, d spec.Delivery, format string) int64 {
	if d == spec.DeliverHTTP || format != "" && format != "raw" {
		return size
	}
	return 0
}
