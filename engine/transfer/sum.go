package transfer

import (
	"crypto/sha256"
	"encoding/hex"
)

// Sum is a SHA-256.
type Sum [sha256.Size]byte

func (s Sum) String() string { return hex.EncodeToString(s[:]) }

var zeroChunk = Sum(sha256.Sum256(make([]byte, ChunkSize)))

// ZeroSum is the digest of n zero bytes, n not above ChunkSize.
func ZeroSum(n int) Sum {
	if n == ChunkSize {
		return zeroChunk
	}
	return sha256.Sum256(make([]byte, n))
}
