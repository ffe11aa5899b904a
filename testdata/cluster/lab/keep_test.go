package lab

import (
	"os"
	"syscall"
	"testing"
	"time"
)

// What ended is started again, but not at once, and not while a command works on the lab.
func TestKeep(t *testing.T) {
	l := open(t)
	p := started(t, l, sleeper("one"))
	if err := syscall.Kill(p.PID, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	for p.Running() {
		time.Sleep(time.Millisecond)
	}
	kept := func() bool {
		t.Helper()
		if err := l.keep(); err != nil {
			t.Fatal(err)
		}
		now, err := l.Process("one")
		return err == nil && now.Running()
	}
	if kept() {
		t.Error("it was started again at once")
	}
	old := time.Now().Add(-2 * rest)
	if err := os.Chtimes(l.record("one"), old, old); err != nil {
		t.Fatal(err)
	}
	another := &Lab{Dir: l.Dir, Out: l.Out}
	if err := another.Lock(t.Context()); err != nil {
		t.Fatal(err)
	}
	if kept() {
		t.Error("it was started again under another's hands")
	}
	another.Unlock()
	if !kept() {
		t.Error("it was not started again")
	}
}
