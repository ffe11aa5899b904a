package esxsim_test

import (
	"context"
	"errors"
	"net/http"
	"testing"
	"time"

	"github.com/vmware/govmomi"
	"github.com/vmware/govmomi/fault"
	"github.com/vmware/govmomi/vim25/types"

	"landfall/sources/esxsim"
)

func TestSOAPFaults(t *testing.T) {
	s := start(t, esxsim.Config{VMs: []esxsim.VM{web(esxsim.On), {Name: "db", Power: esxsim.On}}})
	c := login(t, s)
	vm := vmNamed(t, c, "web")
	for _, f := range []types.BaseMethodFault{&types.NoPermission{}, &types.InvalidState{}, &types.TaskInProgress{}, &types.NotAuthenticated{}, &types.RestrictedVersion{}} {
		name := typeName(f)
		for _, inTask := range []bool{false, true} {
			if err := s.FailSOAP(esxsim.SOAPFault{Method: "PowerOffVM_Task", Fault: name, VM: "web", Count: 1, InTask: inTask}); err != nil {
				t.Fatal(err)
			}
			wait(t, vmNamed(t, c, "db").Suspend)
			wait(t, vmNamed(t, c, "db").PowerOn)
			if err := try(t, vm.PowerOff); !fault.Is(err, f) {
				t.Errorf("%s, in task %v: %v", name, inTask, err)
			}
		}
	}
	if err := s.FailSOAP(esxsim.SOAPFault{Method: "PowerOffVM_Task", Fault: "NoSuchThing"}); err == nil {
		t.Error("a fault that does not exist was taken")
	}
	if err := s.FailSOAP(esxsim.SOAPFault{Method: "write", Fault: "RestrictedVersion"}); err != nil {
		t.Fatal(err)
	}
	if err := vm.ShutdownGuest(t.Context()); !fault.Is(err, &types.RestrictedVersion{}) {
		t.Errorf("write: %v", err)
	}
	if _, err := list(t.Context(), c); err != nil {
		t.Errorf("read: %v", err)
	}
	s.ClearFaults()
	wait(t, vm.PowerOff)
}

func typeName(f types.BaseMethodFault) string {
	switch f.(type) {
	case *types.NoPermission:
		return "NoPermission"
	case *types.InvalidState:
		return "InvalidState"
	case *types.TaskInProgress:
		return "TaskInProgress"
	case *types.NotAuthenticated:
		return "NotAuthenticated"
	}
	return "RestrictedVersion"
}

func TestFreeLicence(t *testing.T) {
	s := start(t, esxsim.Config{FreeLicence: true, VMs: []esxsim.VM{web(esxsim.On)}})
	c := login(t, s)
	if err := try(t, vmNamed(t, c, "web").PowerOff); !fault.Is(err, &types.RestrictedVersion{}) {
		t.Errorf("power off: %v", err)
	}
	if n := len(files(t, c, "[datastore1] web")); n == 0 {
		t.Error("no files seen")
	}
}

// The call took effect although its caller never heard so.
func TestLostAnswer(t *testing.T) {
	s := start(t, esxsim.Config{VMs: []esxsim.VM{web(esxsim.On)}})
	c := login(t, s)
	vm := vmNamed(t, c, "web")
	if err := s.FailSOAP(esxsim.SOAPFault{Method: "PowerOffVM_Task", Lost: true, Count: 1}); err != nil {
		t.Fatal(err)
	}
	if _, err := vm.PowerOff(t.Context()); err == nil {
		t.Fatal("the answer arrived")
	}
	eventually(t, "web is off", func() bool { return state(t, c, "web") == types.VirtualMachinePowerStatePoweredOff })
	if n := s.Counters().Calls["PowerOffVM_Task"]; n != 1 {
		t.Errorf("counted %d", n)
	}
}

func TestHTTPFaults(t *testing.T) {
	s := start(t, esxsim.Config{VMs: []esxsim.VM{web(esxsim.Off)}})
	h, u := plain(t), folderURL(s, "datastore1", "web/web-flat.vmdk")
	get := func(f esxsim.HTTPFault) answer {
		t.Helper()
		f.Count = 1
		if err := s.FailHTTP(f); err != nil {
			t.Fatal(err)
		}
		return fetch(t, s, h, http.MethodGet, u, "1048576-9437183")
	}
	if a := get(esxsim.HTTPFault{Status: 500}); a.StatusCode != 500 {
		t.Errorf("500: %s", a.Status)
	}
	if a := get(esxsim.HTTPFault{Status: 503, RetryAfter: 1500 * time.Millisecond}); a.StatusCode != 503 || a.Header.Get("Retry-After") != "2" {
		t.Errorf("503: %s, Retry-After %q", a.Status, a.Header.Get("Retry-After"))
	}
	s.ResetCounters()
	a := get(esxsim.HTTPFault{Cut: true, After: 3*mib + 17})
	if a.err == nil || len(a.data) != 3*mib+17 {
		t.Errorf("cut: %d bytes, %v", len(a.data), a.err)
	}
	sameBytes(t, a.data, mib)
	a = get(esxsim.HTTPFault{End: true, After: 2*mib + 1})
	if a.err != nil || a.StatusCode != 206 || len(a.data) != 2*mib+1 || a.ContentLength != -1 {
		t.Errorf("early end: %s, %d bytes, length %d, %v", a.Status, len(a.data), a.ContentLength, a.err)
	}
	sameBytes(t, a.data, mib)
	if got := s.Counters().File(webExtent); got.Bytes != 5*mib+18 || len(got.Served) != 2 || got.Served[0] != (esxsim.Served{Offset: mib, Asked: 8 * mib, Length: 3*mib + 17}) ||
		got.Distinct() != 3*mib+17 || got.Twice() != 2*mib+1 {
		t.Errorf("counted %+v, twice %d", got, got.Twice())
	}
	a = get(esxsim.HTTPFault{IgnoreRange: true})
	if a.StatusCode != 200 || len(a.data) != 64*mib {
		t.Errorf("range ignored: %s, %d bytes", a.Status, len(a.data))
	}
	began := time.Now()
	if a = get(esxsim.HTTPFault{Rate: 16 * mib}); len(a.data) != 8*mib || time.Since(began) < 300*time.Millisecond {
		t.Errorf("rate: %d bytes in %v", len(a.data), time.Since(began))
	}
	began = time.Now()
	if a = get(esxsim.HTTPFault{Delay: 200 * time.Millisecond}); len(a.data) != 8*mib || time.Since(began) < 200*time.Millisecond {
		t.Errorf("delay: %d bytes in %v", len(a.data), time.Since(began))
	}
	if a = fetch(t, s, h, http.MethodGet, u, "0-9"); a.StatusCode != 206 {
		t.Errorf("afterwards: %s", a.Status)
	}
}

func TestStall(t *testing.T) {
	s := start(t, esxsim.Config{VMs: []esxsim.VM{web(esxsim.Off)}})
	if err := s.FailHTTP(esxsim.HTTPFault{Stall: true, After: mib}); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	req, _ := http.NewRequestWithContext(ctx, http.MethodGet, folderURL(s, "datastore1", "web/web-flat.vmdk").String(), nil)
	p, _ := s.URL().User.Password()
	req.SetBasicAuth(s.URL().User.Username(), p)
	res, err := plain(t).Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	n, got := 0, make([]byte, 64<<10)
	for err == nil {
		var k int
		k, err = res.Body.Read(got)
		n += k
	}
	if n != mib || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("%d bytes, then %v", n, err)
	}
}

func TestGlobalRate(t *testing.T) {
	s := start(t, esxsim.Config{Rate: 8 * mib, VMs: []esxsim.VM{web(esxsim.Off)}})
	h, u := plain(t), folderURL(s, "datastore1", "web/web-flat.vmdk")
	began := time.Now()
	if a := fetch(t, s, h, http.MethodGet, u, "0-4194303"); len(a.data) != 4*mib || time.Since(began) < 400*time.Millisecond {
		t.Errorf("%d bytes in %v", len(a.data), time.Since(began))
	}
	s.SetRate(0)
	began = time.Now()
	if a := fetch(t, s, h, http.MethodGet, u, "0-4194303"); len(a.data) != 4*mib || time.Since(began) > 400*time.Millisecond {
		t.Errorf("without limit: %d bytes in %v", len(a.data), time.Since(began))
	}
}

func TestCertificateSwap(t *testing.T) {
	s := start(t, esxsim.Config{VMs: []esxsim.VM{web(esxsim.Off)}})
	pinned := func(print string) error {
		u := s.URL()
		h := plain(t)
		tr := h.Transport.(*http.Transport)
		tr.TLSClientConfig = pin(print)
		res, err := h.Get("https://" + u.Host + "/sdk/vimServiceVersions.xml")
		if err == nil {
			res.Body.Close()
		}
		return err
	}
	old := s.Fingerprint()
	if err := pinned(old); err != nil {
		t.Fatal(err)
	}
	c := login(t, s)
	if err := s.SwapCertificate(); err != nil {
		t.Fatal(err)
	}
	if s.Fingerprint() == old {
		t.Fatal("the certificate is the same")
	}
	if err := pinned(old); err == nil {
		t.Error("the old fingerprint still fits")
	}
	if err := pinned(s.Fingerprint()); err != nil {
		t.Errorf("the new fingerprint: %v", err)
	}
	if _, err := list(t.Context(), c); err != nil {
		t.Errorf("a client that trusts anything: %v", err)
	}
}

// A client that keeps TLS sessions must see the new certificate as well.
func TestCertificateSwapIsNotResumed(t *testing.T) {
	s := start(t, esxsim.Config{})
	u := s.URL()
	c, err := govmomi.NewClient(t.Context(), u, true)
	if err != nil {
		t.Fatal(err)
	}
	_ = c
	h := plain(t)
	cfg := pin(s.Fingerprint())
	h.Transport.(*http.Transport).TLSClientConfig = cfg
	for range 2 {
		res, err := h.Get("https://" + u.Host + "/sdk/vimServiceVersions.xml")
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
		h.CloseIdleConnections()
	}
	if err := s.SwapCertificate(); err != nil {
		t.Fatal(err)
	}
	if res, err := h.Get("https://" + u.Host + "/sdk/vimServiceVersions.xml"); err == nil {
		res.Body.Close()
		t.Error("the old TLS session was resumed")
	}
}
