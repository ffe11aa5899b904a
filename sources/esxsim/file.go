package esxsim

import (
	"fmt"
	"os"
	"path/filepath"
)

// writeFile replaces a file: old or new, never mixed. It is not synced: what
// describes a VM is written again at every start.
func writeFile(name string, b []byte) error { return replaceFile(name, b, false) }

// keepFile is writeFile for what must outlive the machine too.
func keepFile(name string, b []byte) error { return replaceFile(name, b, true) }

func replaceFile(name string, b []byte, sync bool) error {
	f, err := os.CreateTemp(filepath.Dir(name), ".new-*")
	if err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	defer os.Remove(f.Name())
	_, err = f.Write(b)
	if err == nil && sync {
		err = f.Sync()
	}
	if e := f.Close(); err == nil {
		err = e
	}
	if err == nil {
		err = os.Rename(f.Name(), name)
	}
	if err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	return nil
}
