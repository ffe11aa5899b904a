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
// that name.
func (q QemuImg) Convert(ctx context.Context, raw, out string) (engine.Artifact, error) {
	version, err := q.Version(ctx)
	if err != nil {
		return engine.Artifact{}, err
	}
	part := out + ".partial"
	if err := os.Remove(part); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return engine.Artifact{}, err
	}
	boundary.Cross(boundary.Create, "convert")
	_, err = q.run(ctx, "convert", "-q", "-f", "raw", "-O", "qcow2", "-t", "none", "-S", "4k", raw, part)
	if err != nil {
		return engine.Artifact{}, err
	}
	if err := q.verify(ctx, raw, part); err != nil {
		return engine.Artifact{}, err
	}
	digest, length, err := finish(part, out)
	if err != nil {
		return engine.Artifact{}, err
	}
	return engine.Artifact{Path: out, Format: q.Format(), Digest: digest, Length: length, Made: "qemu-img " + version}, nil
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
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	var missing *exec.Error
	if errors.As(err, &missing) || errors.Is(err, fs.ErrNotExist) {
		return nil, fault.Hint(fault.Newf(fault.Blocked, fault.Unsupported, "%s: %w", tool, err), "install qemu-utils, or use conversion None")
	}
	if err != nil {
		lines := strings.Split(strings.TrimSpace(errs.String()), "\n")
		last := lines[len(lines)-1]
		if strings.Contains(strings.ToLower(last), "no space left") { // the tool gives no errno
			return nil, fault.Hint(fault.Newf(fault.Blocked, fault.NoSpace, "qemu-img %s: %s", args[0], last), "free room in the staging directory, then retry")
		}
		return nil, fault.Newf(fault.Transient, "ConversionFailed", "qemu-img %s: %w: %s", args[0], err, last)
	}
	return out.Bytes(), nil
}

// finish syncs the image, gives it its name, and tells its SHA-256 and length.
func finish(part, out string) (digest string, length int64, err error) {
	f, err := os.OpenFile(part, os.O_RDWR, 0)
	if err != nil {
		return "", 0, err
	}
	defer f.Close()
	if err := f.Chmod(0o600); err != nil {
		return "", 0, err
	}
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
