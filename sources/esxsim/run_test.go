package esxsim_test

import (
	"context"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/vmware/govmomi/vim25/types"

	"landfall/sources/esxsim"
)

func TestRunIsSteered(t *testing.T) {
	dir := t.TempDir()
	cfg := esxsim.Config{Dir: filepath.Join(dir, "host"), ReadyFile: filepath.Join(dir, "ready.json"), VMs: []esxsim.VM{web(esxsim.On)}}
	b, err := json.Marshal(cfg)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "config.json")
	if err := os.WriteFile(file, b, 0o600); err != nil {
		t.Fatal(err)
	}
	cfg, err = esxsim.ReadConfig(file)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- esxsim.Run(ctx, io.Discard, cfg) }()
	var r esxsim.Ready
	eventually(t, "the host is ready", func() bool { r, err = esxsim.ReadReady(cfg.ReadyFile); return err == nil })
	if !strings.HasPrefix(r.URL, "https://127.0.0.1:") || len(r.Fingerprint) != 95 {
		t.Errorf("ready: %+v", r)
	}
	c := r.Client()
	for _, err := range []error{
		c.Ping(t.Context()), c.SetPower(t.Context(), "web", esxsim.Off), c.WriteDisk(t.Context(), "web", 0, 0, []byte("x")), c.GrowDisk(t.Context(), "web", 0, 65*mib),
		c.TakeSnapshot(t.Context(), "web", "s"), c.RemoveSnapshots(t.Context(), "web", ""), c.Rename(t.Context(), "web", "www"), c.EndSessions(t.Context()),
		c.FailSOAP(t.Context(), esxsim.SOAPFault{Method: "*", Fault: "InvalidState"}), c.FailHTTP(t.Context(), esxsim.HTTPFault{Status: 500}), c.ClearFaults(t.Context()),
		c.SetRate(t.Context(), 1), c.SetShutdown(t.Context(), "www", esxsim.Shutdown{Answer: esxsim.Refuses}), c.ResetCounters(t.Context()), c.Unregister(t.Context(), "www"),
	} {
		if err != nil {
			t.Error(err)
		}
	}
	if err := c.SetPower(t.Context(), "nobody", esxsim.On); err == nil || !strings.Contains(err.Error(), `"nobody"`) {
		t.Errorf("a vm that is not there: %v", err)
	}
	if n, err := c.Counters(t.Context()); err != nil || n.Logins != 0 {
		t.Errorf("counters: %+v %v", n, err)
	}
	if p, err := c.SwapCertificate(t.Context()); err != nil || p == r.Fingerprint {
		t.Errorf("swap: %s %v", p, err)
	}
	if d, err := c.Digests(t.Context()); err != nil || len(d[webExtent]) != 64 {
		t.Errorf("digests: %v %v", d, err)
	}
	if err := (esxsim.Client{URL: r.ControlURL, Token: "guess"}).Ping(t.Context()); err == nil {
		t.Error("another token was taken")
	}
	cancel()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(cfg.ReadyFile); err == nil {
		t.Error("the ready file is left")
	}
}

func TestConfigRefused(t *testing.T) {
	file := filepath.Join(t.TempDir(), "c.json")
	if err := os.WriteFile(file, []byte(`{"user":"root","colour":"red"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := esxsim.ReadConfig(file); err == nil || !strings.Contains(err.Error(), "colour") {
		t.Errorf("unknown field: %v", err)
	}
	for name, cfg := range map[string]esxsim.Config{
		"open to the network": {Listen: "0.0.0.0:0"},
		"odd size":            {VMs: []esxsim.VM{{Name: "x", Disks: []esxsim.Disk{{Size: 1000}}}}},
		"unknown bus":         {VMs: []esxsim.VM{{Name: "x", Disks: []esxsim.Disk{{Size: 512, Bus: "usb"}}}}},
		"unknown datastore":   {VMs: []esxsim.VM{{Name: "x", Datastore: "none"}}},
		"one folder twice":    {VMs: []esxsim.VM{{Name: "x", Directory: "d"}, {Name: "x", Directory: "d"}}},
		"unit taken":          {VMs: []esxsim.VM{{Name: "x", Disks: []esxsim.Disk{{Size: 512, Unit: types.NewInt32(1)}, {Size: 512, Unit: types.NewInt32(1)}}}}},
		"data past the end":   {VMs: []esxsim.VM{{Name: "x", Disks: []esxsim.Disk{{Size: 512, Contents: esxsim.Contents{Ranges: []esxsim.Range{{Length: 513}}}}}}}},
	} {
		cfg.Dir = t.TempDir()
		if s, err := esxsim.Start(t.Context(), cfg); err == nil {
			s.Close()
			t.Errorf("%s: started", name)
		}
	}
}
