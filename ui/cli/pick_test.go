package cli

import (
	"strings"
	"testing"

	"landfall/engine"
	"landfall/engine/fault"
	"landfall/engine/machine"
)

// TestTwoVMsOfOneName holds that a name that two have names neither, and that both are told with id and folder.
func TestTwoVMsOfOneName(t *testing.T) {
	list := []engine.Listed{
		{Endpoint: "vc", VM: machine.VM{Summary: machine.Summary{Name: "web", Folder: "/dc/vm/shop", Ref: machine.Ref{MoRef: "vm-1", InstanceUUID: "52AA"}}}},
		{Endpoint: "vc", VM: machine.VM{Summary: machine.Summary{Name: "web", Folder: "/dc/vm/test", Ref: machine.Ref{MoRef: "vm-2", InstanceUUID: "52BB"}}}},
	}
	_, err := pick(list, []string{"web"})
	if err == nil || fault.HintOf(err) == "" {
		t.Fatalf("one of two was taken: %v", err)
	}
	for _, word := range []string{"vm-1", "/dc/vm/shop", "vm-2", "/dc/vm/test"} {
		if !strings.Contains(err.Error(), word) {
			t.Errorf("%q is not in: %v", word, err)
		}
	}
	for key, want := range map[string]string{"vm-2": "vm-2", "52aa": "vm-1"} {
		got, err := pick(list, []string{key})
		if err != nil || len(got) != 1 || got[0].VM.Ref.MoRef != want {
			t.Errorf("%s: %+v, %v", key, got, err)
		}
	}
}
