package store_test

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"

	"landfall/store"
)

var background = context.Background()

// acts are what this test binary does as another process.
var acts = map[string]func(dir string) error{
	"answer":  answerAll,
	"open":    openOnly,
	"lock":    lockUntilKilled,
	"commit":  commitUntilKilled,
	"mark":    dieAtMark,
	"engine":  playEngine,
	"console": playConsole,
}

func openAs(dir string) (*store.Store, error) {
	return store.Open(background, dir, store.Options{})
}

func openOnly(dir string) error {
	s, err := openAs(dir)
	if err != nil {
		return err
	}
	return s.Close()
}

type process struct {
	*exec.Cmd
	out  *bufio.Reader
	errs *bytes.Buffer
}

// child starts this test binary as another process.
func child(t testing.TB, act, dir string, env ...string) *process {
	t.Helper()
	p := &process{Cmd: exec.Command(os.Args[0]), errs: new(bytes.Buffer)}
	p.Env = append(append(os.Environ(), "LANDFALL_ACT="+act, "LANDFALL_DIR="+dir), env...)
	p.Stderr = p.errs
	out, err := p.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	p.out = bufio.NewReader(out)
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if p.ProcessState == nil {
			_ = p.Process.Kill()
			_ = p.Wait()
		}
	})
	return p
}

// lines reads to the end of the process and gives its whole lines: one that a kill cut off was never told.
func (p *process) lines() []string {
	b, _ := io.ReadAll(p.out)
	all := strings.Split(string(b), "\n")
	return all[:len(all)-1]
}

// count gives how many lines a process printed that must end well.
func (p *process) count(t testing.TB) int {
	t.Helper()
	all := p.lines()
	if err := p.Wait(); err != nil {
		t.Fatalf("%v: %s", err, p.errs)
	}
	return len(all)
}

// next gives the next line.
func (p *process) next(t testing.TB) string {
	t.Helper()
	line, err := p.out.ReadString('\n')
	if err != nil {
		t.Fatalf("%v: %s", err, p.errs)
	}
	return strings.TrimSuffix(line, "\n")
}
