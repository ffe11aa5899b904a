package store_test

import (
	"errors"
	"testing"

	"landfall/engine"
	"landfall/engine/machine"
)

func vm(name, moref, instance string) machine.VM {
	return machine.VM{Summary: machine.Summary{Name: name, Ref: machine.Ref{MoRef: moref, InstanceUUID: instance}, Power: machine.On}}
}

func TestInventory(t *testing.T) {
	ctx := t.Context()
	s := fresh(t)
	e := engine.Endpoint{Name: "esx1", Source: document(1).Spec.Source}
	if err := s.PutInventory(ctx, "esx1", nil, "", ""); !errors.Is(err, engine.ErrNotFound) {
		t.Errorf("inventory of an endpoint that is not there: %v", err)
	}
	if err := s.PutEndpoint(ctx, e, ann); err != nil {
		t.Fatal(err)
	}
	if got := must(s.Endpoints(ctx))(t); len(got) != 1 || got[0].Asked.IsZero() || !got[0].Taken.IsZero() {
		t.Errorf("a new endpoint is not asked for: %+v", got)
	}
	old := applied(t, s, 1)
	enter(t, s, old, engine.Cancelled)
	newer := applied(t, s, 1)
	// Two of one identity, as a hostile source may say: both are shown.
	vms := []machine.VM{vm("web 1", "vm-1", "u1"), vm("web 9", "vm-9", ""), vm("web 9 too", "vm-9", ""), vm("nameless", "", "")}
	if err := s.PutInventory(ctx, "esx1", vms, "ESXi 8", ""); err != nil {
		t.Fatal(err)
	}
	want := []engine.Listed{
		{Endpoint: "esx1", VM: vms[0], Migration: newer.UID, Phase: engine.Pending}, {Endpoint: "esx1", VM: vms[1]},
		{Endpoint: "esx1", VM: vms[2]}, {Endpoint: "esx1", VM: vms[3]},
	}
	same(t, "inventory", want, must(s.Inventory(ctx))(t))

	if err := s.PutInventory(ctx, "esx1", nil, "", "no route to host"); err != nil {
		t.Fatal(err)
	}
	same(t, "inventory after a failure", want, must(s.Inventory(ctx))(t))
	if got := must(s.Endpoints(ctx))(t)[0]; got.Failure != "no route to host" || got.About != "ESXi 8" || got.Taken.IsZero() {
		t.Errorf("endpoint after a failure: %+v", got)
	}
	if err := s.PutInventory(ctx, "esx1", vms[:1], "ESXi 8", ""); err != nil {
		t.Fatal(err)
	}
	if got := must(s.Endpoints(ctx))(t)[0]; got.Failure != "" {
		t.Errorf("an old failure is still shown: %+v", got)
	}
	same(t, "smaller inventory", want[:1], must(s.Inventory(ctx))(t))

	taken := must(s.Endpoints(ctx))(t)[0].Taken
	e.Source.Username, e.Source.Address = "operator", "https://ESX1.example/sdk"
	if err := s.PutEndpoint(ctx, e, ann); err != nil {
		t.Fatal(err)
	}
	if got := must(s.Endpoints(ctx))(t)[0]; !got.Taken.Equal(taken) || got.Source.Username != "operator" {
		t.Errorf("another user: %+v", got)
	}
	same(t, "inventory, seen by another user", want[:1], must(s.Inventory(ctx))(t))
	e.Source.Address = "esx2.example"
	if err := s.PutEndpoint(ctx, e, ann); err != nil {
		t.Fatal(err)
	}
	if got := must(s.Inventory(ctx))(t); len(got) != 0 {
		t.Errorf("another host shows the VMs of the first: %+v", got)
	}
	e.Source.Address = "https://root:hunter2@esx2.example"
	if err := s.PutEndpoint(ctx, e, ann); err == nil {
		t.Error("a password in the address was kept")
	}
}
