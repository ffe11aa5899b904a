package transfer

import (
	"errors"
	"fmt"
	"path/filepath"

	"golang.org/x/sys/unix"

	"landfall/engine/fault"
)

// diskFault classes a failure of writing or syncing an image of which rest bytes at most are still to come.
func diskFault(files Files, op, path string, rest int64, err error) error {
	err = fmt.Errorf("%s %s: %w", op, path, err)
	if !errors.Is(err, unix.ENOSPC) && !errors.Is(err, unix.EDQUOT) {
		return fault.Hint(fault.New(fault.Blocked, "StagingFailed", err),
			"look at the staging disk's health and the kernel log, then retry; the copy goes on from what was safely written")
	}
	missing := rest
	if free, err := files.Free(filepath.Dir(path)); err == nil {
		missing = max(rest-free, ChunkSize)
	}
	return fault.Hint(fault.New(fault.Blocked, fault.NoSpace, err),
		"make room for up to %s more in %s, then retry; the copy goes on where it stopped", mib(missing), filepath.Dir(path))
}

func mib(bytes int64) string { return fmt.Sprintf("%d MiB", (bytes+ChunkSize-1)/ChunkSize) }
