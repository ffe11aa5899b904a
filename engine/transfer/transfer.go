// Package transfer is the data plane: it reads a disk in parallel ranges, writes it as a sparse raw image, and keeps a
// SHA-256 for every chunk so that each byte is accounted for. A copy that was killed goes on where its ledger ends.
// The order is always: write the chunk, sync the data, then let the ledger vouch for it.
//
// It knows what a source's disk promises, and must never know a driver, the store, a target or a phase.
package transfer

const (
	// ChunkSize is the unit of digests, of the ledger and of resuming, in bytes.
	ChunkSize = 1 << 20

	// Unvouched bounds what was read from the source while no ledger vouches for it: after a kill not more than this is
	// read again. It stays well below 64 MiB, because bytes that wait in socket buffers are lost as well.
	Unvouched = 48 << 20

	// segment is the most that one stream is opened for.
	segment = 32 << 20

	// gap is the largest hole that is read through instead of opening another stream behind it.
	gap = 256 << 10
)

// Chunks is the number of chunks of a disk of so many bytes. The last one may be short.
func Chunks(size int64) int64 { return (size + ChunkSize - 1) / ChunkSize }

// chunkLen is the length of chunk i of a disk of so many bytes.
func chunkLen(size, i int64) int { return int(min(ChunkSize, size-i*ChunkSize)) }
