package sources

import (
	"context"

	"landfall/engine/machine"
)

// Mender is a Source that mends, with a person's consent, what stands in the way of a copy. Both return when the source says
// that it is done, and nothing to do is success.
type Mender interface {
	Source

	// Consolidate merges delta files that no snapshot needs any more into the disks that they belong to. It may take long, and
	// the VM may be stunned for a moment.
	Consolidate(ctx context.Context, ref machine.Ref) error

	// RemoveMedia takes the images and host devices out of the VM's CD drives. One that the guest has locked is fault.Refused,
	// Blocked: it is not forced.
	RemoveMedia(ctx context.Context, ref machine.Ref) error
}
