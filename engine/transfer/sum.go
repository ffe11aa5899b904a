package transfer

import (
	"crypto/sha256"
	"encoding/hex"
)

// Sum is a SHA-256.
type Sum [sha256.Size]byte

func (s Sum) String() string { return hex.EncodeToString(s[:]) }

var (
	zeroChunk = Sum(sha256.Sum256(make([]byte, ChunkSize)))
	zeroBlock = Sum(sha256.Sum256(make([]byte, blockSize)))
)

// ChunkSum is the digest of a chunk of these bytes:
//
//	sum(chunk) = SHA-256(0x03 ‖ SHA-256(block 0) ‖ SHA-256(block 1) ‖ …), in blocks of 64 KiB
//
// but a chunk of nothing but zeros has the SHA-256 of its bytes.
func ChunkSum(p []byte) Sum {
	b := hashBlocks(p)
	return b.sum(len(p))
}

// holds tells whether a ledger that has want of a chunk means these bytes, and what their digest is. Ledgers from before
// there were blocks have the SHA-256 of the bytes.
func holds(p []byte, want Sum) (got Sum, ok bool) {
	if got = ChunkSum(p); got == want {
		return got, true
	}
	return got, Sum(sha256.Sum256(p)) == want
}

// ZeroSum is the digest of n zero bytes, n not above ChunkSize, as a block and as a chunk.
func ZeroSum(n int) Sum {
	switch n {
	case ChunkSize:
		return zeroChunk
	case blockSize:
		return zeroBlock
	}
	return sha256.Sum256(make([]byte, n))
}
