package store

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/gofrs/flock"

	"landfall/engine/fault"
)

const lockName = "engine.lock"

// Holder is who holds the engine's lock.
type Holder struct {
	PID   int       `json:"pid"`
	Host  string    `json:"host"`
	Since time.Time `json:"since"`
}

func (h Holder) String() string {
	if h.PID == 0 {
		return "a process that has not given its name yet"
	}
	return fmt.Sprintf("process %d on %s since %s", h.PID, h.Host, h.Since.Local().Format("2006-01-02 15:04:05"))
}

// Lock makes its holder the one engine of a workspace. The kernel frees it when the process ends, however it ends.
type Lock struct{ file *flock.Flock }

// LockEngine takes the lock of the workspace in dir, which must exist, or says who has it. Keep the Lock and call Unlock
// at the end: it is freed when it is collected.
func LockEngine(dir string) (*Lock, error) {
	path := filepath.Join(dir, lockName)
	l := flock.New(path)
	// Someone who looks whether we are alive holds it for an instant.
	for end := time.Now().Add(300 * time.Millisecond); ; time.Sleep(5 * time.Millisecond) {
		ok, err := l.TryLock()
		if err != nil {
			return nil, fmt.Errorf("lock %s: %w", path, err)
		}
		if ok && same(l, path) {
			break
		}
		_ = l.Unlock()
		if time.Now().After(end) {
			h, _ := EngineHolder(dir)
			return nil, fault.Hint(fault.Newf(fault.Blocked, fault.Refused, "another engine runs in %s: %s", dir, h),
				"use that one, or stop it first: two engines never share a workspace")
		}
	}
	if err := sign(path); err != nil {
		return nil, errors.Join(err, l.Unlock())
	}
	return &Lock{l}, nil
}

// same tells whether the locked file is still the one of that name.
func same(l *flock.Flock, path string) bool {
	mine, err := l.Stat()
	if err != nil {
		return false
	}
	there, err := os.Stat(path)
	return err == nil && os.SameFile(mine, there)
}

func sign(path string) error {
	host, err := os.Hostname()
	if err != nil {
		host = "unknown host"
	}
	b, err := json.Marshal(Holder{PID: os.Getpid(), Host: host, Since: time.Now().UTC().Truncate(time.Second)})
	if err != nil {
		return err
	}
	return os.WriteFile(path, append(b, '\n'), 0o600)
}

// Unlock lets another engine in.
func (l *Lock) Unlock() error { return l.file.Unlock() }

// EngineAlive tells whether an engine holds the workspace in dir.
func EngineAlive(dir string) bool {
	l := flock.New(filepath.Join(dir, lockName), flock.SetFlag(os.O_RDONLY))
	free, err := l.TryRLock()
	if free {
		_ = l.Unlock()
	}
	return !free && err == nil
}

// EngineHolder tells who holds the workspace in dir; false where nobody does.
func EngineHolder(dir string) (Holder, bool) {
	if !EngineAlive(dir) {
		return Holder{}, false
	}
	var h Holder
	if b, err := os.ReadFile(filepath.Join(dir, lockName)); err != nil || json.Unmarshal(b, &h) != nil {
		return Holder{}, true
	}
	return h, true
}
