package transfer

import (
	"crypto/sha256"
	"encoding/binary"
)

// Tags keep the sorts of hash input apart, so that no chunk can pass for a node nor a node for a root.
const (
	tagLeaf  = 0
	tagNode  = 1
	tagRoot  = 2
	tagChunk = 3
)

// Root is the one digest of a disk. sum gives the ChunkSum of chunk i, and is asked for each chunk once, in order.
//
//	leaf(i)      = SHA-256(0x00 ‖ sum(i))
//	node(l, r)   = SHA-256(0x01 ‖ l ‖ r); a node without a right neighbour rises unchanged
//	root         = SHA-256(0x02 ‖ size ‖ ChunkSize ‖ top), both as 64-bit big-endian; an empty disk has a top of zeros
//
// The size in it fixes the shape of the tree.
func Root(size int64, sum func(i int64) Sum) Sum {
	var stack []subtree
	for i := range Chunks(size) {
		t := subtree{leaf(sum(i)), 0}
		for len(stack) > 0 && stack[len(stack)-1].height == t.height {
			t = subtree{node(stack[len(stack)-1].top, t.top), t.height + 1}
			stack = stack[:len(stack)-1]
		}
		stack = append(stack, t)
	}
	var top Sum
	if n := len(stack); n > 0 {
		top = stack[n-1].top
		for n--; n > 0; n-- {
			top = node(stack[n-1].top, top)
		}
	}
	var b [1 + 8 + 8 + len(top)]byte
	b[0] = tagRoot
	binary.BigEndian.PutUint64(b[1:], uint64(size))
	binary.BigEndian.PutUint64(b[9:], ChunkSize)
	copy(b[17:], top[:])
	return sha256.Sum256(b[:])
}

// subtree is a full tree of 2^height leaves.
type subtree struct {
	top    Sum
	height int
}

func leaf(s Sum) Sum {
	var b [1 + len(s)]byte
	b[0] = tagLeaf
	copy(b[1:], s[:])
	return sha256.Sum256(b[:])
}

func node(l, r Sum) Sum {
	var b [1 + 2*len(l)]byte
	b[0] = tagNode
	copy(b[1:], l[:])
	copy(b[1+len(l):], r[:])
	return sha256.Sum256(b[:])
}
