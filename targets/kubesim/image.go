package kubesim

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"syscall"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
	"github.com/ulikunitz/xz"
)

// errTooLarge means that an image does not fit its volume; CDI tells it from other failures.
var errTooLarge = errors.New("A larger PVC is required")

// errNoRoom is what the file system says of a raw image that does not fit: nothing tells its size before.
var errNoRoom = &os.PathError{Op: "write", Path: "/data/disk.img", Err: syscall.ENOSPC}

func tooLarge(image, available int64) error {
	return fmt.Errorf("virtual image size %d is larger than the reported available storage %d. %w", image, available, errTooLarge)
}

var (
	magicGzip  = []byte{0x1f, 0x8b}
	magicXZ    = []byte{0xfd, '7', 'z', 'X', 'Z', 0}
	magicZstd  = []byte{0x28, 0xb5, 0x2f, 0xfd}
	magicQcow2 = []byte{'Q', 'F', 'I', 0xfb}
	magicVMDK  = []byte{'K', 'D', 'M', 'V'}
)

// unpacked takes the compression off a stream, told by its first bytes.
func unpacked(r io.Reader) (*bufio.Reader, func(), error) {
	in := bufio.NewReaderSize(r, 1<<20)
	head, err := in.Peek(8)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, nil, fmt.Errorf("unable to read the image header: %w", err)
	}
	nothing := func() {}
	switch {
	case bytes.HasPrefix(head, magicGzip):
		z, err := gzip.NewReader(in)
		if err != nil {
			return nil, nil, fmt.Errorf("could not create gzip reader: %w", err)
		}
		return bufio.NewReaderSize(z, 1<<20), nothing, nil
	case bytes.HasPrefix(head, magicXZ):
		z, err := xz.NewReader(in)
		if err != nil {
			return nil, nil, fmt.Errorf("could not create xz reader: %w", err)
		}
		return bufio.NewReaderSize(z, 1<<20), nothing, nil
	case bytes.HasPrefix(head, magicZstd):
		z, err := zstd.NewReader(in, zstd.WithDecoderConcurrency(1))
		if err != nil {
			return nil, nil, fmt.Errorf("could not create zst reader: %w", err)
		}
		return bufio.NewReaderSize(z, 1<<20), z.Close, nil
	}
	return in, nothing, nil
}

// receive writes the image in a stream to the file, raw and sparse, and returns its virtual size. What the file held is
// gone first. A format that is not raw goes through the scratch file and qemu-img, as in CDI.
func receive(ctx context.Context, r io.Reader, file, scratchFile string, usable int64) (int64, error) {
	in, closeReader, err := unpacked(r)
	if err != nil {
		return 0, err
	}
	defer closeReader()
	head, err := in.Peek(4)
	if err != nil && !errors.Is(err, io.EOF) {
		return 0, fmt.Errorf("unable to read the image header: %w", err)
	}
	if format := formatOf(head); format != "raw" {
		defer os.Remove(scratchFile)
		if _, err := writeSparse(in, scratchFile, 1<<62); err != nil {
			return 0, err
		}
		return convert(ctx, format, scratchFile, file, usable)
	}
	size, err := writeSparse(in, file, usable)
	if err != nil {
		return size, fmt.Errorf("Unable to transfer source data to target file: %w", err)
	}
	return size, nil
}

func formatOf(head []byte) string {
	switch {
	case bytes.Equal(head, magicQcow2):
		return "qcow2"
	case bytes.Equal(head, magicVMDK):
		return "vmdk"
	}
	return "raw"
}

var zeros [64 << 10]byte

// writeSparse copies to a file that is emptied first, leaving holes where the stream has zeros.
func writeSparse(r io.Reader, file string, limit int64) (int64, error) {
	f, err := os.OpenFile(file, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return 0, fmt.Errorf("could not open file %q: %w", file, err)
	}
	defer f.Close()
	var off int64
	buf := make([]byte, len(zeros))
	for {
		n, err := fill(r, buf)
		if off+int64(n) > limit {
			return off, fmt.Errorf("unable to write to file: %w", errNoRoom)
		}
		if n > 0 && !bytes.Equal(buf[:n], zeros[:n]) {
			if _, werr := f.WriteAt(buf[:n], off); werr != nil {
				return off, fmt.Errorf("unable to write to file: %w", werr)
			}
		}
		off += int64(n)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return off, fmt.Errorf("unable to write to file: %w", err)
		}
	}
	if err := f.Truncate(off); err != nil {
		return off, fmt.Errorf("unable to write to file: %w", err)
	}
	return off, f.Close()
}

// fill reads until buf is full. Unlike io.ReadFull it leaves a clean end and a cut stream told apart.
func fill(r io.Reader, buf []byte) (n int, err error) {
	for n < len(buf) && err == nil {
		var m int
		m, err = r.Read(buf[n:])
		n += m
	}
	return n, err
}

// convert makes a raw image of one in another format.
func convert(ctx context.Context, format, from, to string, usable int64) (int64, error) {
	out, err := exec.CommandContext(ctx, "qemu-img", "info", "--output=json", "-f", format, from).Output()
	if err != nil {
		return 0, fmt.Errorf("Unable to convert source data to target format: qemu-img info: %w", err)
	}
	var info struct {
		VirtualSize int64  `json:"virtual-size"`
		Backing     string `json:"backing-filename"`
	}
	if err := json.Unmarshal(out, &info); err != nil {
		return 0, fmt.Errorf("Unable to convert source data to target format: qemu-img info: %w", err)
	}
	if info.Backing != "" {
		return 0, fmt.Errorf("Unable to convert source data to target format: Image %s is invalid because it has invalid backing file %s", from, info.Backing)
	}
	if info.VirtualSize > usable {
		return 0, fmt.Errorf("Unable to convert source data to target format: %w", tooLarge(info.VirtualSize, usable))
	}
	if out, err := exec.CommandContext(ctx, "qemu-img", "convert", "-f", format, "-O", "raw", "-S", "4k", from, to).CombinedOutput(); err != nil {
		return 0, fmt.Errorf("Unable to convert source data to target format: could not convert image to raw: %w: %s", err, out)
	}
	return info.VirtualSize, nil
}

// grow brings the file to the size that the guest sees.
func grow(file string, v Volume, requested, image int64) error {
	const block = 1 << 20
	size := v.Capacity
	if v.Mode != "Block" {
		size = max(image, min(v.Usable, requested)/block*block)
	}
	if st, err := os.Stat(file); err != nil || st.Size() >= size {
		return err
	}
	return os.Truncate(file, size)
}
