// Package build makes the programs of the lab from pinned modules and keeps them in a folder, named by everything that
// decides what they are: a changed pin is built anew, the same one never twice. It must not know what a program is for.
package build

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"
)

// Program is one that is built.
type Program struct {
	Name    string
	Pins    string // folder under pins/ with the go.mod that it is built by
	Package string // import path, or ./folder within the pins
	CGO     bool
	Flags   string // more flags of the linker
	Cost    int    // CPU seconds to build it from nothing, as measured; much is shared between programs of the same pins
}

// Builder builds from Source, the folder that has pins/, into Bin.
type Builder struct {
	Source, Bin string
	Out         io.Writer
}

// Path is where the program lies once it is built.
func (b Builder) Path(p Program) (string, error) {
	h := sha256.New()
	fmt.Fprintln(h, runtime.Version(), p.Package, p.CGO, p.Flags)
	dir := filepath.Join(b.Source, "pins", p.Pins)
	files := []string{"go.mod", "go.sum"}
	if strings.HasPrefix(p.Package, "./") {
		more, err := filepath.Glob(filepath.Join(dir, p.Package, "*.go"))
		if err != nil {
			return "", err
		}
		for _, f := range more {
			files = append(files, strings.TrimPrefix(f, dir+"/"))
		}
	}
	for _, f := range files {
		c, err := os.ReadFile(filepath.Join(dir, f))
		if err != nil {
			return "", fmt.Errorf("what %s is built from: %w", p.Name, err)
		}
		fmt.Fprintf(h, "%s %d\n", f, len(c))
		h.Write(c)
	}
	return filepath.Join(b.Bin, p.Name+"-"+hex.EncodeToString(h.Sum(nil))[:12]), nil
}

// Missing gives those of the programs that are not built, each once.
func (b Builder) Missing(all []Program) (missing []Program, err error) {
	seen := map[string]bool{}
	for _, p := range all {
		path, err := b.Path(p)
		if err != nil {
			return nil, err
		}
		if _, err := os.Stat(path); err != nil && !seen[path] {
			missing = append(missing, p)
		}
		seen[path] = true
	}
	return missing, nil
}

// Build builds those of the programs that are missing, one after the other, and says how long each took.
func (b Builder) Build(ctx context.Context, all []Program) error {
	missing, err := b.Missing(all)
	if err != nil {
		return err
	}
	for i, p := range missing {
		fmt.Fprintf(b.Out, "building %s (%d of %d, up to %d s of CPU)\n", p.Name, i+1, len(missing), p.Cost)
		begun := time.Now()
		if err := b.one(ctx, p); err != nil {
			return fmt.Errorf("build %s: %w", p.Name, err)
		}
		fmt.Fprintf(b.Out, "built %s: %.0f s\n", p.Name, time.Since(begun).Seconds())
	}
	return nil
}

func (b Builder) one(ctx context.Context, p Program) error {
	path, err := b.Path(p)
	if err != nil {
		return err
	}
	unready := fmt.Sprintf("%s.%d", path, os.Getpid())
	defer os.Remove(unready)
	c := exec.CommandContext(ctx, "go", "build", "-trimpath", "-buildvcs=false", "-mod=readonly", "-ldflags", strings.TrimSpace("-s -w "+p.Flags), "-o", unready, p.Package)
	c.Dir = filepath.Join(b.Source, "pins", p.Pins)
	c.Env = append(os.Environ(), "GOWORK=off", "GOFLAGS=", "CGO_ENABLED=0")
	if p.CGO {
		c.Env = append(c.Env, "CGO_ENABLED=1")
	}
	c.Stdout, c.Stderr = b.Out, b.Out
	if err := c.Run(); err != nil {
		return err
	}
	return os.Rename(unready, path)
}
