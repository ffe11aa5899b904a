package vsphere_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"landfall/engine/fault"
	"landfall/engine/machine"
	"landfall/sources/esxsim"
	"landfall/sources/vsphere"
)

// expect fails unless err has class and reason, and checks on the way that it tells no password.
func expect(t *testing.T, err error, class fault.Class, reason string) {
	t.Helper()
	if err == nil {
		t.Fatalf("no error, want %s %s", class, reason)
	}
	harmless(t, err)
	if fault.ClassOf(err) != class || fault.ReasonOf(err) != reason {
		t.Fatalf("got %s %s: %v, want %s %s", fault.ClassOf(err), fault.ReasonOf(err), err, class, reason)
	}
}

// A lock-out takes three failures on this host: eight migrations with one wrong password must not make it.
func TestWrongPasswordIsTriedOnce(t *testing.T) {
	sim, doc := start(t, esxsim.Config{LockAfter: 3, VMs: []esxsim.VM{{Name: "web"}}})
	t.Setenv("VSPHERE_TEST_PASSWORD", "not this one")
	dialled := func() error {
		src, err := vsphere.Dial(context.Background(), doc, vsphere.Options{})
		if err == nil {
			_ = src.Close()
		}
		return err
	}
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() { harmless(t, dialled()) })
	}
	all.Wait()
	expect(t, dialled(), fault.Blocked, fault.WrongCredentials)
	if n := sim.Counters().FailedLogins; n != 1 {
		t.Errorf("%d logins failed, want 1", n)
	}

	t.Setenv("VSPHERE_TEST_PASSWORD", password)
	if err := dialled(); err != nil {
		t.Errorf("the right password is refused too: %v", err)
	}
}

func TestPasswordChangedWhileConnected(t *testing.T) {
	sim, doc := start(t, esxsim.Config{LockAfter: 3, VMs: []esxsim.VM{{Name: "web"}}})
	src := dial(t, doc, vsphere.Options{})
	web := ref(t, src, "web")

	t.Setenv("VSPHERE_TEST_PASSWORD", "outdated")
	sim.EndSessions()
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			_, err := src.Power(context.Background(), web)
			harmless(t, err)
			if !fault.Is(err, fault.WrongCredentials) || fault.ClassOf(err) != fault.Blocked {
				t.Errorf("got %v", err)
			}
		})
	}
	all.Wait()
	_, err := src.List(context.Background())
	expect(t, err, fault.Blocked, fault.WrongCredentials)
	if n := sim.Counters().FailedLogins; n != 1 {
		t.Errorf("%d logins failed, want 1", n)
	}

	t.Setenv("VSPHERE_TEST_PASSWORD", password)
	if p, err := src.Power(context.Background(), web); err != nil || p != machine.Off {
		t.Errorf("with the right password again: %s, %v", p, err)
	}
}

func TestRefusedPasswordIsTriedAgain(t *testing.T) {
	sim, doc := start(t, esxsim.Config{})
	t.Setenv("VSPHERE_TEST_PASSWORD", "not this one either")
	at := time.Now()
	try := func(o vsphere.Options) {
		t.Helper()
		o.Now = func() time.Time { return at }
		_, err := vsphere.Dial(context.Background(), doc, o)
		expect(t, err, fault.Blocked, fault.WrongCredentials)
	}
	failures := func(want int64) {
		t.Helper()
		if n := sim.Counters().FailedLogins; n != want {
			t.Errorf("%d logins failed, want %d", n, want)
		}
	}
	try(vsphere.Options{})
	at = at.Add(14 * time.Minute)
	try(vsphere.Options{})
	failures(1)
	try(vsphere.Options{Again: true}) // a person asks
	failures(2)
	at = at.Add(16 * time.Minute) // the host has forgotten too
	try(vsphere.Options{})
	failures(3)
}

func TestPasswordThatCannotBeRead(t *testing.T) {
	sim, doc := start(t, esxsim.Config{})
	doc.Password.Env = "VSPHERE_TEST_NO_SUCH_VARIABLE"
	_, err := vsphere.Dial(context.Background(), doc, vsphere.Options{})
	expect(t, err, fault.Blocked, fault.WrongCredentials)
	if c := sim.Counters(); c.FailedLogins+c.Logins != 0 {
		t.Errorf("a login was made: %+v", c)
	}
}

// Many calls that find the session ended make one new login together.
func TestOneLoginForAll(t *testing.T) {
	sim, doc := start(t, esxsim.Config{VMs: []esxsim.VM{{Name: "web"}}})
	src := dial(t, doc, vsphere.Options{})
	web := ref(t, src, "web")
	sim.ResetCounters()
	sim.EndSessions()
	var all sync.WaitGroup
	for range 16 {
		all.Go(func() {
			if _, err := src.Power(context.Background(), web); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if n := sim.Counters().Logins; n != 1 {
		t.Errorf("%d logins, want 1", n)
	}
}

func TestIdleSessionIsKept(t *testing.T) {
	sim, doc := start(t, esxsim.Config{SessionIdle: 1500 * time.Millisecond, VMs: []esxsim.VM{{Name: "web"}}})
	src := dial(t, doc, vsphere.Options{KeepAlive: 50 * time.Millisecond})
	web := ref(t, src, "web")
	sim.ResetCounters()
	time.Sleep(3500 * time.Millisecond)
	if _, err := src.Power(context.Background(), web); err != nil {
		t.Fatal(err)
	}
	if n := sim.Counters().Logins; n != 0 {
		t.Errorf("%d new logins: the session was not kept", n)
	}
}

func TestCloseEndsTheSession(t *testing.T) {
	sim, doc := start(t, esxsim.Config{})
	src := dial(t, doc, vsphere.Options{})
	if n := sim.Counters().Sessions; n != 1 {
		t.Fatalf("%d sessions after login", n)
	}
	if err := src.Close(); err != nil {
		t.Fatal(err)
	}
	if n := sim.Counters().Sessions; n != 0 {
		t.Errorf("%d sessions are left at the host", n)
	}
}

func TestTooManySessions(t *testing.T) {
	_, doc := start(t, esxsim.Config{MaxSessions: 1})
	dial(t, doc, vsphere.Options{})
	_, err := vsphere.Dial(context.Background(), doc, vsphere.Options{})
	expect(t, err, fault.Transient, vsphere.Busy)
}
