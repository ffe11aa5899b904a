package store_test

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"landfall/store"
)

func lockUntilKilled(dir string) error {
	l, err := store.LockEngine(dir)
	if err != nil {
		return err
	}
	defer func() { _ = l.Unlock() }()
	// A child that lives on must not keep the lock.
	sleep := exec.Command("sleep", "20")
	if err := sleep.Start(); err != nil {
		return err
	}
	fmt.Println(sleep.Process.Pid)
	time.Sleep(time.Minute)
	return nil
}

func TestOneEngine(t *testing.T) {
	dir := t.TempDir()
	if store.EngineAlive(dir) {
		t.Error("an engine is alive where none ever was")
	}
	p := child(t, "lock", dir)
	var orphan int
	if _, err := fmt.Sscan(p.next(t), &orphan); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if c, err := os.FindProcess(orphan); err == nil {
			_ = c.Kill()
		}
	})
	if !store.EngineAlive(dir) {
		t.Error("the engine is not seen")
	}
	host := must(os.Hostname())(t)
	_, err := store.LockEngine(dir)
	if err == nil || !strings.Contains(err.Error(), fmt.Sprintf("process %d on %s since", p.Process.Pid, host)) {
		t.Errorf("the second engine is told: %v", err)
	}
	if h, ok := store.EngineHolder(dir); !ok || h.PID != p.Process.Pid {
		t.Errorf("holder: %v, %v", h, ok)
	}
	if err := p.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = p.Wait()
	if store.EngineAlive(dir) {
		t.Error("a killed engine is alive")
	}
	l := must(store.LockEngine(dir))(t)
	if h, _ := store.EngineHolder(dir); h.PID != os.Getpid() {
		t.Errorf("the lock is signed by %v", h)
	}
	if _, err := store.LockEngine(dir); err == nil {
		t.Error("locked twice")
	}
	if st := must(os.Stat(dir + "/engine.lock"))(t); st.Mode().Perm() != 0o600 {
		t.Errorf("mode of the lock file: %v", st.Mode())
	}
	if err := l.Unlock(); err != nil {
		t.Fatal(err)
	}
	if store.EngineAlive(dir) {
		t.Error("alive after Unlock")
	}
}

// To look whether an engine is alive must not keep one from starting.
func TestLookingDoesNotDisturb(t *testing.T) {
	dir := t.TempDir()
	stop := make(chan struct{})
	var wg sync.WaitGroup
	defer wg.Wait()
	defer close(stop)
	for range 4 {
		wg.Go(func() {
			for {
				select {
				case <-stop:
					return
				case <-time.After(time.Millisecond):
					store.EngineAlive(dir)
				}
			}
		})
	}
	for range 100 {
		l, err := store.LockEngine(dir)
		if err != nil {
			t.Fatal(err)
		}
		if err := l.Unlock(); err != nil {
			t.Fatal(err)
		}
	}
}
