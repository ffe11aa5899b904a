package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"
)

// figure is one measured run.
type figure struct {
	wall, cpu       time.Duration
	rss             int64 // bytes, peak, summed over the client's processes
	bytes, requests int64 // as the server counted
	connections     int64
}

// measure runs one contestant once.
func (b *bench) measure(ctx context.Context, c contestant, url string) (figure, error) {
	var f figure
	out := filepath.Join(b.dir, "copy-"+c.name)
	defer removeCopy(out)
	removeCopy(out)
	syscall.Sync() // what others left to write is not this run's
	if err := b.counts(ctx, &f); err != nil {
		return f, err
	}
	sock := filepath.Join(b.dir, "sock")
	_ = os.Remove(sock)
	start := time.Now()
	var kit *exec.Cmd
	if c.nbdkit {
		kit = c.tools.command(ctx, "nbdkit", "-f", "-r", "-U", sock, c.tools.curlPlugin(), "url="+url, "cainfo="+filepath.Join(b.dir, "ca.pem"))
		kit.Stderr = os.Stderr
		if err := kit.Start(); err != nil {
			return f, fmt.Errorf("start nbdkit: %w", err)
		}
		for range 1000 {
			if _, err := os.Stat(sock); err == nil {
				break
			}
			time.Sleep(2 * time.Millisecond)
		}
	}
	cmd := c.command(ctx, out, sock)
	var said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &said, &said
	err := cmd.Run()
	if err == nil && c.out {
		err = syncFile(out)
	}
	f.wall = time.Since(start)
	f.add(cmd.ProcessState)
	if kit != nil {
		_ = kit.Process.Signal(syscall.SIGTERM)
		_ = kit.Wait() // ended by our signal
		f.add(kit.ProcessState)
	}
	if err != nil {
		return f, fmt.Errorf("%s: %w: %s", c.name, err, said.Bytes())
	}
	if err := b.counts(ctx, &f); err != nil {
		return f, err
	}
	if c.out && !b.checked[c.name] {
		if err := same(diskPath(b.dir), out); err != nil {
			return f, fmt.Errorf("%s: %w", c.name, err)
		}
		b.checked[c.name] = true
	}
	return f, nil
}

func (f *figure) add(p *os.ProcessState) {
	if p == nil {
		return
	}
	f.cpu += p.UserTime() + p.SystemTime()
	if u, ok := p.SysUsage().(*syscall.Rusage); ok {
		f.rss += u.Maxrss << 10
	}
}

func removeCopy(out string) {
	for _, suffix := range []string{"", ".partial", ".ledger"} {
		_ = os.Remove(out + suffix)
	}
}

func syncFile(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	return f.Sync()
}

// same compares a copy with the disk, byte by byte.
func same(a, b string) error {
	fa, err := os.Open(a)
	if err != nil {
		return err
	}
	defer fa.Close()
	fb, err := os.Open(b)
	if err != nil {
		return err
	}
	defer fb.Close()
	pa, pb := make([]byte, 1<<20), make([]byte, 1<<20)
	for at := int64(0); ; at += int64(len(pa)) {
		na, ea := io.ReadFull(fa, pa)
		nb, eb := io.ReadFull(fb, pb)
		if !bytes.Equal(pa[:na], pb[:nb]) {
			return fmt.Errorf("the copy differs within the MiB at %d", at)
		}
		if ea != nil || eb != nil {
			if errors.Is(ea, io.EOF) || errors.Is(ea, io.ErrUnexpectedEOF) {
				return nil
			}
			return errors.Join(ea, eb)
		}
	}
}
