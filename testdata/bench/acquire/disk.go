package main

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"

	"landfall/sources"
)

func diskPath(dir string) string { return filepath.Join(dir, "disk-flat.vmdk") }

// makeDisk makes a sparse disk with random bytes in scattered extents, or keeps the one that is there.
func makeDisk(dir string, size int64, used float64) ([]sources.Extent, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	want := layout(size, used)
	if info, err := os.Stat(diskPath(dir)); err == nil && info.Size() == size {
		if have, err := readExtents(dir); err == nil && len(have) == len(want) && have[0] == want[0] {
			return have, nil
		}
	}
	_ = os.Remove(diskPath(dir))
	f, err := os.Create(diskPath(dir))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if err := f.Truncate(size); err != nil {
		return nil, err
	}
	random := rand.NewChaCha8([32]byte{1})
	buf := make([]byte, 1<<20)
	for _, e := range want {
		for off := e.Offset; off < e.End(); off += int64(len(buf)) {
			p := buf[:min(int64(len(buf)), e.End()-off)]
			_, _ = random.Read(p) // never fails
			if _, err := f.WriteAt(p, off); err != nil {
				return nil, err
			}
		}
	}
	if err := f.Sync(); err != nil {
		return nil, err
	}
	b, err := json.Marshal(want)
	if err != nil {
		return nil, err
	}
	return want, os.WriteFile(filepath.Join(dir, "extents.json"), b, 0o600)
}

// layout scatters extents of 64 KiB to 64 MiB, as a file system that was used for a while does.
func layout(size int64, used float64) []sources.Extent {
	random := rand.New(rand.NewPCG(7, 7))
	const grain = 64 << 10
	var out []sources.Extent
	for off := int64(0); off < size; {
		length := int64(grain) << random.IntN(11)
		length = min(length, size-off)
		out = append(out, sources.Extent{Offset: off, Length: length})
		hole := int64(float64(length) * (1 - used) / used * (0.5 + random.Float64()))
		off += length + max(hole/grain, 1)*grain
	}
	return out
}

func readExtents(dir string) ([]sources.Extent, error) {
	b, err := os.ReadFile(filepath.Join(dir, "extents.json"))
	if err != nil {
		return nil, err
	}
	var out []sources.Extent
	if err := json.Unmarshal(b, &out); err != nil {
		return nil, fmt.Errorf("read extents: %w", err)
	}
	return out, nil
}
