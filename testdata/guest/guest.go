// Package guest builds small bootable Linux disks with a web server from
// Debian's packages, and boots a disk image under qemu to read its page. It
// stands for the virtual machine that is migrated: a disk that still serves
// the page after a migration has arrived whole.
//
// It knows nothing of sources, targets or migrations, and is imported by
// tests alone.
package guest

import (
	"context"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"time"

	"github.com/gofrs/flock"
)

// Firmware is what starts the disk. A disk is built for one of them and does
// not start under the other.
type Firmware string

const (
	BIOS Firmware = "bios" // an MBR partition table, the boot loader in its gap
	EFI  Firmware = "efi"  // a GPT with an EFI system partition
)

// Size is the virtual size of every disk; about a quarter of it holds data.
const Size = 512 << 20

// recipe is everything that decides what is on a disk; its digest names the
// cache folder, so that an edited recipe never meets an old disk.
//
//go:embed guest.go packages.go root.go disk.go files
var recipe embed.FS

var tokens = regexp.MustCompile(`^[A-Za-z0-9._-]{1,64}$`)

// Build returns the path of a raw, sparse disk that starts under BIOS and
// serves a page with the token. See [Image].
func Build(ctx context.Context, token string) (string, error) {
	return Image{Token: token}.Build(ctx)
}

// Image is what may differ between two guests.
type Image struct {
	Token    string   // what the page says; letters, digits, ".", "_" and "-"
	Firmware Firmware // BIOS if empty
}

// Build returns the path of the disk, from the cache if the same one was
// built before. The file is shared: whoever writes to it makes a copy first.
// Two processes may build at the same time; one of them waits.
func (i Image) Build(ctx context.Context) (string, error) {
	if i.Firmware == "" {
		i.Firmware = BIOS
	}
	if i.Firmware != BIOS && i.Firmware != EFI {
		return "", fmt.Errorf("building a guest: firmware %q is neither bios nor efi", i.Firmware)
	}
	if !tokens.MatchString(i.Token) {
		return "", fmt.Errorf("building a guest: token %q: up to 64 letters, digits, dots, underscores or dashes are needed", i.Token)
	}

	cache, err := cacheDir()
	if err != nil {
		return "", fmt.Errorf("building a guest: %w", err)
	}
	lock := flock.New(filepath.Join(cache, "lock"))
	if _, err := lock.TryLockContext(ctx, 200*time.Millisecond); err != nil {
		return "", fmt.Errorf("building a guest: waiting for another build in %s: %w", cache, err)
	}
	defer lock.Close()

	path := filepath.Join(cache, fmt.Sprintf("%s-%s.img", i.Firmware, i.Token))
	now := time.Now()
	if os.Chtimes(path, now, now) == nil {
		return path, nil
	}
	forget(cache, now.Add(-24*time.Hour))
	if err := i.build(ctx, cache, path); err != nil {
		return "", fmt.Errorf("building a guest: %w", err)
	}
	return path, nil
}

func (i Image) build(ctx context.Context, cache, path string) error {
	pkgs, err := fetch(ctx, cache)
	if err != nil {
		return err
	}
	work, err := os.MkdirTemp(cache, "build-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)

	uuid := uuidOf(i)
	root := filepath.Join(work, "root")
	if err := layRoot(ctx, pkgs, root, i.Token, uuid); err != nil {
		return fmt.Errorf("laying out the root file system: %w", err)
	}
	raw := filepath.Join(work, "disk.img")
	if err := writeDisk(ctx, pkgs, i.Firmware, root, uuid, raw); err != nil {
		return fmt.Errorf("writing the disk: %w", err)
	}
	return os.Rename(raw, path)
}

// uuidOf gives equal images equal file system names.
func uuidOf(i Image) string {
	sum := sha256.Sum256([]byte(string(i.Firmware) + i.Token))
	sum[6] = sum[6]&0x0f | 0x40
	sum[8] = sum[8]&0x3f | 0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", sum[0:4], sum[4:6], sum[6:8], sum[8:10], sum[10:16])
}

func cacheDir() (string, error) {
	base, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	sum := sha256.New()
	err = fs.WalkDir(recipe, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := recipe.ReadFile(name)
		fmt.Fprintf(sum, "%s %d\n%s", name, len(text), text)
		return err
	})
	if err != nil {
		return "", err
	}
	dir := filepath.Join(base, "landfall", "guest", hex.EncodeToString(sum.Sum(nil))[:16])
	return dir, os.MkdirAll(dir, 0o755)
}

// forget removes disks that nobody asked for since the given time, and what
// a killed build left, so that random tokens do not fill the cache.
func forget(cache string, since time.Time) {
	for _, pattern := range []string{"*.img", "build-*"} {
		names, _ := filepath.Glob(filepath.Join(cache, pattern))
		for _, name := range names {
			if info, err := os.Stat(name); err == nil && info.ModTime().Before(since) {
				os.RemoveAll(name)
			}
		}
	}
}
