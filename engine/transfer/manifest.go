package transfer

// Manifest describes a finished image.
type Manifest struct {
	Format    string `json:"format"` // raw
	Size      int64  `json:"size"`   // bytes
	ChunkSize int64  `json:"chunkSize"`
	Root      string `json:"root"` // Merkle root over the chunks' SHA-256, hex
	Data      int64  `json:"data"` // bytes in chunks that are not all zeros
	Zero      int64  `json:"zero"` // bytes in chunks that are
}
