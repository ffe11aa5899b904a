package nbd

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"time"

	"landfall/engine/fault"
)

// Command starts a server for one disk, such as nbdkit with the vddk plugin. In its words {socket} stands for the Unix
// socket that it is to listen on and {password} for a file that holds the password, which never is an argument; others are
// as Values says. It ends with the disk.
type Command struct {
	Words    []string
	Values   map[string]string
	Password string        // "" for none
	Patience time.Duration // until it listens; 30 s
}

// Start starts the command and opens its disk.
func Start(ctx context.Context, c Command, size int64) (*Served, error) {
	if len(c.Words) == 0 {
		return nil, fault.Newf(fault.Blocked, fault.Refused, "no NBD command is given")
	}
	dir, err := os.MkdirTemp("", "landfall-nbd-") // 0700
	if err != nil {
		return nil, fault.New(fault.Blocked, fault.Refused, fmt.Errorf("start NBD server: %w", err))
	}
	s := &Served{dir: dir, name: filepath.Base(c.Words[0]), gone: make(chan struct{})}
	socket := filepath.Join(dir, "socket")
	if err := s.start(c, socket); err != nil {
		_ = os.RemoveAll(dir)
		return nil, err
	}
	if s.Disk, err = s.connect(ctx, socket, size, c.Patience); err != nil {
		s.stop()
		return nil, err
	}
	return s, nil
}

// Served is the disk of a command.
type Served struct {
	*Disk
	dir  string
	name string
	cmd  *exec.Cmd
	said tail
	gone chan struct{} // closed when it has ended
}

func (s *Served) start(c Command, socket string) error {
	pairs := []string{"{socket}", socket}
	if c.Password != "" {
		file := filepath.Join(s.dir, "password")
		if err := os.WriteFile(file, []byte(c.Password), 0o600); err != nil {
			return fault.New(fault.Blocked, fault.Refused, fmt.Errorf("start NBD server: %w", err))
		}
		pairs = append(pairs, "{password}", file)
	}
	for k, v := range c.Values {
		pairs = append(pairs, "{"+k+"}", v)
	}
	fill := strings.NewReplacer(pairs...)
	words := make([]string, len(c.Words))
	for i, w := range c.Words {
		words[i] = fill.Replace(w)
	}
	s.cmd = exec.Command(words[0], words[1:]...)
	s.cmd.Dir, s.cmd.Stderr, s.cmd.Stdout = s.dir, &s.said, &s.said
	s.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGTERM}
	s.cmd.WaitDelay = time.Second
	started := make(chan error)
	go func() {
		runtime.LockOSThread() // the system ends the child with the thread that made it, not with the process
		err := s.cmd.Start()
		started <- err
		if err == nil {
			_ = s.cmd.Wait() // what it said counts
			close(s.gone)
		}
	}()
	if err := <-started; err != nil {
		return fault.Hint(fault.New(fault.Blocked, fault.Unsupported, fmt.Errorf("start NBD server: %w", err)), "install it, or correct spec.source.nbd.command")
	}
	return nil
}

func (s *Served) connect(ctx context.Context, socket string, size int64, patience time.Duration) (*Disk, error) {
	if patience <= 0 {
		patience = 30 * time.Second
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for {
		if _, err := os.Stat(socket); err == nil {
			d, err := open(ctx, Address{"unix", socket, ""}, size, s.explain)
			if err == nil || !fault.Is(err, fault.Unreachable) {
				return d, err
			}
		}
		select {
		case <-s.gone:
			return nil, s.explain(fault.Newf(fault.Blocked, fault.Unsupported, "the NBD server ended at once"))
		case <-ctx.Done():
			return nil, s.explain(fault.Newf(fault.Transient, fault.Unreachable, "the NBD server does not listen after %s", patience))
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// explain adds what the command said last: its own failure tells more than a broken connection.
func (s *Served) explain(err error) error {
	if line := s.said.last(); line != "" && err != nil {
		return fault.New(fault.ClassOf(err), fault.ReasonOf(err), fmt.Errorf("%w; %s says: %s", err, s.name, line))
	}
	return err
}

// Close ends the command and removes what was made for it.
func (s *Served) Close() error {
	err := s.Disk.Close()
	s.stop()
	return err
}

// stop ends the process group that was started here, and nothing else.
func (s *Served) stop() {
	defer os.RemoveAll(s.dir)
	group := -s.cmd.Process.Pid
	for _, sig := range []syscall.Signal{syscall.SIGTERM, syscall.SIGKILL} {
		select {
		case <-s.gone: // its number may be another's by now
			return
		default:
			_ = syscall.Kill(group, sig)
		}
		select {
		case <-s.gone:
			return
		case <-time.After(3 * time.Second):
		}
	}
}

// tail keeps the end of what was written.
type tail struct {
	mu sync.Mutex
	b  []byte
}

func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.b = append(t.b, p...)
	if over := len(t.b) - 4096; over > 0 {
		t.b = append(t.b[:0], t.b[over:]...)
	}
	return len(p), nil
}

func (t *tail) last() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	lines := bytes.Split(bytes.TrimSpace(t.b), []byte("\n"))
	line := lines[len(lines)-1]
	return string(line[:min(len(line), 300)])
}

// Socket is where the command listens.
func (s *Served) Socket() string { return filepath.Join(s.dir, "socket") }
