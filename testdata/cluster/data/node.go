package data

import (
	"errors"
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"landfall/testdata/cluster/lab"
)

// nodeProcess keeps the mounts that the kubelet and containerd see.
const nodeProcess = "node"

// Folders that a kubelet or containerd writes into whatever it is told. They get others laid over them, which only the node
// sees, so that nothing of this machine is touched.
var covered = []string{"/var/lib", "/var/log", "/run", "/opt"}

// sysctls that a kubelet sets. They are the machine's: of two labs at once, the second notes down what the first has set, so the
// first should be the last to go down.
var sysctls = []string{"vm/overcommit_memory", "vm/panic_on_oom", "kernel/panic", "kernel/panic_on_oops", "kernel/keys/root_maxkeys", "kernel/keys/root_maxbytes"}

// group is the control group that everything of the node runs in.
func group(l *lab.Lab) string {
	return fmt.Sprintf("landfall-lab-%08x", crc32.ChecksumIEEE([]byte(l.Dir)))
}

// hierarchies are those of version 1 that the machine has mounted.
func hierarchies() ([]string, error) {
	all, err := filepath.Glob("/sys/fs/cgroup/*/cgroup.procs")
	if err != nil || len(all) == 0 {
		return nil, errors.New("no control groups of version 1 are mounted below /sys/fs/cgroup")
	}
	var dirs []string
	for _, f := range all {
		if d := filepath.Dir(f); filepath.Base(d) != "unified" {
			dirs = append(dirs, d)
		}
	}
	return dirs, nil
}

// makeNode writes down what a kubelet changes of this machine, and makes what it finds here.
func makeNode(l *lab.Lab) error {
	for _, c := range covered {
		if rel, err := filepath.Rel(c, l.Dir); err == nil && !strings.HasPrefix(rel, "..") {
			return fmt.Errorf("the lab cannot lie in %s, because %s is covered on its node: set LANDFALL_CLUSTER_DIR", l.Dir, c)
		}
	}
	for _, s := range sysctls {
		b, err := os.ReadFile("/proc/sys/" + s)
		if err != nil {
			continue
		}
		if err := l.Undo("write", "/proc/sys/"+s, strings.TrimSpace(string(b))); err != nil {
			return err
		}
	}
	if err := shareVolumes(l); err != nil {
		return err
	}
	if err := makeGroups(l); err != nil {
		return err
	}
	script := "set -e\n"
	for _, c := range covered {
		over := l.Path("node", strings.ReplaceAll(strings.Trim(c, "/"), "/", "-"))
		for _, d := range []string{"upper", "work"} {
			if err := os.MkdirAll(filepath.Join(over, d), 0o755); err != nil {
				return err
			}
		}
		script += fmt.Sprintf("mount -t overlay overlay -o lowerdir=%s,upperdir=%s/upper,workdir=%s/work %s\n", c, over, over, c)
	}
	// The kubelet's own folder is a plain one, for it holds what pods write.
	if err := os.MkdirAll(l.Path("node", "kubelet"), 0o755); err != nil {
		return err
	}
	script += fmt.Sprintf("mkdir -p /var/lib/kubelet\nmount --bind %s /var/lib/kubelet\nmount --make-rshared /\ntouch %s\nexec sleep infinity\n", l.Path("node", "kubelet"), l.Path("node", "ready"))
	if p, err := l.Process(nodeProcess); err != nil || !p.Running() {
		if err := os.RemoveAll(l.Path("node", "ready")); err != nil {
			return err
		}
	}
	return l.Start(lab.Process{Name: nodeProcess, Argv: []string{"/usr/bin/unshare", "--mount", "--propagation", "slave", "/bin/sh", "-c", script}})
}

// shareVolumes makes mounts of volumes be seen by a node that runs already.
func shareVolumes(l *lab.Lab) error {
	v := Volumes(l)
	if err := os.MkdirAll(v, 0o755); err != nil {
		return err
	}
	if mounted(v) {
		return nil
	}
	if err := l.Undo("unmount", v); err != nil {
		return err
	}
	if err := unix.Mount(v, v, "", unix.MS_BIND, ""); err != nil {
		return fmt.Errorf("share the volumes: %w", err)
	}
	if err := unix.Mount("", v, "", unix.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("share the volumes: %w", err)
	}
	return unix.Mount("", v, "", unix.MS_SHARED, "")
}

func mounted(path string) bool {
	b, err := os.ReadFile("/proc/self/mountinfo")
	return err == nil && strings.Contains(string(b), " "+path+" ")
}

// makeGroups makes the node's group in every hierarchy. What is in it is ended when the lab goes down, shims and pods alike.
func makeGroups(l *lab.Lab) error {
	dirs, err := hierarchies()
	if err != nil {
		return err
	}
	// Where version 2 is mounted beside them, runc makes the group there by itself.
	if err := l.Undo("cgroup", filepath.Join("/sys/fs/cgroup/unified", group(l))); err != nil {
		return err
	}
	for _, d := range dirs {
		g := filepath.Join(d, group(l))
		if err := l.Undo("cgroup", g); err != nil {
			return err
		}
		for _, g := range []string{g, filepath.Join(g, "runtime")} {
			if err := os.MkdirAll(g, 0o755); err != nil {
				return err
			}
			if filepath.Base(d) == "cpuset" { // an empty set takes no process
				for _, f := range []string{"cpuset.cpus", "cpuset.mems"} {
					b, err := os.ReadFile(filepath.Join(d, f))
					if err == nil {
						err = os.WriteFile(filepath.Join(g, f), b, 0o644)
					}
					if err != nil {
						return fmt.Errorf("make the node's group: %w", err)
					}
				}
			}
		}
	}
	return nil
}

// onNode is how a program is started on the node: with its mounts, and in its control group.
func onNode(l *lab.Lab, argv ...string) ([]string, error) {
	p, err := l.Process(nodeProcess)
	if err != nil {
		return nil, fmt.Errorf("start %s on the node: %w", filepath.Base(argv[0]), err)
	}
	enter := `for g in /sys/fs/cgroup/*/"$1"/runtime; do echo $$ >"$g/cgroup.procs"; done; shift; exec "$@"`
	return append([]string{"/bin/sh", "-c", enter, "sh", group(l), "/usr/bin/nsenter", "--mount=/proc/" + strconv.Itoa(p.PID) + "/ns/mnt"}, argv...), nil
}
