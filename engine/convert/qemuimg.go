// Package convert makes other formats of acquired images with the tools of the field. It knows files and tools, and must
// not know sources, targets, the store or a phase.
package convert

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"landfall/engine"
	"landfall/engine/boundary"
	"landfall/engine/fault"
)

// QemuImg converts to qcow2 with the distribution's qemu-img. Tool is its path; empty: it is looked up in PATH.
type QemuImg struct{ Tool string }

// Format is qcow2.
func (QemuImg) Format() string { return "qcow2" }

// Version gives the tool's version, or fault.Unsupported, Blocked, when it is not there.
func (q QemuImg) Version(ctx context.Context) (string, error) {
	out, err := q.run(ctx, "--version")
	if err != nil {
		return "", err
	}
	line, _, _ := strings.Cut(string(out), "\n")
	return strings.TrimPrefix(line, "qemu-img version "), nil
}

// Convert makes a qcow2 of the raw image, beside its final name first; it is checked, described and compared before it gets
// that name. Nothing is left of one that failed, as nothing of it can be used again.
func (q QemuImg) Convert(ctx context.Context, raw, out string) (a engine.Artifact, err error) {
	version, err := q.Version(ctx)
	if err != nil {
		return engine.Artifact{}, err
	}
	// The tool takes what comes before a colon for a protocol and a leading dash for an option: not so in a whole path.
	from, err := filepath.Abs(raw)
	if err != nil {
		return engine.Artifact{}, err
	}
	to, err := filepath.Abs(out)
	if err != nil {
		return engine.Artifact{}, err
	}
	part := to + ".partial"
	if err := os.Remove(part); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return engine.Artifact{}, err
	}
	boundary.Cross(boundary.Create, "convert")
	cache, err := prepare(part)
	if err != nil {
		return engine.Artifact{}, err
	}
	defer func() {
		if err != nil {
			_ = os.Remove(part)
		}
	}()
	if _, err = q.run(ctx, "convert", "-q", "-f", "raw", "-O", "qcow2", "-t", cache, "-S", "4k", from, part); err != nil {
		return engine.Artifact{}, err
	}
	if err = q.verify(ctx, from, part); err != nil {
		return engine.Artifact{}, err
	}
	digest, length, err := finish(part, to)
	if err != nil {
		return engine.Artifact{}, err
	}
	return engine.Artifact{Path: out, Format: q.Format(), Digest: digest, Length: length, Made: "qemu-img " + version}, nil
}

// prepare makes the empty file, readable by its owner alone, that the tool then fills, and tells the cache mode in which
// the file system takes it: past the page cache where it can.
func prepare(part string) (cache string, err error) {
	f, err := os.OpenFile(part, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return "", err
	}
	if err := f.Close(); err != nil {
		return "", err
	}
	if f, err = os.OpenFile(part, os.O_RDWR|unix.O_DIRECT, 0); err != nil {
		return "writeback", nil //nolint:nilerr // the file system refuses direct writes: that is the answer
	}
	return "none", f.Close()
}

// verify has qemu-img check the image's structure, and compare its contents with the raw image byte by byte.
func (q QemuImg) verify(ctx context.Context, raw, file string) error {
	st, err := os.Stat(raw)
	if err != nil {
		return err
	}
	if _, err := q.run(ctx, "check", "-q", "-f", "qcow2", file); err != nil {
		return fmt.Errorf("check: %w", err)
	}
	out, err := q.run(ctx, "info", "--output=json", "-f", "qcow2", file)
	if err != nil {
		return fmt.Errorf("info: %w", err)
	}
	var info struct {
		Size    int64  `json:"virtual-size"`
		Format  string `json:"format"`
		Backing string `json:"backing-filename"`
	}
	if err := json.Unmarshal(out, &info); err != nil {
		return fmt.Errorf("info: %w", err)
	}
	// qemu-img rounds up to whole sectors.
	if info.Format != "qcow2" || info.Backing != "" || info.Size < st.Size() || info.Size >= st.Size()+512 {
		return fault.Newf(fault.Transient, fault.Damaged, "converted image: format %s, %d bytes, backing %q; wanted qcow2, %d bytes, none", info.Format, info.Size, info.Backing, st.Size())
	}
	if _, err := q.run(ctx, "compare", "-q", "-f", "raw", "-F", "qcow2", raw, file); err != nil {
		return fault.New(fault.Transient, fault.Damaged, fmt.Errorf("compare: %w", err))
	}
	return nil
}

// run calls the tool without a shell and with a bare environment. Of its error output the last line is kept.
func (q QemuImg) run(ctx context.Context, args ...string) ([]byte, error) {
	tool := q.Tool
	if tool == "" {
		tool = "qemu-img"
	}
	cmd := exec.CommandContext(ctx, tool, args...)
	cmd.Env = []string{"LC_ALL=C", "PATH=" + os.Getenv("PATH")}
	var out bytes.Buffer
	var errs tail
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := runBound(cmd)
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	var missing *exec.Error
	if errors.As(err, &missing) || errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) {
		return nil, fault.Hint(fault.Newf(fault.Blocked, fault.Unsupported, "%s: %w", tool, err), "install qemu-utils, or use conversion None")
	}
	if err != nil {
		last := errs.lastLine()
		if noSpace(last) {
			return nil, fault.Hint(fault.Newf(fault.Blocked, fault.NoSpace, "qemu-img %s: %s", args[0], last), "free room in the staging directory, then retry")
		}
		if last != "" {
			err = fmt.Errorf("%w: %s", err, last)
		}
		return nil, fault.Newf(fault.Transient, "ConversionFailed", "qemu-img %s: %w", args[0], err)
	}
	return out.Bytes(), nil
}

// noSpace tells whether the tool failed for want of room. It gives no errno, only the C library's words for it, which
// LC_ALL=C keeps the same.
func noSpace(said string) bool {
	said = strings.ToLower(said)
	return strings.Contains(said, unix.ENOSPC.Error()) || strings.Contains(said, unix.EDQUOT.Error())
}

// finish syncs the image, gives it its name, and tells its SHA-256 and length.
func finish(part, out string) (digest string, length int64, err error) {
	f, err := os.OpenFile(part, os.O_RDWR, 0)
	if err != nil {
		return "", 0, err
	}
	defer f.Close()
	if digest, length, err = sum(f); err != nil {
		return "", 0, err
	}
	boundary.Cross(boundary.Sync, "converted image")
	if err := f.Sync(); err != nil {
		return "", 0, err
	}
	boundary.Cross(boundary.Rename, "converted image")
	if err := os.Rename(part, out); err != nil {
		return "", 0, err
	}
	dir, err := os.Open(filepath.Dir(out))
	if err != nil {
		return "", 0, err
	}
	defer dir.Close()
	return digest, length, dir.Sync()
}

func sum(r io.Reader) (string, int64, error) {
	h := sha256.New()
	n, err := io.Copy(h, r)
	return hex.EncodeToString(h.Sum(nil)), n, err
}
