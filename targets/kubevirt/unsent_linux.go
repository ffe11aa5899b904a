package kubevirt

import (
	"net"
	"syscall"

	"golang.org/x/sys/unix"
)

// unsent is how many bytes of a connection the other side has not acknowledged; 0 where that cannot be told.
func unsent(c net.Conn) int64 {
	sc, ok := c.(syscall.Conn)
	if !ok {
		return 0
	}
	raw, err := sc.SyscallConn()
	if err != nil {
		return 0
	}
	n := 0
	if err := raw.Control(func(fd uintptr) { n, _ = unix.IoctlGetInt(int(fd), unix.SIOCOUTQ) }); err != nil {
		return 0
	}
	return int64(n)
}
