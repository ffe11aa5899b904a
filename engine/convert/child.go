package convert

import (
	"os/exec"
	"runtime"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// runBound runs a tool that ends with us: when its context ends, with all that it started, and when this process is killed.
func runBound(cmd *exec.Cmd) error {
	// The system counts the thread that started a child as its parent, so that thread has to stay.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	cmd.Cancel = func() error { return unix.Kill(-cmd.Process.Pid, unix.SIGKILL) }
	cmd.WaitDelay = 5 * time.Second
	return cmd.Run()
}

// tail keeps the end of what is written to it.
type tail []byte

const tailLength = 4096

func (t *tail) Write(p []byte) (int, error) {
	*t = append(*t, p[max(0, len(p)-tailLength):]...)
	*t = append((*t)[:0], (*t)[max(0, len(*t)-tailLength):]...)
	return len(p), nil
}

// lastLine gives the last line that says something, and no more than an error can take.
func (t *tail) lastLine() string {
	s := strings.TrimSpace(string(*t))
	s = strings.TrimSpace(s[strings.LastIndexByte(s, '\n')+1:])
	return s[max(0, len(s)-512):]
}
