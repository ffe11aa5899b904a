// Package transfer is the data plane: it reads a disk in parallel ranges, writes it as a sparse raw image, and keeps a
// digest of every chunk so that each byte is accounted for. A copy that was killed goes on where its ledger ends.
// The order is always: write the chunk, sync the data, then let the ledger vouch for it.
//
// It knows what a source's disk promises, and must never know a driver, the store, a target or a phase.
package transfer

const (
	// ChunkSize is the unit of digests, of the ledger and of resuming, in bytes.
	ChunkSize = 1 << 20

	// Unvouched bounds what was asked of the source while no ledger vouches for it: after a kill not more than this is
	// read again. Bytes are counted from the request on, because those in socket buffers are lost with the process too.
	Unvouched = 60 << 20

	// ahead is the part of it that requests under way may take up, shared by all streams. What is left gathers in the
	// batches that are being recorded.
	ahead = 32 << 20

	// gap is the largest hole that is read through instead of opening another stream behind it.
	gap = 256 << 10

	// largest is the most that is asked for in one request.
	largest = 8 << 20
)

// Chunks is the number of chunks of a disk of so many bytes. The last one may be short.
func Chunks(size int64) int64 { return (size + ChunkSize - 1) / ChunkSize }

// chunkLen is the length of chunk i of a disk of so many bytes.
func chunkLen(size, i int64) int { return int(min(ChunkSize, size-i*ChunkSize)) }
