package transfer

import (
	"context"
	"crypto/sha256"

	"landfall/engine/fault"
)

// SHA256 is the digest of the whole image, as sha256sum gives it for the file. It costs a pass over all bytes, holes
// too, on one core; the Merkle root costs nothing.
func (a *Artifact) SHA256(ctx context.Context) (Sum, error) {
	h := sha256.New()
	r := a.NewReader()
	for i := int64(0); ; {
		b, err := r.ahead()
		if err != nil {
			if r.at >= a.Size() {
				return Sum(h.Sum(nil)), nil
			}
			return Sum{}, err
		}
		_, _ = h.Write(b) // never fails
		r.at += int64(len(b))
		if k := r.at / ChunkSize; k != i {
			if i = k; ctx.Err() != nil {
				return Sum{}, fault.Newf(fault.Transient, fault.Interrupted, "hash %s: %w", a.path, context.Cause(ctx))
			}
		}
	}
}
