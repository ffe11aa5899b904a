package esxsim

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// Digest is the SHA-256 of what a disk's base holds, in hexadecimal.
func (s *Server) Digest(vm string, index int) (string, error) {
	_, d, err := s.findDisk(vm, index)
	if err != nil {
		return "", err
	}
	return d.digest()
}

// Digests is Digest of every disk that has contents, by the datastore path of
// its extent: taken before and after, it proves that nothing wrote.
func (s *Server) Digests() (map[string]string, error) {
	all := map[string]string{}
	for _, m := range s.machines {
		for _, d := range m.disks {
			if d.spec.Bare {
				continue
			}
			sum, err := d.digest()
			if err != nil {
				return nil, err
			}
			all[d.path(d.layers[0].Extent).String()] = sum
		}
	}
	return all, nil
}

func (d *disk) digest() (string, error) {
	f, err := os.Open(filepath.Join(d.dir(), d.layers[0].Extent))
	if err != nil {
		return "", fmt.Errorf("digest: %w", err)
	}
	defer f.Close()
	r, err := newExtentReader(f)
	if err != nil {
		return "", fmt.Errorf("digest: %w", err)
	}
	h := sha256.New()
	if _, err := io.CopyBuffer(h, struct{ io.Reader }{r}, make([]byte, 1<<20)); err != nil {
		return "", fmt.Errorf("digest of %s: %w", f.Name(), err)
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}
