package store

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"strings"

	"golang.org/x/sys/unix"

	"landfall/engine/fault"
)

// SQLite's log is shared between processes through memory and locks that do not reach across hosts; on these file systems
// a database is lost sooner or later.
var network = map[string]bool{
	"nfs": true, "nfs4": true, "cifs": true, "smb": true, "smb2": true, "smb3": true, "smbfs": true, "ncp": true,
	"9p": true, "v9fs": true, "afs": true, "coda": true, "ceph": true, "lustre": true, "gpfs": true, "gfs2": true,
	"ocfs2": true, "beegfs": true, "vboxsf": true, "virtiofs": true, "prl_fs": true, "orangefs": true,
}

// FUSE hides what is behind it, so only those that are known to be local pass.
var localFUSE = map[string]bool{"fuseblk": true, "fuse.fuse-overlayfs": true, "fuse.gocryptfs": true}

func local(dir, kind string) error {
	fuse := kind == "fuse" || strings.HasPrefix(kind, "fuse.")
	if !network[kind] && (!fuse || localFUSE[kind]) {
		return nil
	}
	return fault.Hint(fault.Newf(fault.Blocked, fault.Unsupported, "%s is on a network file system (%s), where a database is not safe", dir, kind),
		"name a directory on a local disk")
}

// Magic numbers that x/sys does not name.
const (
	magicLustre = 0x0BD00BD0
	magicGPFS   = 0x47504653
	magicGFS2   = 0x01161970
	magicBeeGFS = 0x19830326
	magicVBox   = 0x786F4256
	magicOrange = 0x20030528
	magicNCP    = 0x564C
)

var magics = map[uint32]string{
	unix.NFS_SUPER_MAGIC: "nfs", unix.SMB_SUPER_MAGIC: "smb", unix.CIFS_SUPER_MAGIC: "cifs", unix.SMB2_SUPER_MAGIC: "smb3",
	unix.V9FS_MAGIC: "9p", unix.AFS_SUPER_MAGIC: "afs", unix.AFS_FS_MAGIC: "afs", unix.CODA_SUPER_MAGIC: "coda",
	unix.CEPH_SUPER_MAGIC: "ceph", unix.OCFS2_SUPER_MAGIC: "ocfs2", magicLustre: "lustre", magicGPFS: "gpfs",
	magicGFS2: "gfs2", magicBeeGFS: "beegfs", magicVBox: "vboxsf", magicOrange: "orangefs", magicNCP: "ncp",
	unix.FUSE_SUPER_MAGIC: "fuse",
}

// fileSystem names the network file systems and FUSE; "" is any other.
func fileSystem(dir string) (string, error) {
	var st unix.Statfs_t
	if err := unix.Statfs(dir, &st); err != nil {
		return "", err
	}
	kind := magics[uint32(st.Type)]
	if kind != "fuse" {
		return kind, nil
	}
	mounts, err := os.Open("/proc/self/mountinfo")
	if err != nil {
		return kind, nil // unknown FUSE: refused
	}
	defer mounts.Close()
	var at unix.Stat_t
	if err := unix.Stat(dir, &at); err != nil {
		return "", err
	}
	return mounted(mounts, unix.Major(at.Dev), unix.Minor(at.Dev)), nil
}

// mounted finds the type of the FUSE file system with that device in a mountinfo; one that is not there is just "fuse".
func mounted(mountinfo io.Reader, major, minor uint32) string {
	kind, device := "fuse", fmt.Sprintf("%d:%d", major, minor)
	for lines := bufio.NewScanner(mountinfo); lines.Scan(); {
		mount, kinds, ok := strings.Cut(lines.Text(), " - ")
		if f := strings.Fields(mount); ok && len(f) > 2 && f[2] == device {
			kind, _, _ = strings.Cut(kinds, " ")
		}
	}
	return kind
}
