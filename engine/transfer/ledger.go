package transfer

import "context"

// Chunk is one chunk whose bytes are on disk, by its index in the image.
type Chunk struct {
	Index int64
	Sum   Sum // as ChunkSum gives it; the last chunk may be short
}

// Ledger remembers which chunks of one image are on disk, and what they are. It vouches: a chunk is recorded only after
// its bytes were synced.
type Ledger interface {
	// Load gives all recorded chunks, in any order.
	Load(ctx context.Context) ([]Chunk, error)
	// Record adds chunks and is durable when it returns. The same chunk again replaces the old one.
	Record(ctx context.Context, chunks []Chunk) error
	// Forget takes chunks out, before they are overwritten, and is durable when it returns. What is not recorded is
	// success.
	Forget(ctx context.Context, chunks []int64) error
}
