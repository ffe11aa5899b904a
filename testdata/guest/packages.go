package guest

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
)

// packages is a folder into which Debian's packages were unpacked without
// being installed.
type packages struct {
	dir    string
	kernel string // as uname -r says it
}

func (p packages) path(elem ...string) string {
	return filepath.Join(append([]string{p.dir}, elem...)...)
}

func (p packages) busybox() string { return p.path("bin", "busybox") }

var kernelPackage = regexp.MustCompile(`linux-image-(\d\S+)`)

// fetch unpacks what a guest is made of into the cache, once.
func fetch(ctx context.Context, cache string) (packages, error) {
	done := filepath.Join(cache, "packages")
	if kernel, err := kernelIn(done); err == nil {
		return packages{done, kernel}, nil
	}
	work, err := os.MkdirTemp(cache, "build-")
	if err != nil {
		return packages{}, err
	}
	defer os.RemoveAll(work)

	if err := download(ctx, work); err != nil {
		// The package lists are absent or too old on a fresh machine.
		if _, err := run(ctx, nil, work, "apt-get", "-qq", "update"); err != nil {
			return packages{}, err
		}
		if err := download(ctx, work); err != nil {
			return packages{}, err
		}
	}
	debs, _ := filepath.Glob(filepath.Join(work, "*.deb"))
	unpacked := filepath.Join(work, "packages")
	for _, deb := range debs {
		if _, err := run(ctx, nil, work, "dpkg-deb", "-x", deb, unpacked); err != nil {
			return packages{}, err
		}
	}
	kernel, err := kernelIn(unpacked)
	if err != nil {
		return packages{}, err
	}
	return packages{done, kernel}, os.Rename(unpacked, done)
}

func download(ctx context.Context, dir string) error {
	out, err := run(ctx, nil, dir, "apt-cache", "depends", "linux-image-amd64")
	if err != nil {
		return err
	}
	kernel := kernelPackage.FindString(out)
	if kernel == "" {
		return fmt.Errorf("apt-cache names no kernel that linux-image-amd64 depends on")
	}
	// libdevmapper is what grub-mkimage is linked with and a small machine lacks.
	_, err = run(ctx, nil, dir, "apt-get", "-q", "download", kernel,
		"busybox-static", "grub-common", "grub-pc-bin", "grub-efi-amd64-bin", "libdevmapper1.02.1")
	return err
}

func kernelIn(dir string) (string, error) {
	names, err := filepath.Glob(filepath.Join(dir, "boot", "vmlinuz-*"))
	if err != nil {
		return "", err
	}
	if len(names) != 1 {
		return "", fmt.Errorf("%s has %d kernels where one is needed", dir, len(names))
	}
	return strings.TrimPrefix(filepath.Base(names[0]), "vmlinuz-"), nil
}

// run executes a program in a folder and returns what it printed; a failure
// carries the end of it.
func run(ctx context.Context, env []string, dir, name string, args ...string) (string, error) {
	var out bytes.Buffer
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = dir
	cmd.Env = append(append(os.Environ(), "LC_ALL=C", "DEBIAN_FRONTEND=noninteractive"), env...)
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Run(); err != nil {
		said := strings.TrimSpace(out.String())
		return "", fmt.Errorf("%s %s: %w: %s", name, strings.Join(args, " "), err, said[max(0, len(said)-600):])
	}
	return out.String(), nil
}
