package esxsim_test

import (
	"net/http"
	"net/url"
	"testing"
	"time"

	"github.com/vmware/govmomi"
	"github.com/vmware/govmomi/fault"
	"github.com/vmware/govmomi/vim25/types"

	"landfall/sources/esxsim"
)

func TestLogin(t *testing.T) {
	s := start(t, esxsim.Config{VMs: []esxsim.VM{web(esxsim.Off)}, LockAfter: 3, LockFor: time.Hour})
	login(t, s)
	bad := s.URL()
	bad.User = url.UserPassword("root", "wrong")
	for i := 1; i <= 3; i++ {
		if _, err := govmomi.NewClient(t.Context(), bad, true); !fault.Is(err, &types.InvalidLogin{}) {
			t.Fatalf("wrong password %d: %v", i, err)
		}
	}
	if c := s.Counters(); c.Logins != 1 || c.FailedLogins != 3 {
		t.Fatalf("counted %d logins, %d failed", c.Logins, c.FailedLogins)
	}
	if _, err := govmomi.NewClient(t.Context(), s.URL(), true); !fault.Is(err, &types.InvalidLogin{}) {
		t.Fatalf("right password on a locked account: %v", err)
	}
	if c := s.Counters(); c.LockedLogins != 1 {
		t.Fatalf("counted %d refused by the lock", c.LockedLogins)
	}
}

func TestWithoutSession(t *testing.T) {
	s := start(t, esxsim.Config{VMs: []esxsim.VM{web(esxsim.Off)}})
	c := login(t, s)
	if err := c.Logout(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := list(t.Context(), c); !fault.Is(err, &types.NotAuthenticated{}) {
		t.Fatalf("list after logout: %v", err)
	}
	req, _ := http.NewRequest(http.MethodGet, folderURL(s, "datastore1", "web/web.vmdk").String(), nil)
	res, err := plain(t).Do(req)
	if err != nil {
		t.Fatal(err)
	}
	res.Body.Close()
	if res.StatusCode != http.StatusUnauthorized || res.Header.Get("WWW-Authenticate") == "" {
		t.Fatalf("file without login: %s", res.Status)
	}
}

func TestSessionEnds(t *testing.T) {
	s := start(t, esxsim.Config{VMs: []esxsim.VM{web(esxsim.Off)}})
	c := login(t, s)
	waiting := make(chan error, 1)
	vm := vmNamed(t, c, "web")
	go func() { waiting <- vm.WaitForPowerState(t.Context(), types.VirtualMachinePowerStatePoweredOn) }()
	time.Sleep(200 * time.Millisecond)
	s.EndSessions()
	select {
	case err := <-waiting:
		if !fault.Is(err, &types.NotAuthenticated{}) {
			t.Fatalf("a wait when the session ends: %v", err)
		}
	case <-time.After(5 * time.Second):
		t.Fatal("a wait outlives its session")
	}
	if _, err := list(t.Context(), c); !fault.Is(err, &types.NotAuthenticated{}) {
		t.Fatalf("list after the session ended: %v", err)
	}
	if err := c.Login(t.Context(), s.URL().User); err != nil {
		t.Fatalf("login again: %v", err)
	}
	if vms, err := list(t.Context(), c); err != nil || len(vms) != 1 {
		t.Fatalf("list after login again: %d vms, %v", len(vms), err)
	}
}

func TestSessionIdlesOut(t *testing.T) {
	s := start(t, esxsim.Config{SessionIdle: 300 * time.Millisecond})
	c := login(t, s)
	time.Sleep(500 * time.Millisecond)
	if _, err := list(t.Context(), c); !fault.Is(err, &types.NotAuthenticated{}) {
		t.Fatalf("list after idling: %v", err)
	}
}

func TestSessionCap(t *testing.T) {
	s := start(t, esxsim.Config{MaxSessions: 1, VMs: []esxsim.VM{web(esxsim.Off)}})
	login(t, s)
	if _, err := govmomi.NewClient(t.Context(), s.URL(), true); err == nil {
		t.Fatal("a second session was let in")
	}
	if a := fetch(t, s, plain(t), http.MethodGet, folderURL(s, "datastore1", "web/web.vmdk"), ""); a.StatusCode != http.StatusServiceUnavailable {
		t.Fatalf("file with basic authentication beyond the cap: %s", a.Status)
	}
}
