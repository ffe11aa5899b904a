package main

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// tools are the rivals' programs, of the system or of a newer Debian in a folder.
type tools struct{ root string }

const libs = "usr/lib/x86_64-linux-gnu"

func findTools(root string) tools {
	if _, err := os.Stat(filepath.Join(root, "usr/bin/nbdkit")); err != nil {
		return tools{}
	}
	return tools{root}
}

func (t tools) command(ctx context.Context, name string, args ...string) *exec.Cmd {
	if t.root == "" {
		return exec.CommandContext(ctx, name, args...)
	}
	own := []string{"--library-path", filepath.Join(t.root, libs), filepath.Join(t.root, "usr/bin", name)}
	return exec.CommandContext(ctx, filepath.Join(t.root, "usr/lib64/ld-linux-x86-64.so.2"), append(own, args...)...)
}

func (t tools) curlPlugin() string {
	if t.root == "" {
		return "curl"
	}
	return filepath.Join(t.root, libs, "nbdkit/plugins/nbdkit-curl-plugin.so")
}

// version is the first line that a tool says of itself.
func (t tools) version(ctx context.Context, name string) string {
	out, err := t.command(ctx, name, "--version").Output()
	line, _, _ := strings.Cut(string(out), "\n")
	if err != nil {
		return name + ": not to be had"
	}
	return strings.TrimSpace(line)
}

// contestant is one way to fetch the disk into the file out.
type contestant struct {
	name, what string
	out        bool // it leaves a file
	nbdkit     bool // reads through an nbdkit of its own
	tools      tools
	command    func(ctx context.Context, out, sock string) *exec.Cmd
}

func (b *bench) contestants(url string) []contestant {
	self := func(part string) func(context.Context, string, string) *exec.Cmd {
		return func(ctx context.Context, out, _ string) *exec.Cmd {
			args := []string{"-as", part, "-url", url, "-dir", b.dir, "-out", out, "-streams", b.connections()}
			if b.profile != "" && part == "ours" {
				args = append(args, "-profile", b.profile)
			}
			return exec.CommandContext(ctx, b.self, args...)
		}
	}
	copyNBD := func(t tools, args ...string) func(context.Context, string, string) *exec.Cmd {
		return func(ctx context.Context, out, sock string) *exec.Cmd {
			return t.command(ctx, "nbdcopy", append(args, "--flush", "nbd+unix:///?socket="+sock, out)...)
		}
	}
	ca := filepath.Join(b.dir, "ca.pem")
	t := b.tools
	list := []contestant{
		{"ours", "transfer.Copy, digests, whole disk", true, false, t, self("ours")},
		{"ours-map", "the same, reading what the source calls allocated", true, false, t, self("map")},
		{"nbdcopy", "nbdkit curl + nbdcopy, defaults", true, true, t, copyNBD(t)},
		{"nbdcopy-tuned", "… --request-size=4M --connections=4 --requests=8", true, true, t,
			copyNBD(t, "--request-size=4194304", "--connections=4", "--requests=8")},
		{"qemu-img", "nbdkit curl + qemu-img convert -t none", true, true, t, func(ctx context.Context, out, sock string) *exec.Cmd {
			return t.command(ctx, "qemu-img", "convert", "-t", "none", "-f", "raw", "-O", "raw", "nbd:unix:"+sock, out)
		}},
		{"curl", "curl -o", true, false, t, func(ctx context.Context, out, _ string) *exec.Cmd {
			return t.command(ctx, "curl", "-sS", "--fail", "--http1.1", "--cacert", ca, "-o", out, url)
		}},
		{"floor", "Go client reading to nowhere", false, false, t, self("floor")},
	}
	if _, err := exec.LookPath("nbdkit"); err == nil && t.root != "" {
		var system tools
		list = append(list, contestant{"nbdcopy-system", "nbdcopy as this system has it, whose nbdkit may ask for one thing at a time",
			true, true, system, copyNBD(system)})
	}
	return list
}
