package store

import (
	"strings"
	"testing"
)

func TestFUSEIsKnownByItsMount(t *testing.T) {
	const mountinfo = `23 1 259:2 / / rw,relatime shared:1 - ext4 /dev/nvme0n1p2 rw
97 23 0:52 / /mnt/far rw,nosuid,nodev,relatime shared:52 - fuse.sshfs op@far:/srv rw,user_id=1000
98 23 0:53 / /mnt/usb\040stick rw,relatime - fuseblk /dev/sdb1 rw
`
	for device, want := range map[[2]uint32]string{{0, 52}: "fuse.sshfs", {0, 53}: "fuseblk", {0, 54}: "fuse"} {
		kind := mounted(strings.NewReader(mountinfo), device[0], device[1])
		if kind != want {
			t.Errorf("device %v is %s", device, kind)
		}
		if refused := local("/mnt/x", kind) != nil; refused != (kind != "fuseblk") {
			t.Errorf("%s is refused: %v", kind, refused)
		}
	}
	if kind, err := fileSystem(t.TempDir()); err != nil || local("/tmp", kind) != nil {
		t.Errorf("the directory for temporary files is on %q: %v", kind, err)
	}
}
