package cli

import (
	"bytes"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/charmbracelet/x/vt"
	"github.com/creack/pty"

	"landfall/engine/spec"
	"landfall/ui/cli/demo"
)

// blocks gives the fenced blocks of a kind in the README.
func blocks(t *testing.T, kind string) (out []string) {
	t.Helper()
	b, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range regexp.MustCompile("(?s)```"+kind+"\n(.*?)```").FindAllSubmatch(b, -1) {
		out = append(out, string(m[1]))
	}
	if len(out) == 0 {
		t.Fatalf("the README has no block of kind %s", kind)
	}
	return out
}

func TestReadmeDocumentsAreValid(t *testing.T) {
	for _, b := range blocks(t, "yaml") {
		if _, err := spec.Read(strings.NewReader(b)); err != nil {
			t.Error(err)
		}
	}
}

// TestReadmeDemo opens the demo as the README says, in a terminal, detaches, and runs the README's verbs on its workspace.
func TestReadmeDemo(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "demo")
	t.Cleanup(func() {
		_ = program(dir, "demo", "--dir", dir, "--reset").Run()
		_ = demo.Stop(dir)
	})
	openDemo(t, dir)
	for _, b := range blocks(t, "sh") {
		for line := range strings.Lines(b) {
			args := strings.Fields(line)
			cmd := program(dir, args[1:]...)
			cmd.Dir = t.TempDir()
			out, err := cmd.CombinedOutput()
			t.Logf("$ %s%s", line, out)
			if err != nil && args[1] != "doctor" { // doctor fails where this machine has something to look at
				t.Errorf("%s: %v", strings.TrimSpace(line), err)
			}
		}
	}
}

// openDemo runs the demo in a terminal of 80×24 until its first screen, and detaches.
func openDemo(t *testing.T, dir string) {
	t.Helper()
	cmd := program(dir, "demo", "--dir", dir)
	cmd.Env = append(cmd.Env, "TERM=xterm-256color", "LANG=C.UTF-8")
	start := time.Now()
	tty, err := pty.StartWithSize(cmd, &pty.Winsize{Rows: 24, Cols: 80})
	if err != nil {
		t.Fatal(err)
	}
	defer tty.Close()
	screen := vt.NewSafeEmulator(80, 24)
	go func() { _, _ = io.Copy(tty, screen) }() // what a terminal answers
	var mu sync.Mutex
	var all bytes.Buffer
	read := make(chan struct{})
	go func() {
		defer close(read)
		buf := make([]byte, 4096)
		for {
			n, err := tty.Read(buf)
			mu.Lock()
			all.Write(buf[:n])
			mu.Unlock()
			_, _ = screen.Write(buf[:n])
			if err != nil {
				return
			}
		}
	}()
	see := func(words ...string) {
		t.Helper()
		for deadline := time.Now().Add(time.Minute); ; time.Sleep(20 * time.Millisecond) {
			text, missing := screen.Render(), ""
			for _, w := range words {
				if !strings.Contains(text, w) {
					missing = w
				}
			}
			if missing == "" {
				return
			}
			if time.Now().After(deadline) {
				t.Fatalf("%q is not on the screen:\n%s", missing, text)
			}
		}
	}
	see("Inventory", "engine runs")
	t.Logf("first screen after %s", time.Since(start).Round(10*time.Millisecond))
	see("web-01", "files-01", "blocker")
	if _, err := tty.WriteString("q"); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("detaching: %v", err)
	}
	<-read
	mu.Lock()
	defer mu.Unlock()
	if !strings.Contains(all.String(), "the engine goes on") {
		t.Error("detaching does not say that the engine goes on")
	}
	if !alive(filepath.Join(dir, "workspace")) {
		t.Error("the engine ended with the console")
	}
}

// program is the program itself, on the demo's workspace.
func program(dir string, args ...string) *exec.Cmd {
	cmd := exec.Command(os.Args[0], args...)
	cmd.Env = append(os.Environ(), envProgram+"=1", "LANDFALL_WORKSPACE="+filepath.Join(dir, "workspace"))
	return cmd
}
