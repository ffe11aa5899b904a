package lab

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"
)

// inside marks a process that entered the lab's network.
const inside = "LANDFALL_CLUSTER_INSIDE"

// Inside tells whether this process lives in the lab's network.
func Inside() bool { return os.Getenv(inside) != "" }

// network is where the namespace is kept while no process is in it.
func (l *Lab) network() string { return l.Path("network") }

// HasNetwork tells whether the lab's network exists.
func (l *Lab) HasNetwork() bool {
	var st unix.Statfs_t
	return unix.Statfs(l.network(), &st) == nil && st.Type == unix.NSFS_MAGIC
}

// MakeNetwork makes a network namespace of the lab's own, in which there is nothing but a loopback. It is kept by a mount,
// which is on the list of what is put back.
func (l *Lab) MakeNetwork() error {
	if l.HasNetwork() {
		return nil
	}
	if os.Geteuid() != 0 {
		return errors.New("make the lab's network: only root may; run it as root")
	}
	if err := l.Undo("unmount", l.network()); err != nil {
		return err
	}
	if err := os.WriteFile(l.network(), nil, 0o600); err != nil {
		return fmt.Errorf("make the lab's network: %w", err)
	}
	made := make(chan error)
	go func() {
		// The thread is thrown away with the namespace that it is in.
		runtime.LockOSThread()
		made <- func() error {
			if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
				return err
			}
			if err := loopbackUp(); err != nil {
				return err
			}
			return unix.Mount(fmt.Sprintf("/proc/self/task/%d/ns/net", unix.Gettid()), l.network(), "", unix.MS_BIND, "")
		}()
	}()
	if err := <-made; err != nil {
		return fmt.Errorf("make the lab's network: %w", err)
	}
	return nil
}

func loopbackUp() error {
	s, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(s)
	r, err := unix.NewIfreq("lo")
	if err != nil {
		return err
	}
	r.SetUint16(unix.IFF_UP | unix.IFF_RUNNING)
	return unix.IoctlIfreq(s, unix.SIOCSIFFLAGS, r)
}

// Enter replaces this process by the command, in the lab's network. It returns only an error.
func (l *Lab) Enter(argv []string, env []string) error {
	f, err := os.Open(l.network())
	if err != nil {
		return fmt.Errorf("enter the lab's network: %w", err)
	}
	defer f.Close()
	runtime.LockOSThread()
	if err := unix.Setns(int(f.Fd()), unix.CLONE_NEWNET); err != nil {
		return fmt.Errorf("enter the lab's network: %w", err)
	}
	path := argv[0]
	if !filepath.IsAbs(path) {
		if path, err = lookPath(path); err != nil {
			return err
		}
	}
	return fmt.Errorf("run %s: %w", path, syscall.Exec(path, argv, append(env, inside+"=1")))
}

// AddAddress gives the loopback device of this process's network one more address.
func AddAddress(ip string) error {
	s, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(s)
	r, err := unix.NewIfreq("lo:lab")
	if err != nil {
		return err
	}
	if err := r.SetInet4Addr(net.ParseIP(ip).To4()); err != nil {
		return err
	}
	if err := unix.IoctlIfreq(s, unix.SIOCSIFADDR, r); err != nil && !errors.Is(err, unix.EEXIST) {
		return fmt.Errorf("add address %s: %w", ip, err)
	}
	return nil
}
