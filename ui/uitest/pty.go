package uitest

import (
	"bytes"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/charmbracelet/x/ansi"
	"github.com/charmbracelet/x/vt"
	"github.com/creack/pty"
	"golang.org/x/sys/unix"
)

// Terminal is a program on a real pseudo terminal, with an emulator behind it that shows its screen, and answers it.
type Terminal struct {
	t   testing.TB
	cmd *exec.Cmd
	pty *os.File

	mu     sync.Mutex
	screen *vt.Emulator
	all    bytes.Buffer
	gone   chan struct{} // nothing is read any more
	ended  chan struct{}
	err    error
}

// Start runs cmd on a terminal of a size. It is killed at the end of the test if it still runs.
func Start(t testing.TB, cmd *exec.Cmd, width, height int) *Terminal {
	t.Helper()
	opened, err := pty.StartWithSize(cmd, &pty.Winsize{Cols: uint16(width), Rows: uint16(height)})
	if err != nil {
		t.Fatalf("start on a terminal: %v", err)
	}
	f, err := pollable(opened)
	if err != nil {
		t.Fatalf("start on a terminal: %v", err)
	}
	p := &Terminal{t: t, cmd: cmd, pty: f, screen: newScreen(width, height), gone: make(chan struct{}), ended: make(chan struct{})}
	go p.read()
	go func() { _, _ = io.Copy(f, p.screen) }() // what the terminal answers
	go func() {
		p.err = cmd.Wait()
		close(p.ended)
	}()
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		<-p.ended
		_ = f.Close()
		<-p.gone
		hangUp(p.screen)
	})
	return p
}

// newScreen is an emulator that takes no scroll region beyond its screen, as a program asks for that has not heard of a
// smaller size yet: it would panic when that region scrolls.
func newScreen(width, height int) *vt.Emulator {
	s := vt.NewEmulator(width, height)
	s.RegisterCsiHandler('r', func(p ansi.Params) bool {
		bottom, _, _ := p.Param(1, 0)
		return bottom > s.Height()
	})
	return s
}

// pollable gives the file anew so that closing it ends a read that waits.
func pollable(f *os.File) (*os.File, error) {
	fd, err := unix.FcntlInt(f.Fd(), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	if err := f.Close(); err != nil {
		return nil, err
	}
	if err := unix.SetNonblock(fd, true); err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(fd), "terminal"), nil
}

func (p *Terminal) read() {
	defer close(p.gone)
	buf := make([]byte, 32<<10)
	for {
		n, err := p.pty.Read(buf)
		p.mu.Lock()
		p.all.Write(buf[:n])
		_, _ = p.screen.Write(buf[:n])
		p.mu.Unlock()
		if err != nil {
			return
		}
	}
}

// Bytes is how much the program has written so far.
func (p *Terminal) Bytes() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.all.Len()
}

// Raw is all that it has written.
func (p *Terminal) Raw() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.all.String()
}

// Text is what is on the screen.
func (p *Terminal) Text() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.screen.String()
}

// Send types bytes.
func (p *Terminal) Send(s string) {
	p.t.Helper()
	if _, err := p.pty.WriteString(s); err != nil {
		p.t.Fatalf("type %q: %v", s, err)
	}
}

// Resize changes the size.
func (p *Terminal) Resize(width, height int) {
	p.mu.Lock()
	p.screen.Resize(max(1, width), max(1, height))
	p.mu.Unlock()
	raw, err := p.pty.SyscallConn()
	if err != nil {
		p.t.Fatalf("resize: %v", err)
	}
	_ = raw.Control(func(fd uintptr) {
		err = unix.IoctlSetWinsize(int(fd), unix.TIOCSWINSZ, &unix.Winsize{Col: uint16(width), Row: uint16(height)})
	})
	if err != nil {
		p.t.Fatalf("resize: %v", err)
	}
}

// Signal sends one to the program.
func (p *Terminal) Signal(s syscall.Signal) { _ = p.cmd.Process.Signal(s) }

// Hang closes the terminal under the program, as a lost connection does.
func (p *Terminal) Hang() { _ = p.pty.Close() }

// Pid is the program's.
func (p *Terminal) Pid() int { return p.cmd.Process.Pid }

// WaitFor waits until want is on the screen.
func (p *Terminal) WaitFor(want string) {
	p.t.Helper()
	for end := time.Now().Add(30 * time.Second); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		if strings.Contains(p.Text(), want) {
			return
		}
	}
	p.t.Fatalf("%q did not come onto the screen:\n%s", want, p.Text())
}

// Quiet waits until nothing was written for a while.
func (p *Terminal) Quiet(d time.Duration) {
	p.t.Helper()
	last, since := -1, time.Now()
	for end := time.Now().Add(30 * time.Second); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		if n := p.Bytes(); n != last {
			last, since = n, time.Now()
		} else if time.Since(since) >= d {
			return
		}
	}
	p.t.Fatal("it never came to rest")
}

// Ended waits for the program's end and gives its error.
func (p *Terminal) Ended() error {
	p.t.Helper()
	select {
	case <-p.ended:
		select {
		case <-p.gone: // what it said last is read
		case <-time.After(2 * time.Second):
		}
		return p.err
	case <-time.After(30 * time.Second):
		p.t.Fatalf("it did not end; on the screen:\n%s", p.Text())
		return nil
	}
}
