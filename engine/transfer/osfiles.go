package transfer

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"
)

// OS is the operating system's file system. Images are written and read past the page cache where it allows that.
var OS Files = osFiles{}

type osFiles struct{}

func (osFiles) Open(path string, create bool) (File, error) {
	flags := os.O_RDWR | unix.O_NOFOLLOW
	if create {
		flags |= os.O_CREATE
		if err := makeDir(filepath.Dir(path)); err != nil {
			return nil, err
		}
	}
	f, err := os.OpenFile(path, flags, 0o600)
	if err != nil {
		return nil, err
	}
	o := &osFile{cached: f}
	// A file system that has no direct I/O refuses here (tmpfs) or at the first write.
	if direct, err := os.OpenFile(path, os.O_RDWR|unix.O_NOFOLLOW|unix.O_DIRECT, 0); err == nil {
		o.direct = direct
		o.useDirect.Store(true)
	}
	return o, nil
}

// makeDir makes a folder, and those above it, and makes their names durable.
func makeDir(dir string) error {
	if _, err := os.Stat(dir); err == nil {
		return nil
	}
	above := filepath.Dir(dir)
	if err := makeDir(above); err != nil {
		return err
	}
	if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return osFiles{}.SyncDir(above)
}

func (osFiles) Size(path string) (int64, error) {
	info, err := os.Lstat(path)
	if err != nil {
		return 0, err
	}
	if !info.Mode().IsRegular() {
		return 0, fmt.Errorf("%s is not a regular file", path)
	}
	return info.Size(), nil
}

func (osFiles) Rename(from, to string) error { return os.Rename(from, to) }

func (osFiles) Remove(path string) error {
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

func (osFiles) SyncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	return d.Sync()
}

func (osFiles) Free(dir string) (int64, error) {
	var st unix.Statfs_t
	if err := unix.Statfs(dir, &st); err != nil {
		return 0, &fs.PathError{Op: "statfs", Path: dir, Err: err}
	}
	return int64(st.Bavail) * st.Bsize, nil
}

// osFile is one file opened twice: aligned blocks go past the page cache, the short end of an image cannot.
type osFile struct {
	cached    *os.File
	direct    *os.File // nil where refused
	useDirect atomic.Bool
}

const alignment = 4096

func aligned(p []byte, off int64) bool {
	return len(p) > 0 && len(p)%alignment == 0 && off%alignment == 0 && uintptr(unsafe.Pointer(unsafe.SliceData(p)))%alignment == 0
}

func (o *osFile) WriteAt(p []byte, off int64) (int, error) {
	if o.useDirect.Load() && aligned(p, off) {
		n, err := o.direct.WriteAt(p, off)
		if !errors.Is(err, unix.EINVAL) {
			return n, err
		}
		o.useDirect.Store(false)
	}
	return o.cached.WriteAt(p, off)
}

func (o *osFile) ReadAt(p []byte, off int64) (int, error) {
	if o.useDirect.Load() && aligned(p, off) {
		n, err := o.direct.ReadAt(p, off)
		if !errors.Is(err, unix.EINVAL) {
			return n, err
		}
		o.useDirect.Store(false)
	}
	return o.cached.ReadAt(p, off)
}

func (o *osFile) Truncate(size int64) error { return o.cached.Truncate(size) }

func (o *osFile) Punch(off, length int64) error {
	const mode = unix.FALLOC_FL_PUNCH_HOLE | unix.FALLOC_FL_KEEP_SIZE
	err := unix.Fallocate(int(o.cached.Fd()), mode, off, length)
	if !errors.Is(err, unix.EOPNOTSUPP) && !errors.Is(err, unix.ENOSYS) {
		if err != nil {
			return &fs.PathError{Op: "punch", Path: o.cached.Name(), Err: err}
		}
		return nil
	}
	for end := off + length; off < end; {
		start, stop, err := o.Data(off)
		if errors.Is(err, io.EOF) || err == nil && start >= end {
			return nil
		}
		if err != nil {
			return err
		}
		n := min(stop, end, start+int64(len(zeros))) - start
		if _, err := o.cached.WriteAt(zeros[:n], start); err != nil {
			return err
		}
		off = start + n
	}
	return nil
}

func (o *osFile) Sync() error {
	for {
		err := unix.Fdatasync(int(o.cached.Fd()))
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil {
			return &fs.PathError{Op: "sync", Path: o.cached.Name(), Err: err}
		}
		return nil
	}
}

func (o *osFile) Data(off int64) (start, end int64, err error) {
	fd := int(o.cached.Fd())
	start, err = unix.Seek(fd, off, unix.SEEK_DATA)
	switch {
	case errors.Is(err, unix.ENXIO):
		return 0, 0, io.EOF
	case err != nil: // not told: all may be data
		info, err := o.cached.Stat()
		if err != nil {
			return 0, 0, err
		}
		if off >= info.Size() {
			return 0, 0, io.EOF
		}
		return off, info.Size(), nil
	}
	end, err = unix.Seek(fd, start, unix.SEEK_HOLE)
	if err != nil {
		return 0, 0, &fs.PathError{Op: "seek hole", Path: o.cached.Name(), Err: err}
	}
	return start, end, nil
}

func (o *osFile) Close() error {
	err := o.cached.Close()
	if o.direct != nil {
		err = errors.Join(err, o.direct.Close())
	}
	return err
}
