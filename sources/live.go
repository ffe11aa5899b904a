package sources

import (
	"context"
	"time"

	"landfall/engine/machine"
)

// Live is a Source whose VMs can be copied while they run: by snapshots, which freeze the disks, and by change tracking,
// which tells what was written since. All rules of Source hold. Every call of one migration goes to one endpoint: snapshot
// ids of a vCenter and of its hosts differ.
type Live interface {
	Source

	// SetChangeTracking switches change tracking of the VM. The same value again is success. It becomes active at the next
	// stun, or at once on a VM that is off; with snapshots present it is refused (fault.Refused, Blocked).
	SetChangeTracking(ctx context.Context, ref machine.Ref, on bool) error

	// Snapshots gives the VM's whole snapshot tree, flat, parents before children.
	Snapshots(ctx context.Context, ref machine.Ref) ([]Snapshot, error)

	// TakeSnapshot takes a snapshot without memory and returns when the source has it. A snapshot of that name which carries
	// the same description is there already: it is given back, that is success; one that is being taken is waited for first.
	// A quiesced one that the guest refuses is fault.QuiesceFailed, Blocked: take it again without.
	TakeSnapshot(ctx context.Context, ref machine.Ref, wanted SnapshotSpec) (Snapshot, error)

	// RemoveSnapshot removes exactly this snapshot, with its files, and returns when the source no longer has it. Gone
	// already is success, also when the source has forgotten the task. It never touches children or others.
	RemoveSnapshot(ctx context.Context, ref machine.Ref, s Snapshot) error

	// Settled gives nil when no snapshot of the VM is being taken: what Snapshots gives after it is all that was asked for
	// before. Else TaskInProgress, Transient; one that was asked for by a process that has ended counts as well.
	Settled(ctx context.Context, ref machine.Ref) error

	// Changed gives one page of what was written to the disk since the change id, as of the snapshot, or as the disk is now
	// where snapshot is nil and the VM is off. It starts at offset and tells how far the answer reaches; ask on until it
	// reaches the capacity. Each answer reaches further than offset. An id that is no longer known (revert, crash, move,
	// resize) is fault.TrackingLost, Blocked: the disk must be read whole.
	Changed(ctx context.Context, vm machine.VM, snapshot *Snapshot, disk machine.Disk, since string, offset int64) (Changes, error)

	// OpenFrozen opens the disk as the snapshot froze it, while the VM may run. Which readers were tried and what each said
	// is in the error, as for OpenDisk. A Disk that is a Whole cannot be read by ranges.
	OpenFrozen(ctx context.Context, vm machine.VM, s Snapshot, disk machine.Disk) (Disk, error)
}

// SnapshotSpec is a snapshot that is wanted.
type SnapshotSpec struct {
	Name        string
	Description string
	Quiesce     bool // have the tools bring the file systems to rest first
}

// Snapshot is one snapshot of a VM.
type Snapshot struct {
	ID          string    `json:"id"` // managed object reference on its endpoint
	Parent      string    `json:"parent,omitempty"`
	Name        string    `json:"name"`
	Description string    `json:"description,omitempty"`
	Taken       time.Time `json:"taken"`
	Depth       int       `json:"depth"` // 1 at the root
	// ChangeIDs are the disks' change ids by device key, as of the snapshot; "" where tracking gave none.
	ChangeIDs map[int32]string `json:"changeIDs,omitempty"`
}

// Changes is a page of changed areas.
type Changes struct {
	Extents []Extent // sorted, not overlapping
	Reach   int64    // everything before it was answered
}

// Whole is a Disk that gives its content only in one stream from its start, such as an export. Open then refuses with
// fault.Unsupported.
type Whole interface {
	Disk
	// ReadAll calls each for every part that holds data, in ascending order; what is left out reads as zeros. p is valid
	// during the call only. It returns nil when the stream came to its own end mark; a stream that was cut gives
	// fault.EarlyEnd, whatever the connection said.
	ReadAll(ctx context.Context, each func(offset int64, p []byte) error) error
}
