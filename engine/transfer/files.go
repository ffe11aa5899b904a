package transfer

import "io"

// Files is the part of a file system that a copy needs. Errors are those of package os.
type Files interface {
	// Open opens a file for reading and writing. With create it is made, 0600, in a folder that is made, 0700, where
	// they are not there. The name of a new file is durable only after SyncDir.
	Open(path string, create bool) (File, error)
	// Size gives a file's length; fs.ErrNotExist when there is none.
	Size(path string) (int64, error)
	Rename(from, to string) error
	// Remove deletes a file; one that is not there is success.
	Remove(path string) error
	// SyncDir makes names made, renamed and removed in a folder durable.
	SyncDir(dir string) error
	// Free gives the bytes that can still be written in a folder.
	Free(dir string) (int64, error)
}

// File is an open image. ReadAt and WriteAt may be called by several goroutines at once.
type File interface {
	io.ReaderAt
	io.WriterAt
	io.Closer
	Truncate(size int64) error
	// Punch makes an area read as zeros and gives its blocks back where that is possible.
	Punch(offset, length int64) error
	// Sync makes everything written, punched and truncated so far durable.
	Sync() error
	// Data gives the first area at or behind offset that may hold anything but zeros; io.EOF when there is none.
	Data(offset int64) (start, end int64, err error)
}
