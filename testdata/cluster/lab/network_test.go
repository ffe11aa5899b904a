package lab

import (
	"io"
	"net"
	"os"
	"os/exec"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

func mountTmpfs(at string) error { return unix.Mount("tmpfs", at, "tmpfs", 0, "size=1m") }

// TestMain lets the test binary be what Enter runs in the lab's network.
func TestMain(m *testing.M) {
	if os.Getenv("LAB_TEST_ENTER") != "" {
		l, err := Open(io.Discard)
		if err == nil {
			err = l.Enter([]string{"ls", "/sys/fs/cgroup", "/proc/self/net/dev_snmp6"}, nil)
		}
		os.Stderr.WriteString(err.Error())
		os.Exit(1)
	}
	os.Exit(m.Run())
}

func TestNetworkOfItsOwn(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root may make a network")
	}
	l := open(t)
	before, err := net.Interfaces()
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := l.MakeNetwork(); err != nil {
			t.Fatal(err)
		}
	}
	if after, err := net.Interfaces(); err != nil || len(after) != len(before) {
		t.Errorf("this process sees %v after %v (%v)", after, before, err)
	}
	c := exec.Command("/proc/self/exe")
	c.Env = append(os.Environ(), "LAB_TEST_ENTER=1")
	out, err := c.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for _, i := range before {
		if i.Name != "lo" && strings.Contains(string(out), i.Name) {
			t.Errorf("the lab's network has %s of the machine: %s", i.Name, out)
		}
	}
	if !strings.Contains(string(out), "memory") && !strings.Contains(string(out), "cgroup.controllers") {
		t.Errorf("control groups are hidden: %s", out)
	}
	if err := l.Down(); err != nil {
		t.Fatal(err)
	}
	if l.HasNetwork() {
		t.Error("the network is there after down")
	}
}
