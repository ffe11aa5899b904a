// Package lab keeps what the cluster lab is while it runs: its folder, its network namespace, its processes and the list
// of what has to be put back. A layer starts processes and makes files through it and knows no other layer. It must not
// know what a process is for.
//
// Everything lies in one folder outside the tree. Nothing is remembered in memory alone: a lab whose command was killed is
// taken up, or taken down, by the next one.
package lab

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/gofrs/flock"
)

// Lab is the lab in one folder.
type Lab struct {
	Dir string    // outside the tree; kept between runs
	Out io.Writer // progress, for a person

	lock *flock.Flock
}

// Open prepares the folder: $LANDFALL_CLUSTER_DIR, else landfall/cluster in the user's cache folder.
func Open(out io.Writer) (*Lab, error) {
	dir := os.Getenv("LANDFALL_CLUSTER_DIR")
	if dir == "" {
		cache, err := os.UserCacheDir()
		if err != nil {
			return nil, fmt.Errorf("open the lab: %w", err)
		}
		dir = filepath.Join(cache, "landfall", "cluster")
	}
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, fmt.Errorf("open the lab: %w", err)
	}
	l := &Lab{Dir: dir, Out: out}
	for _, d := range []string{l.Bin(), l.Path("processes"), l.Path("logs")} {
		if err := os.MkdirAll(d, 0o700); err != nil {
			return nil, fmt.Errorf("open the lab: %w", err)
		}
	}
	return l, nil
}

// Bin is where built programs are kept.
func (l *Lab) Bin() string { return filepath.Join(l.Dir, "bin") }

// Path is a place in the folder of the running lab, which is gone after down.
func (l *Lab) Path(elem ...string) string {
	return filepath.Join(append([]string{l.Dir, "run"}, elem...)...)
}

// Kubeconfig is the administrator's.
func (l *Lab) Kubeconfig() string { return l.Path("kubeconfig") }

func (l *Lab) lockFile() string { return filepath.Join(l.Dir, "lock") }

// Lock waits until no other command changes the lab. The lock ends with Unlock, or with the process.
func (l *Lab) Lock(ctx context.Context) error {
	l.lock = flock.New(l.lockFile())
	ok, err := l.lock.TryLock()
	if err == nil && !ok {
		l.Say("another command works on the lab; waiting for it")
		_, err = l.lock.TryLockContext(ctx, 200*time.Millisecond)
	}
	if err != nil {
		return fmt.Errorf("lock the lab in %s: %w", l.Dir, err)
	}
	return nil
}

// Unlock lets others change the lab.
func (l *Lab) Unlock() { _ = l.lock.Unlock() }

// Self is a copy of this program that stays when the one that was run is gone, for the lab's own daemons.
func (l *Lab) Self() (string, error) {
	path := l.Path("cluster")
	self, err := os.Executable()
	if err != nil || self == path {
		return path, err
	}
	b, err := os.ReadFile(self)
	if err != nil {
		return "", err
	}
	if old, err := os.ReadFile(path); err == nil && bytes.Equal(old, b) {
		return path, nil
	}
	unready := fmt.Sprintf("%s.%d", path, os.Getpid())
	if err := os.WriteFile(unready, b, 0o700); err != nil {
		return "", err
	}
	return path, os.Rename(unready, path)
}

// Say prints a line of progress.
func (l *Lab) Say(format string, args ...any) { fmt.Fprintf(l.Out, format+"\n", args...) }

// Until looks again and again until it is so; what is the thing that is waited for.
func (l *Lab) Until(ctx context.Context, what string, most time.Duration, look func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, most)
	defer cancel()
	begun, last := time.Now(), error(nil)
	for {
		if last = look(ctx); last == nil {
			l.Say("%s: after %.1f s", what, time.Since(begun).Seconds())
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("waited %s for %s: %w", most, what, last)
		case <-time.After(250 * time.Millisecond):
		}
	}
}
