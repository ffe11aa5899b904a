package transfer

import (
	"encoding/json"
	"fmt"

	"landfall/engine/fault"
)

// Manifest describes a finished image.
type Manifest struct {
	Format    string `json:"format"` // raw
	Size      int64  `json:"size"`   // bytes
	ChunkSize int64  `json:"chunkSize"`
	Root      string `json:"root"` // Merkle root over the chunks' digests, hex; see Root
	Data      int64  `json:"data"` // bytes in chunks that are not all zeros
	Zero      int64  `json:"zero"` // bytes in chunks that are
}

// Save writes the manifest to a file, whole or not at all.
func (m Manifest) Save(files Files, path string) error {
	b, err := json.MarshalIndent(m, "", "  ")
	if err != nil {
		return fmt.Errorf("save manifest: %w", err)
	}
	return WriteFile(files, path, append(b, '\n'))
}

// LoadManifest reads a manifest and sees that its parts agree.
func LoadManifest(files Files, path string) (Manifest, error) {
	var m Manifest
	b, err := ReadFile(files, path)
	if err != nil {
		return m, err
	}
	if err := json.Unmarshal(b, &m); err != nil {
		return m, fault.Newf(fault.Blocked, fault.Damaged, "read manifest %s: %w", path, err)
	}
	if m.Format != "raw" || m.ChunkSize != ChunkSize || m.Size < 0 || m.Data+m.Zero != m.Size || len(m.Root) != 2*len(Sum{}) {
		return m, fault.Newf(fault.Blocked, fault.Damaged, "read manifest %s: its parts do not agree", path)
	}
	return m, nil
}
