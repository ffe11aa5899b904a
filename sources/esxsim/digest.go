package esxsim

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/vmware/govmomi/simulator"
)

// Digest is the SHA-256 of what a disk holds now, as its guest sees it, in
// hexadecimal.
func (s *Server) Digest(vm string, index int) (string, error) {
	m, d, err := s.findDisk(vm, index)
	if err != nil {
		return "", err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if d.layers[d.top].delta() {
		return d.digestAt(d.top)
	}
	return d.digest()
}

// DigestAt is Digest of the disk as the snapshot of that name froze it.
func (s *Server) DigestAt(vm string, index int, name string) (string, error) {
	m, d, err := s.findDisk(vm, index)
	if err != nil {
		return "", err
	}
	sum := ""
	m.change(func(*simulator.Context) {
		for i, n := range m.snapshotLine() {
			if n.Name == name {
				sum, err = d.digestAt(d.layerOf(i) - 1)
				return
			}
		}
		err = fmt.Errorf("vm %q has no snapshot %q", vm, name)
	})
	return sum, err
}

func (d *disk) digestAt(layer int) (string, error) {
	v, err := d.view(layer)
	if err != nil {
		return "", fmt.Errorf("digest: %w", err)
	}
	defer v.close()
	h := sha256.New()
	if _, err := io.CopyBuffer(h, struct{ io.Reader }{io.NewSectionReader(v, 0, d.size)}, make([]byte, 1<<20)); err != nil {
		return "", fmt.Errorf("digest: %w", err)
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// Digests is the SHA-256 of every base that has contents, by the datastore path of
// the extent: taken before and after, it proves that nothing wrote.
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
