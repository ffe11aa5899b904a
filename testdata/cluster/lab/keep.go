package lab

import (
	"context"
	"errors"
	"os"
	"time"

	"github.com/gofrs/flock"
)

// rest is how long something must have been started before it is started again.
const rest = 5 * time.Second

// Keep starts again what ends, as a kubelet does: KubeVirt's programs end by themselves when the API server does, or when
// CDI's kinds come or go. While a command works on the lab it looks on.
func (l *Lab) Keep(ctx context.Context) error {
	for {
		if err := l.keep(); err != nil {
			l.Say("%v", err)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(time.Second):
		}
	}
}

func (l *Lab) keep() error {
	l.lock = flock.New(l.lockFile())
	if ok, err := l.lock.TryLock(); err != nil || !ok {
		return err
	}
	defer l.Unlock()
	dead, err := l.Dead()
	for _, name := range dead {
		if s, e := os.Stat(l.record(name)); e == nil && time.Since(s.ModTime()) < rest {
			continue
		}
		l.Say("%s ended and is started again", name)
		err = errors.Join(err, l.Restart(name))
	}
	return err
}
