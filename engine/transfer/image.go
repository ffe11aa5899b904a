package transfer

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"landfall/engine/boundary"
)

// partial is what an image is called until it is whole.
func partial(path string) string { return path + ".partial" }

// image is a raw image that is being written, sparse, under its partial name.
type image struct {
	files  Files
	final  string
	path   string
	file   File
	blocks blockFile
	rest   func() int64 // bytes that may still have to be written
}

// openImage opens the partial image or makes it. Wherever the ledger does not vouch for its bytes it reads as zeros
// afterwards: what a killed run wrote and could not record must not shine through where the source has zeros.
func openImage(files Files, final string, known *Digests) (*image, error) {
	m := &image{files: files, final: final, path: partial(final), rest: func() int64 { return 0 }}
	size, err := files.Size(m.path)
	fresh := errors.Is(err, fs.ErrNotExist)
	if err != nil && !fresh {
		return nil, fmt.Errorf("look at %s: %w", m.path, err)
	}
	if fresh {
		boundary.Cross(boundary.Create, m.path)
	}
	if m.file, err = files.Open(m.path, fresh); err != nil {
		return nil, m.fault("open", err)
	}
	if fresh {
		boundary.Cross(boundary.Create, m.path)
	}
	if err := m.prepare(known, size); err != nil {
		_ = m.file.Close()
		return nil, err
	}
	m.blocks = openBlocks(files, final)
	return m, nil
}

func (m *image) prepare(known *Digests, size int64) error {
	if size > 0 {
		for _, r := range known.missing() {
			from, to := r.first*ChunkSize, min(r.end*ChunkSize, known.size)
			if err := m.file.Punch(from, to-from); err != nil {
				return m.fault("clear", err)
			}
		}
	}
	if size != known.size {
		if err := m.file.Truncate(known.size); err != nil {
			return m.fault("set the size of", err)
		}
	}
	if err := syncFile(m.file, m.path); err != nil {
		return m.fault("sync", err)
	}
	// The name must last before a ledger vouches for what is behind it.
	return syncDir(m.files, m.path)
}

func (m *image) close() {
	_ = m.file.Close() // what matters was synced
	m.blocks.close()
}

// write gives the system's own error, so that it can be classed when it is known what is still to come.
func (m *image) write(p []byte, off int64) error {
	boundary.Cross(boundary.Chunk, m.path)
	_, err := m.file.WriteAt(p, off)
	boundary.Cross(boundary.Chunk, m.path)
	return err
}

// punch makes an area read as zeros.
func (m *image) punch(off, length int64) error {
	boundary.Cross(boundary.Chunk, m.path)
	err := m.file.Punch(off, length)
	boundary.Cross(boundary.Chunk, m.path)
	return err
}

// publish gives the whole image its final name.
func (m *image) publish() error {
	if err := syncFile(m.file, m.path); err != nil {
		return m.fault("sync", err)
	}
	return publish(m.files, m.path, m.final)
}

func (m *image) fault(op string, err error) error {
	return diskFault(m.files, op, m.path, m.rest(), err)
}

// publish renames a file whose bytes are synced, durably: afterwards there is the old or the new, never a mixture.
func publish(files Files, from, to string) error {
	boundary.Cross(boundary.Rename, to)
	err := files.Rename(from, to)
	boundary.Cross(boundary.Rename, to)
	if err != nil {
		return diskFault(files, "rename", from, 0, err)
	}
	return syncDir(files, to)
}

// syncDir makes the name of path durable.
func syncDir(files Files, path string) error {
	dir := filepath.Dir(path)
	boundary.Cross(boundary.Sync, dir)
	err := files.SyncDir(dir)
	boundary.Cross(boundary.Sync, dir)
	if err != nil {
		return diskFault(files, "sync", dir, 0, err)
	}
	return nil
}
