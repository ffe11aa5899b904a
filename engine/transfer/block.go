package transfer

import "crypto/sha256"

// blockSize is the grain of a chunk's digest, in bytes: that in which sources tell what changed, so that a change costs
// what it brings and not the chunk around it.
const blockSize = 64 << 10

// blocks are the SHA-256 of a chunk's blocks, in order. The last block of a disk may be short, and a short chunk has fewer.
type blocks [ChunkSize / blockSize]Sum

// count is how many blocks a chunk of n bytes has.
func count(n int) int { return (n + blockSize - 1) / blockSize }

// blockLen is the length of block k of a chunk of n bytes.
func blockLen(n, k int) int { return min(blockSize, n-k*blockSize) }

func hashBlock(p []byte) Sum {
	if len(p) == blockSize && isZero(p) {
		return zeroBlock
	}
	return sha256.Sum256(p)
}

func hashBlocks(p []byte) (b blocks) {
	for k := range count(len(p)) {
		at := k * blockSize
		b[k] = hashBlock(p[at : at+blockLen(len(p), k)])
	}
	return b
}

// zeroBlocks are those of n zero bytes.
func zeroBlocks(n int) (b blocks) {
	for k := range count(n) {
		b[k] = ZeroSum(blockLen(n, k))
	}
	return b
}

// sum is the digest of the chunk of n bytes that has these blocks.
func (b *blocks) sum(n int) Sum {
	zero := true
	for k := 0; k < count(n) && zero; k++ {
		zero = b[k] == ZeroSum(blockLen(n, k))
	}
	if zero {
		return ZeroSum(n)
	}
	var in [1 + len(b)*len(Sum{})]byte
	in[0] = tagChunk
	for k := range count(n) {
		copy(in[1+k*len(Sum{}):], b[k][:])
	}
	return sha256.Sum256(in[:1+count(n)*len(Sum{})])
}
