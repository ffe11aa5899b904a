package build

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// source has one module of pins with one program that says a word.
func source(t *testing.T, word string) Builder {
	t.Helper()
	b := Builder{Source: t.TempDir(), Bin: t.TempDir(), Out: &bytes.Buffer{}}
	write(t, b, "go.mod", "module said\n\ngo 1.26.0\n")
	write(t, b, "go.sum", "")
	write(t, b, "say/main.go", "package main\n\nvar more string\n\nfunc main() { print(\""+word+"\", more) }\n")
	return b
}

func write(t *testing.T, b Builder, name, content string) {
	t.Helper()
	path := filepath.Join(b.Source, "pins", "said", name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

var say = Program{Name: "say", Pins: "said", Package: "./say", Cost: 1}

func TestNameFollowsWhatDecides(t *testing.T) {
	b := source(t, "one")
	path := func(p Program) string {
		t.Helper()
		path, err := b.Path(p)
		if err != nil {
			t.Fatal(err)
		}
		return path
	}
	names := map[string]string{}
	see := func(what string, p Program) {
		t.Helper()
		if before, ok := names[path(p)]; ok {
			t.Errorf("%s: the name is that of %s", what, before)
		}
		names[path(p)] = what
		if again := path(p); names[again] != what {
			t.Errorf("%s: two names", what)
		}
	}
	see("first", say)
	flags, cgo := say, say
	flags.Flags, cgo.CGO = "-X main.more=b", true
	see("other flags", flags)
	see("with CGO", cgo)
	write(t, b, "go.mod", "module said\n\ngo 1.26.0\n\ngodebug default=go1.24\n")
	see("other go.mod", say)
	write(t, b, "go.sum", "example.com/x v1.0.0 h1:AAAA\n")
	see("other go.sum", say)
	write(t, b, "say/main.go", "package main\n\nfunc main() {}\n")
	see("other source", say)
	write(t, b, "go.mod", "")
	os.Remove(filepath.Join(b.Source, "pins", "said", "go.mod"))
	if _, err := b.Path(say); err == nil {
		t.Error("a program of nothing has a name")
	}
}

func TestBuildOnce(t *testing.T) {
	b := source(t, "word")
	p := say
	p.Flags = "-X main.more=s"
	if missing, err := b.Missing([]Program{p, p}); err != nil || len(missing) != 1 {
		t.Fatalf("missing are %v, %v", missing, err)
	}
	for range 2 {
		if err := b.Build(t.Context(), []Program{p, p}); err != nil {
			t.Fatal(err)
		}
	}
	if n := strings.Count(b.Out.(*bytes.Buffer).String(), "built say"); n != 1 {
		t.Errorf("it was built %d times:\n%s", n, b.Out)
	}
	path, err := b.Path(p)
	if err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command(path).CombinedOutput(); err != nil || string(out) != "words" {
		t.Errorf("it says %q, %v", out, err)
	}
	if left, err := os.ReadDir(b.Bin); err != nil || len(left) != 1 {
		t.Errorf("besides the program there are %v, %v", left, err)
	}
}

// What does not build leaves nothing that could be taken for a program.
func TestBuildThatFails(t *testing.T) {
	b := source(t, "word")
	write(t, b, "say/main.go", "package main\n\nfunc main() { no }\n")
	if err := b.Build(t.Context(), []Program{say}); err == nil || !strings.Contains(err.Error(), "say") {
		t.Errorf("it says %v", err)
	}
	if left, err := os.ReadDir(b.Bin); err != nil || len(left) != 0 {
		t.Errorf("left are %v, %v", left, err)
	}
}
