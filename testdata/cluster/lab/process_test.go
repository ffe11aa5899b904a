package lab

import (
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"
)

// open gives a lab in a folder of the test, and ends what runs in it.
func open(t *testing.T) *Lab {
	t.Helper()
	t.Setenv("LANDFALL_CLUSTER_DIR", t.TempDir())
	l, err := Open(io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.Down(); err != nil {
			t.Error(err)
		}
	})
	return l
}

func sleeper(name string, more ...string) Process {
	return Process{Name: name, Argv: append([]string{"/bin/sh", "-c", "sleep 60; :"}, more...)}
}

func started(t *testing.T, l *Lab, p Process) Process {
	t.Helper()
	if err := l.Start(p); err != nil {
		t.Fatal(err)
	}
	p, err := l.Process(p.Name)
	if err != nil || !p.Running() {
		t.Fatalf("%s does not run: %+v, %v", p.Name, p, err)
	}
	return p
}

func TestStartAgain(t *testing.T) {
	l := open(t)
	first := started(t, l, sleeper("one"))
	if again := started(t, l, sleeper("one")); again.PID != first.PID {
		t.Errorf("the same process was started again: %d, then %d", first.PID, again.PID)
	}
	if other := started(t, l, sleeper("one", "otherwise")); other.PID == first.PID || first.Running() {
		t.Errorf("one with other arguments did not take its place: %+v after %+v", other, first)
	}
}

// A lab is taken up by a command that has not started it.
func TestStopByAnother(t *testing.T) {
	l := open(t)
	p := started(t, l, sleeper("one"))
	another, err := Open(io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := another.Stop("one"); err != nil {
			t.Fatal(err)
		}
	}
	if p.Running() {
		t.Error("it runs on")
	}
}

// A recorded number that is another process's by now is nobody of the lab's.
func TestRecycledPID(t *testing.T) {
	l := open(t)
	bystander := exec.Command("sleep", "60")
	if err := bystander.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = bystander.Process.Kill(); _ = bystander.Wait() }()
	at, err := born(bystander.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	ticks, err := strconv.Atoi(at)
	if err != nil {
		t.Fatal(err)
	}
	b, err := json.Marshal(Process{Name: "old", Argv: []string{"old"}, PID: bystander.Process.Pid, Born: strconv.Itoa(ticks - 1)})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(l.record("old"), b, 0o600); err != nil {
		t.Fatal(err)
	}
	if dead, err := l.Dead(); err != nil || len(dead) != 1 || dead[0] != "old" {
		t.Errorf("dead are %v, %v", dead, err)
	}
	if err := l.Stop("old"); err != nil {
		t.Fatal(err)
	}
	if _, err := born(bystander.Process.Pid); err != nil {
		t.Error("the bystander was ended")
	}
}

func TestBornOfOddNames(t *testing.T) {
	odd := t.TempDir() + "/a) Z (b"
	b, err := os.ReadFile("/bin/sleep")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(odd, b, 0o700); err != nil {
		t.Fatal(err)
	}
	c := exec.Command(odd, "60")
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	if at, err := born(c.Process.Pid); err != nil || at == "0" {
		t.Errorf("born %q, %v", at, err)
	}
	_ = c.Process.Kill()
	for end := time.Now().Add(5 * time.Second); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		if _, err = born(c.Process.Pid); err != nil {
			break
		}
	}
	if err == nil {
		t.Error("one that has ended and was not waited for counts as living")
	}
	_ = c.Wait()
}

func TestPause(t *testing.T) {
	l := open(t)
	p := started(t, l, sleeper("one"))
	seen := make(chan string)
	go func() {
		for end := time.Now().Add(5 * time.Second); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
			if b, err := os.ReadFile("/proc/" + strconv.Itoa(p.PID) + "/stat"); err == nil && strings.Contains(string(b), ") T ") {
				seen <- "stopped"
				return
			}
		}
		seen <- "never stopped"
	}()
	if err := l.Pause(t.Context(), "one", 200*time.Millisecond); err != nil {
		t.Fatal(err)
	}
	if s := <-seen; s != "stopped" {
		t.Error(s)
	}
	if b, err := os.ReadFile("/proc/" + strconv.Itoa(p.PID) + "/stat"); err != nil || strings.Contains(string(b), ") T ") {
		t.Errorf("it does not go on: %s, %v", b, err)
	}
}
