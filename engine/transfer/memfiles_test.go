package transfer_test

import (
	"io"
	"io/fs"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"

	"golang.org/x/sys/unix"

	"landfall/engine/transfer"
)

// memFiles is a file system in memory that knows what would survive a power loss: only what was synced, and of the
// rest any part, torn at blocks of 4 KiB.
type memFiles struct {
	mu    sync.Mutex
	names map[string]*inode // as programs see them
	safe  map[string]*inode // as the disk has them
	log   []map[string]*inode
	quota int64 // bytes of data that may be written; 0: no bound
	used  int64
}

type inode struct {
	now  []byte
	safe []byte
	todo []change // since the last sync
	read int64    // bytes given
}

// change is one that is not synced: bytes at an offset, or with data nil the new size.
type change struct {
	off  int64
	data []byte
	size int64
}

const block = 4096

func newMemFiles() *memFiles {
	return &memFiles{names: map[string]*inode{}, safe: map[string]*inode{}}
}

func (m *memFiles) Open(path string, create bool) (transfer.File, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	n, ok := m.names[path]
	if !ok && !create {
		return nil, &fs.PathError{Op: "open", Path: path, Err: fs.ErrNotExist}
	}
	if !ok {
		n = &inode{}
		m.names[path] = n
		m.changed()
	}
	return &memFile{m, n}, nil
}

// changed notes that names changed; the disk may have any state since the last sync of the folder.
func (m *memFiles) changed() { m.log = append(m.log, maps.Clone(m.names)) }

func (m *memFiles) Size(path string) (int64, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	n, ok := m.names[path]
	if !ok {
		return 0, &fs.PathError{Op: "stat", Path: path, Err: fs.ErrNotExist}
	}
	return int64(len(n.now)), nil
}

func (m *memFiles) Rename(from, to string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	n, ok := m.names[from]
	if !ok {
		return &fs.PathError{Op: "rename", Path: from, Err: fs.ErrNotExist}
	}
	delete(m.names, from)
	m.names[to] = n
	m.changed()
	return nil
}

func (m *memFiles) Remove(path string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.names, path)
	m.changed()
	return nil
}

func (m *memFiles) SyncDir(string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.safe, m.log = maps.Clone(m.names), nil
	return nil
}

func (m *memFiles) Free(string) (int64, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return max(0, m.quota-m.used), nil
}

// lose gives the file system as a power loss now could leave it.
func (m *memFiles) lose(random *rand.Rand) *memFiles {
	m.mu.Lock()
	defer m.mu.Unlock()
	names := m.safe
	if n := random.IntN(len(m.log) + 1); n > 0 {
		names = m.log[n-1]
	}
	out := newMemFiles()
	for path, n := range names {
		b := slices.Clone(n.safe)
		for _, c := range n.todo {
			if c.data == nil {
				if random.IntN(2) == 0 {
					b = resize(b, c.size)
				}
				continue
			}
			for at := 0; at < len(c.data); at += block {
				if random.IntN(2) == 0 {
					end := min(at+block, len(c.data))
					if need := c.off + int64(end); need > int64(len(b)) {
						b = resize(b, need)
					}
					copy(b[c.off+int64(at):], c.data[at:end])
				}
			}
		}
		out.names[path] = &inode{now: b, safe: slices.Clone(b)}
	}
	out.safe = maps.Clone(out.names)
	return out
}

func resize(b []byte, size int64) []byte {
	if int64(len(b)) >= size {
		return b[:size]
	}
	return append(b, make([]byte, size-int64(len(b)))...)
}

type memFile struct {
	m *memFiles
	n *inode
}

func (f *memFile) ReadAt(p []byte, off int64) (int, error) {
	f.m.mu.Lock()
	defer f.m.mu.Unlock()
	if off >= int64(len(f.n.now)) {
		return 0, io.EOF
	}
	n := copy(p, f.n.now[off:])
	f.n.read += int64(n)
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}

func (f *memFile) WriteAt(p []byte, off int64) (int, error) {
	f.m.mu.Lock()
	defer f.m.mu.Unlock()
	if f.m.used += int64(len(p)); f.m.quota > 0 && f.m.used > f.m.quota {
		return 0, &fs.PathError{Op: "write", Path: "image", Err: unix.ENOSPC}
	}
	f.put(off, slices.Clone(p))
	return len(p), nil
}

func (f *memFile) put(off int64, data []byte) {
	if end := off + int64(len(data)); end > int64(len(f.n.now)) {
		f.n.now = resize(f.n.now, end)
	}
	copy(f.n.now[off:], data)
	f.n.todo = append(f.n.todo, change{off: off, data: data})
}

func (f *memFile) Truncate(size int64) error {
	f.m.mu.Lock()
	defer f.m.mu.Unlock()
	f.n.now = resize(f.n.now, size)
	f.n.todo = append(f.n.todo, change{size: size})
	return nil
}

func (f *memFile) Punch(off, length int64) error {
	f.m.mu.Lock()
	defer f.m.mu.Unlock()
	if off < int64(len(f.n.now)) {
		f.put(off, make([]byte, min(length, int64(len(f.n.now))-off)))
	}
	return nil
}

func (f *memFile) Sync() error {
	f.m.mu.Lock()
	defer f.m.mu.Unlock()
	for _, c := range f.n.todo {
		if c.data == nil {
			f.n.safe = resize(f.n.safe, c.size)
			continue
		}
		if end := c.off + int64(len(c.data)); end > int64(len(f.n.safe)) {
			f.n.safe = resize(f.n.safe, end)
		}
		copy(f.n.safe[c.off:], c.data)
	}
	f.n.todo = nil
	return nil
}

func (f *memFile) Data(off int64) (start, end int64, err error) {
	f.m.mu.Lock()
	defer f.m.mu.Unlock()
	if off >= int64(len(f.n.now)) {
		return 0, 0, io.EOF
	}
	return off, int64(len(f.n.now)), nil
}

func (f *memFile) Close() error { return nil }
