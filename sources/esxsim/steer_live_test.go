package esxsim_test

import (
	"context"
	"errors"
	"testing"

	"landfall/sources/esxsim"
)

// What steers snapshots, tracking and guests does so from another process too.
func TestSteeredFromOutside(t *testing.T) {
	vm := web(esxsim.On)
	vm.ChangeTracking = true
	s := start(t, esxsim.Config{VCenter: true, Control: "127.0.0.1:0", VMs: []esxsim.VM{vm}})
	c := esxsim.Client{URL: s.ControlURL(), Token: s.ControlToken()}
	ctx := context.Background()
	before := digest(t, s)
	if err := c.TakeSnapshot(ctx, "web", "a"); err != nil {
		t.Fatal(err)
	}
	if err := c.Write(ctx, "web", esxsim.Writer{Seed: 1}, 3); err != nil {
		t.Fatal(err)
	}
	if at, err := c.DigestAt(ctx, "web", 0, "a"); err != nil || at != before || digest(t, s) == before {
		t.Errorf("frozen %s, before %s, %v", at, before, err)
	}
	if _, err := c.DigestAt(ctx, "web", 0, "none"); err == nil {
		t.Error("a snapshot that is not there has a digest")
	}
	if err := errors.Join(
		c.SetTracking(ctx, "web", 0, esxsim.TrackingFaults{Stuck: true}),
		c.LoseTracking(ctx, "web"),
		c.SetQuiesce(ctx, "web", false),
		c.KeepDeltas(ctx, "web", 1),
		c.Move(ctx, "web", "esx02", true),
		c.SetWriter(ctx, "web", esxsim.Writer{Rate: mib}),
	); err != nil {
		t.Fatal(err)
	}
	now := digest(t, s)
	eventually(t, "the guest writes", func() bool { return digest(t, s) != now })
	if err := c.SetWriter(ctx, "web", esxsim.Writer{}); err != nil {
		t.Fatal(err)
	}
	now = digest(t, s)
	if err := c.RemoveSnapshots(ctx, "web", "a"); err != nil || digest(t, s) != now {
		t.Errorf("%v, or the writer goes on", err)
	}
	for name, err := range map[string]error{
		"no such vm":       c.SetQuiesce(ctx, "none", true),
		"no such disk":     c.SetTracking(ctx, "web", 5, esxsim.TrackingFaults{}),
		"outside the disk": c.SetWriter(ctx, "web", esxsim.Writer{Rate: 1, Area: esxsim.Range{Offset: 64 * mib, Length: mib}}),
	} {
		if err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}
