package preflight_test

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"landfall/engine/machine"
	"landfall/engine/preflight"
	"landfall/engine/spec"
	"landfall/sources"
	"landfall/targets"
)

// good are the facts of a VM about which no rule has more to say than what every VM gets to hear.
func good() preflight.Facts {
	room := int64(100 << 30)
	return preflight.Facts{
		Name: "web",
		VM: machine.VM{
			Summary: machine.Summary{Ref: machine.Ref{MoRef: "vm-1"}, Name: "web", Power: machine.On, Tools: machine.ToolsRunning,
				Connection: "connected", GuestID: "windows2019srv_64Guest", CPUs: 4, MemoryMiB: 2048},
			CoresPerSocket: 2, HardwareVersion: 19, ChangeTracking: true, HostName: "web.example", Addresses: []string{"192.0.2.7"},
			DiskList: []machine.Disk{{Key: 2000, Bus: machine.SCSI, Capacity: 10 << 30, Backing: machine.Flat, Datastore: "ds1", Path: "[ds1] web/web.vmdk", ChangeID: "52 3c/7"}},
			NICs:     []machine.NIC{{Key: 4000, MAC: "00:50:56:aa:00:01", Network: "VM Network", StartConnected: true}},
		},
		Spec: spec.Spec{
			Destination: spec.Destination{Namespace: "vms"},
			Storage:     spec.Storage{Mappings: []spec.StorageMapping{{Datastore: "ds1", StorageClass: "fast"}}},
			Network:     spec.Network{Mappings: []spec.NetworkMapping{{PortGroup: "VM Network", Type: "Pod"}}},
		}.Default(),
		Source: &sources.About{Product: "VMware ESXi 8.0.2"},
		Target: &targets.Facts{
			KubeVirtReady: true, CDIReady: true, NamespaceExists: true, KVMNodes: 1, Unknown: map[string]string{},
			Classes: map[string]targets.StorageClass{"fast": {Provisioner: "csi", VolumeMode: "Block", Capacity: &room}},
		},
		Host: &preflight.Host{Staging: "/staging", Free: 20 << 30, Needed: 10 << 30},
	}
}

func TestNothingToSayOfAGoodVM(t *testing.T) {
	if fs := preflight.Evaluate(good()); len(fs) > 0 {
		t.Errorf("findings: %+v", fs)
	}
}

func TestRules(t *testing.T) {
	rules := map[string]preflight.Rule{}
	for _, r := range preflight.Rules() {
		if _, twice := rules[r.ID]; twice {
			t.Errorf("two rules are called %s", r.ID)
		}
		rules[r.ID] = r
		if r.Why == "" || r.Fix == "" && r.Level != preflight.Info {
			t.Errorf("%s does not say why, or how it is mended", r.ID)
		}
	}
	covered := map[string]bool{}
	for _, c := range cases {
		r, ok := rules[c.rule]
		if !ok {
			t.Errorf("cases for %s, which is no rule", c.rule)
		}
		covered[c.rule] = true
		t.Run(c.rule, func(t *testing.T) {
			if len(c.fires) == 0 || len(c.silent) == 0 {
				t.Error("needs a case that fires and one that is near to it and does not")
			}
			c.each(t, "fires", c.fires, func(t *testing.T, name string, hits []preflight.Finding) {
				if len(hits) == 0 || hits[0].Unchecked || hits[0].Found == "" || hits[0].Subject == "" {
					t.Errorf("%s: got %+v", name, hits)
					return
				}
				want := r.Level
				if l, ok := c.levels[name]; ok {
					want = l
				}
				if hits[0].Level != want {
					t.Errorf("%s: level %s, want %s", name, hits[0].Level, want)
				}
			})
			c.each(t, "does not", c.silent, func(t *testing.T, name string, hits []preflight.Finding) {
				if len(hits) > 0 {
					t.Errorf("%s: got %+v", name, hits)
				}
			})
			c.each(t, "could not be checked", c.unknown, func(t *testing.T, name string, hits []preflight.Finding) {
				if len(hits) == 0 || !hits[0].Unchecked || hits[0].Level != preflight.Decide || !strings.HasPrefix(hits[0].Found, "could not check: ") {
					t.Errorf("%s: not said to be unchecked, for a person to decide: %+v", name, hits)
				}
			})
		})
	}
	for id := range rules {
		if !covered[id] {
			t.Errorf("%s has no cases: add a row to cases with one that fires, one that does not and, where a fact may be unknown, one that could not be checked", id)
		}
	}
}

// TestUnknownFactsHaveCases holds that every rule that is silenced or changed by an unknown fact of the target has a case
// for it.
func TestUnknownFactsHaveCases(t *testing.T) {
	unchecked := map[string]bool{}
	for _, c := range cases {
		unchecked[c.rule] = len(c.unknown) > 0
	}
	for _, fact := range []string{targets.FactAccess, targets.FactKubeVirt, targets.FactCDI, targets.FactNamespace, targets.FactClasses, targets.FactCapacity,
		targets.FactNetworks, targets.FactMACs, targets.FactName, targets.FactKVM, targets.FactQuota, targets.FactLimits, targets.FactOverhead,
		targets.FactPods, targets.FactServices, targets.FactNodes, targets.FactPreferences, targets.FactInstancetypes} {
		f := good()
		f.Spec.Network.Mappings[0].Type, f.Spec.Network.Mappings[0].Name = "Multus", "lan"
		f.Target.Networks = map[string]bool{"vms/lan": true}
		if fact == targets.FactNetworks {
			f.Target.Networks = nil
		}
		if f.Spec.Destination.Preference, f.Spec.Destination.Instancetype = "p", "i"; fact == targets.FactPreferences {
			f.Spec.Destination.Instancetype = ""
		}
		f.Spec.Source.Address = "192.0.2.1"
		f.Target.Unknown[fact] = "forbidden"
		said := false
		for _, h := range preflight.Evaluate(f) {
			if h.Unchecked {
				said = true
				if !unchecked[h.Rule] {
					t.Errorf("%s could not be checked without %s and has no case for it", h.Rule, fact)
				}
			}
		}
		if !said {
			t.Errorf("nothing is said although %s is not known", fact)
		}
	}
}

// TestNoTwoFindingsAreOne holds that each finding can be decided by itself.
func TestNoTwoFindingsAreOne(t *testing.T) {
	f := good()
	for i := range 3 {
		f.VM.Devices = append(f.VM.Devices, machine.Device{Kind: "pci", Label: "device"}, machine.Device{Kind: "pci", Label: "another"})
		f.VM.DiskList = append(f.VM.DiskList, machine.Disk{Bus: machine.SCSI, Independent: true, Capacity: 1<<40 + 1, Datastore: string(rune('a' + i))})
		f.VM.NICs = append(f.VM.NICs, machine.NIC{}, machine.NIC{Network: "VM Network", MAC: "00:50:56:aa:00:01"})
		f.Spec.Storage.Mappings = append(f.Spec.Storage.Mappings, spec.StorageMapping{Datastore: string(rune('a' + i)), StorageClass: "class-" + string(rune('a'+i))})
	}
	f.Target.Denied = []string{"create datavolumes", "get secrets"}
	f.Target.Unknown[targets.FactMACs], f.Target.Unknown[targets.FactQuota], f.Target.Unknown[targets.FactCapacity] = "forbidden", "forbidden", "forbidden"
	seen := map[string]preflight.Finding{}
	for _, h := range preflight.Evaluate(f) {
		if other, twice := seen[h.ID()]; twice {
			t.Errorf("one ID for %+v and %+v", other, h)
		}
		seen[h.ID()] = h
	}
}

func TestNothingLookedAt(t *testing.T) {
	said := map[string]bool{}
	f := preflight.Facts{VM: good().VM, Spec: good().Spec}
	for _, h := range preflight.Evaluate(f) {
		said[h.Rule] = true
		if !h.Unchecked || h.Level != preflight.Decide {
			t.Errorf("found without a look: %+v", h)
		}
	}
	for _, id := range []string{"source.license", "target.reach", "host.space"} {
		if !said[id] {
			t.Errorf("%s passes without a look", id)
		}
	}
	if fs := preflight.Inventory(f.VM, f.Spec); len(fs) > 0 {
		t.Errorf("the inventory's view judges what it does not know: %+v", fs)
	}
	for _, empty := range []preflight.Facts{{}, {Target: &targets.Facts{}, Source: &sources.About{}, Host: &preflight.Host{}}} {
		if preflight.Worst(preflight.Evaluate(empty)) != preflight.Blocker {
			t.Errorf("empty facts pass: %+v", empty)
		}
		for _, h := range preflight.Evaluate(empty) {
			if strings.Contains(h.Found, "the rule failed") {
				t.Errorf("%s fails on empty facts", h.Rule)
			}
		}
	}
}

func TestHostileFacts(t *testing.T) {
	const bad = "a\x1b[2J\u202e\n|`<b>\xff"
	f := good()
	f.VM.Name, f.VM.Question, f.VM.Connection, f.VM.HostName = bad, bad, bad, "localhost."+bad
	f.VM.SnapshotNames, f.VM.Pinned = []string{bad, strings.Repeat("long ", 100000)}, []string{bad}
	f.VM.Devices = []machine.Device{{Kind: bad, Label: bad, Detail: bad}}
	f.VM.CPUs, f.VM.CoresPerSocket, f.VM.Tools, f.VM.Power = math.MinInt32, math.MaxInt32, bad, machine.On
	for range 3 {
		f.VM.DiskList = append(f.VM.DiskList, machine.Disk{Bus: bad, Backing: bad, BackingRaw: bad, Path: bad, Datastore: bad, Capacity: math.MaxInt64, Parent: true})
		f.VM.NICs = append(f.VM.NICs, machine.NIC{Network: bad, MAC: bad, Addresses: []string{bad}})
	}
	room := int64(math.MaxInt64 - 1)
	f.Spec.Storage.Mappings = append(f.Spec.Storage.Mappings, spec.StorageMapping{Datastore: bad, StorageClass: bad})
	f.Target.Classes[bad] = targets.StorageClass{Capacity: &room, Overhead: 1, WaitForFirstConsumer: true}
	f.Target.QuotaStorage, f.Target.Quota = &room, []string{bad}
	f.Target.MACs, f.Target.NameTaken, f.Target.Denied = map[string]string{bad: bad}, bad, []string{bad}
	f.Source.ReadOnly, f.Host.Needed = bad, math.MinInt64
	fits := true
	for _, h := range preflight.Evaluate(f) {
		if strings.Contains(h.Found, "the rule failed") {
			t.Errorf("%s fails", h.Rule)
		}
		if text := h.Subject + h.Found; strings.ContainsAny(text, "\x1b\n\u202e") || strings.Contains(text, "\xff") || len(text) > 8192 {
			t.Errorf("%s lets raw text through: %.200q", h.Rule, text)
		}
		if h.Rule == "storage.capacity" && h.Level == preflight.Blocker {
			fits = false
		}
	}
	if fits {
		t.Error("three disks of the largest size fit into less than one")
	}
}

func TestWorstAndCount(t *testing.T) {
	fs := []preflight.Finding{{Level: preflight.Info}, {Level: preflight.Warning}, {Level: preflight.Decide}, {Level: preflight.Decide}}
	for n, want := range []preflight.Level{"", "", preflight.Warning, preflight.Decide, preflight.Decide} {
		if got := preflight.Worst(fs[:n]); got != want {
			t.Errorf("worst of %d: %q, want %q", n, got, want)
		}
	}
	if n := preflight.Count(fs, preflight.Decide); n != 2 {
		t.Errorf("%d decisions, want 2", n)
	}
}

// BenchmarkInventory gives the first view of a whole inventory, as a console that is opened needs it.
func BenchmarkInventory(b *testing.B) {
	f := good()
	const vms = 5000
	for b.Loop() {
		for range vms {
			preflight.Inventory(f.VM, f.Spec)
		}
	}
	if per := b.Elapsed() / time.Duration(b.N); per > 5*time.Second {
		b.Errorf("%s for %d VMs, want at most 5s", per, vms)
	}
}

// BenchmarkEvaluate judges one VM of the largest kind by every rule; the console does so for each VM of a list.
func BenchmarkEvaluate(b *testing.B) {
	f := good()
	for range 63 {
		f.VM.DiskList = append(f.VM.DiskList, f.VM.DiskList[0])
	}
	for range 9 {
		f.VM.NICs = append(f.VM.NICs, f.VM.NICs[0])
	}
	for i := range 5000 {
		n := good().VM
		n.Ref.MoRef, n.DiskList[0].Path = fmt.Sprintf("vm-%d", i+10), fmt.Sprintf("[ds1] %d/%d.vmdk", i, i)
		f.Neighbours = append(f.Neighbours, n)
	}
	for b.Loop() {
		preflight.Evaluate(f)
	}
	if per := b.Elapsed() / time.Duration(b.N); per > 50*time.Millisecond {
		b.Errorf("%s for one VM, want at most 50ms", per)
	}
}
