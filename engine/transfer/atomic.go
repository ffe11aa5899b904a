package transfer

import (
	"fmt"
	"io"

	"landfall/engine/boundary"
)

// WriteFile replaces a small file, 0600, so that after any crash there is the old or the new, whole.
func WriteFile(files Files, path string, data []byte) (err error) {
	if files == nil {
		files = OS
	}
	temp := path + ".new"
	if err := files.Remove(temp); err != nil { // of a run that was killed
		return fmt.Errorf("write %s: %w", path, err)
	}
	boundary.Cross(boundary.Create, temp)
	f, err := files.Open(temp, true)
	boundary.Cross(boundary.Create, temp)
	if err != nil {
		return diskFault(files, "open", temp, int64(len(data)), err)
	}
	_, err = f.WriteAt(data, 0)
	if err == nil {
		err = syncFile(f, temp)
	}
	if closed := f.Close(); err == nil {
		err = closed
	}
	if err != nil {
		_ = files.Remove(temp) // it may lie there; the next try removes it
		return diskFault(files, "write", temp, int64(len(data)), err)
	}
	return publish(files, temp, path)
}

// ReadFile reads a small file whole.
func ReadFile(files Files, path string) ([]byte, error) {
	if files == nil {
		files = OS
	}
	size, err := files.Size(path)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	f, err := files.Open(path, false)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	defer f.Close()
	data := make([]byte, size)
	if _, err := io.ReadFull(io.NewSectionReader(f, 0, size), data); err != nil {
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	return data, nil
}
