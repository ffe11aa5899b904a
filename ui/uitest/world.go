package uitest

import (
	"fmt"
	"slices"
	"time"

	"landfall/engine"
	"landfall/engine/machine"
	"landfall/engine/preflight"
	"landfall/engine/secret"
	"landfall/engine/spec"
	"landfall/engine/transfer"
)

// Noon is when the tests' worlds stand still.
var Noon = time.Date(2026, 3, 14, 12, 0, 0, 0, time.UTC)

// Hostile are names as an attacker, or a careless person, would give them.
var Hostile = []string{
	"evil\x1b[2J\x1b[31mred",
	"title\x1b]0;owned\x07",
	"link\x1b]8;;http://x\x1b\\here\x1b]8;;\x1b\\",
	"csi\u009b2J dcs\x1bP1$q\x1b\\",
	"over\rwrite\b\b\b",
	"gpj.\u202eexe.txt",
	"zero\u200b\u200dwidth\ufeff",
	"broken\xff\xfe\xc3(",
	"zalgo" + string([]rune{0x301, 0x302, 0x303, 0x304, 0x305, 0x306, 0x307, 0x308, 0x309, 0x30a}),
	"東京-データベース-サーバー-01",
	"two\nlines\tand tabs",
	"../../etc/passwd",
	"a-name-that-goes-on-and-on-far-beyond-what-any-column-of-a-table-can-ever-show-001",
	"",
}

// VM makes one for an inventory.
func VM(n int, name string) engine.Listed {
	power, tools := machine.On, machine.ToolsRunning
	if n%3 == 2 {
		power, tools = machine.Off, machine.ToolsNotRunning
	}
	gib := int64(1) << 30
	vm := machine.VM{
		Summary: machine.Summary{
			Ref:  machine.Ref{MoRef: fmt.Sprintf("vm-%d", n), InstanceUUID: fmt.Sprintf("5000-%d", n)},
			Name: name, Folder: fmt.Sprintf("/dc/vm/team %d", n%7), Host: "esx1", Power: power, Guest: "Debian GNU/Linux 12 (64-bit)",
			CPUs: int32(1 + n%8), MemoryMiB: int64(1+n%16) * 1024, Disks: int32(1 + n%3), Tools: tools, Snapshots: n%5 == 4,
		},
		Addresses: []string{fmt.Sprintf("10.0.%d.%d", n/250, n%250+1)},
		NICs:      []machine.NIC{{Key: 4000, Network: "VM Network", MAC: "00:50:56:00:00:01"}},
	}
	for i := range 1 + n%3 {
		vm.DiskList = append(vm.DiskList, machine.Disk{Key: int32(2000 + i), Bus: machine.SCSI, Unit: int32(i), Capacity: gib * int64(8<<i), Datastore: fmt.Sprintf("ds%d", n%4+1)})
	}
	return engine.Listed{Endpoint: "esxi-lab", VM: vm}
}

// Verdict is a rule that says something different of every few VMs.
func Verdict(l engine.Listed) (string, preflight.Level) {
	switch {
	case l.VM.Snapshots:
		return "1 blocker", preflight.Blocker
	case l.VM.Power == machine.On && l.VM.CPUs == 3:
		return "1 decision", preflight.Decide
	case l.VM.Power == machine.Off:
		return "2 warnings", preflight.Warning
	}
	return "ready", ""
}

// Document is what a migration of a VM starts with.
func Document(l engine.Listed) spec.Document {
	d := spec.Document{APIVersion: spec.APIVersion, Kind: spec.Kind}
	d.Metadata.Name = "m-" + l.VM.Ref.MoRef
	d.Spec.Source = spec.Source{Type: "vsphere", Address: "esxi-lab", Password: secret.Ref{Env: "P"}, VM: spec.VM{Name: l.VM.Name, Ref: l.VM.Ref}}
	d.Spec.Destination = spec.Destination{Context: "kind-demo", Namespace: "vms", VMName: l.VM.Ref.MoRef}
	d.Spec.Storage.Mappings = []spec.StorageMapping{{Datastore: "*", StorageClass: "fast", VolumeMode: "Block"}}
	d.Spec.Network.Mappings = []spec.NetworkMapping{{PortGroup: "VM Network", Type: "Pod"}}
	d.Spec.Validation.Checks = []spec.Check{{Type: "HTTP", Port: 80, Path: "/"}}
	return d
}

// Migrate adds a migration of a VM in a phase and gives it for changes, which must be made before the desk is used.
func (d *Desk) Migrate(uid string, l engine.Listed, ph engine.Phase, began time.Duration) *engine.Migration {
	at := Noon.Add(-began)
	m := engine.Migration{UID: uid, Document: Document(l), Generation: 1, Want: engine.WantRun, Created: at, CreatedBy: "ana"}
	m.Status = engine.Status{Phase: ph, Progress: Noon.Add(-5 * time.Second), Times: engine.Times{Created: at}, Inventory: &l.VM}
	if ph.Rest() {
		m.Status.Resume = engine.Preparing
	}
	last := engine.Pending
	for i, r := range engine.Steps() {
		if r.Phase == engine.Pending {
			continue
		}
		m.Status.History = append(m.Status.History, engine.Transition{From: last, To: r.Phase, Time: at.Add(time.Duration(i) * 10 * time.Second), Reason: "seen to be so"})
		last = r.Phase
		if r.Phase == ph || (ph.Rest() && r.Phase == m.Status.Resume) {
			break
		}
	}
	for i, k := range l.VM.DiskList {
		m.Status.Disks = append(m.Status.Disks, engine.Disk{Index: i, Key: k.Key, Label: fmt.Sprintf("Hard disk %d", i+1), Size: k.Capacity, Reader: "folder", Allocated: k.Capacity / 4, ToCopy: k.Capacity / 4})
	}
	d.Migrations = append(d.Migrations, m)
	d.Slim[uid] = engine.Line{Since: Noon.Add(-2 * time.Minute)}
	for i := range d.VMs {
		if d.VMs[i].VM.Ref == l.VM.Ref {
			d.VMs[i].Migration, d.VMs[i].Phase = uid, ph
		}
	}
	return &d.Migrations[len(d.Migrations)-1]
}

// Tell adds an event.
func (d *Desk) Tell(uid, level string, ph engine.Phase, reason, message string) {
	n := int64(len(d.Story) + 1)
	d.Story = append(d.Story, engine.Event{Seq: n, Migration: uid, Time: Noon.Add(time.Duration(n-100) * time.Second), Level: level, Phase: ph, Reason: reason, Message: message})
}

// PowerOff is the decision that is asked when a guest does not shut down.
func PowerOff(uid, vm string) engine.Decision {
	return engine.Decision{
		ID: "power-off/" + uid, Migration: uid, Kind: "power-off", Phase: engine.Preparing, Version: 1, Opened: Noon.Add(-90 * time.Second),
		Question: "The guest of " + vm + " did not shut down in 5m0s. Power it off hard?",
		Why:      "The disks can be read only while the VM is off, and the guest was asked to shut down at 11:53:30.",
		Options: []engine.Option{
			{ID: "wait", Label: "Wait on", Effect: "the guest gets another 5 minutes to shut down"},
			{ID: "hard", Label: "Power off hard", Effect: "the plug of " + vm + " is pulled on esxi-lab: what its guest has not written is lost", Dangerous: true},
			{ID: "self", Label: "I do it myself", Effect: "the engine waits without end until it sees the VM off"},
			{ID: "cancel", Label: "Cancel the migration", Effect: "the migration of " + vm + " stops and what it made is removed", Dangerous: true},
		},
	}
}

// World is a desk with a migration in every state, and hostile names everywhere.
func World(now func() time.Time) *Desk {
	d := NewDesk(now)
	d.Sources = []engine.Endpoint{{Name: "esxi-lab", Taken: Noon.Add(-time.Minute), Source: spec.Source{Type: "vsphere", Address: "esxi-lab"}, Target: spec.Destination{Context: "kind-demo"}}}
	d.Heart = engine.Heartbeat{PID: 42, Host: "ops1", Version: "0.1.0", Started: Noon.Add(-time.Hour), Beat: Noon}
	for i, n := range []string{"web-01", "db-primary", "legacy-erp", "build-agent", "mail", "wiki"} {
		d.VMs = append(d.VMs, VM(i+1, n))
	}
	for i, n := range Hostile {
		d.VMs = append(d.VMs, VM(i+10, n))
	}
	d.Foreseen(d.VMs[1], preflight.Info, preflight.Warning, preflight.Decide, preflight.Blocker, preflight.Decide)
	d.Foreseen(d.VMs[3])
	d.copying()
	d.asking()
	d.ended()
	q := d.Migrate("9a00c7", d.VMs[4], engine.Preparing, 4*time.Minute)
	q.Status.Queue = 2
	r := d.Migrate("77ab01", d.VMs[5], engine.Retryable, 9*time.Minute)
	r.Status.Resume, r.Status.NotUntil, r.Status.Attempt = engine.Importing, Noon.Add(42*time.Second), 2
	r.Status.Reason, r.Status.Message = "Unreachable", "upload proxy: dial tcp 10.1.2.3:443: connection refused"
	return d
}

func (d *Desk) copying() {
	m := d.Migrate("4f21e9", d.VMs[0], engine.Preparing, 6*time.Minute)
	st := &m.Status
	st.Times.SourcePoweredOff = Noon.Add(-3 * time.Minute)
	st.Sight, st.Seen = engine.Partial, "off since 11:57:00; 1 of 2 disks acquired"
	st.Power = machine.Off
	gib := int64(1) << 30
	st.Disks[0].Copied, st.Disks[0].Acquired = 2*gib, true
	st.Disks[0].Manifest = &transfer.Manifest{Format: "raw", Size: 8 * gib, Root: "9d1f0c44e2b7a6a1b0c9d8e7f60515243342516f7e8d9cabbac9d8e7f6051524", Data: 2 * gib, Zero: 6 * gib}
	st.Disks[1].Copied, st.Disks[1].Rate, st.Disks[1].ETA = gib, 92<<20, 33
	st.Conditions = []engine.Condition{
		{Type: engine.SourceDiscovered, Status: "True", Reason: "Found", LastTransitionTime: Noon.Add(-5 * time.Minute)},
		{Type: engine.RulesPassed, Status: "True", Reason: "RulesPassed", LastTransitionTime: Noon.Add(-4 * time.Minute)},
		{Type: engine.SourcePoweredOff, Status: "True", Reason: "SeenOff", Message: "power off and no lock in the folder", LastTransitionTime: Noon.Add(-3 * time.Minute)},
		{Type: engine.DiskAcquired, Status: "False", Reason: "Copying", LastTransitionTime: Noon.Add(-3 * time.Minute)},
	}
	st.Findings = []preflight.Finding{
		{Rule: "nic-model", Level: preflight.Warning, Subject: "nic 1", Found: "e1000", Why: "it becomes virtio", Fix: "install drivers first"},
		{Rule: "notes", Level: preflight.Info, Subject: "vm", Found: "annotation " + Hostile[0], Why: "kept", Fix: "nothing"},
	}
	d.Slim[m.UID] = engine.Line{Since: Noon.Add(-4 * time.Minute), Done: 3 * gib, Total: 6 * gib, Rate: 92 << 20, ETA: 33}
	d.Holds = append(d.Holds, engine.Held{Migration: m.UID, Kind: "file", Where: "/var/lib/landfall", Name: "4f21e9/disk-0", Since: Noon.Add(-3 * time.Minute)},
		engine.Held{Migration: m.UID, Kind: "power", Where: "esxi-lab", Name: "vm-1", Since: Noon.Add(-4 * time.Minute), Note: "was on"})
	d.Tell(m.UID, "info", engine.Pending, "Accepted", "options are frozen")
	d.Tell(m.UID, "info", engine.Discovering, "Found", "vm-1 by moref and instance UUID")
	d.Tell(m.UID, "warn", engine.Validated, "Warnings", "1 warning: e1000")
	d.Tell(m.UID, "info", engine.Preparing, "ShutdownAsked", "the guest was asked to shut down")
	d.Tell(m.UID, "info", engine.Preparing, "SeenOff", "the source is off")
	d.Tell(m.UID, "error", engine.Preparing, "SessionEnded", "GET /folder/"+Hostile[0]+": 401")
}

func (d *Desk) asking() {
	m := d.Migrate("c30b52", d.VMs[2], engine.ManualInterventionRequired, 8*time.Minute)
	m.Status.Reason, m.Status.Message, m.Status.Hint = "ShutdownTimeout", "the guest did not shut down in 5m0s", "answer the decision"
	m.Status.Shutdown = &engine.Shutdown{Asked: Noon.Add(-6 * time.Minute), Deadline: Noon.Add(-time.Minute)}
	d.Decided = append(d.Decided, PowerOff(m.UID, "legacy-erp"))
	h := d.Migrate("e1e1e1", d.VMs[6], engine.ManualInterventionRequired, 20*time.Minute)
	h.Status.Resume, h.Status.Message = engine.CreatingVM, "virtualmachine vms/vm-10 is there and not ours: "+Hostile[1]
	d.Decided = append(d.Decided, engine.Decision{ID: "foreign/" + h.UID, Migration: h.UID, Kind: "foreign-vm", Phase: engine.CreatingVM, Version: 3,
		Opened: Noon.Add(-15 * time.Minute), Question: "vms/vm-10 exists and is not ours. What now? " + Hostile[5], Why: "made by " + Hostile[2], Value: Hostile[3],
		Options: []engine.Option{{ID: "again", Label: "Look again", Effect: "nothing is changed"}, {ID: "cancel", Label: "Cancel " + Hostile[4], Effect: "it stops", Dangerous: true}}})
}

func (d *Desk) ended() {
	m := d.Migrate("0d0ne1", d.VMs[3], engine.Completed, 50*time.Minute)
	st := &m.Status
	st.Times.SourcePoweredOff, st.Times.VMStarted, st.Times.Completed = Noon.Add(-40*time.Minute), Noon.Add(-32*time.Minute), Noon.Add(-30*time.Minute)
	st.Machine = &engine.MachineRef{Namespace: "vms", Name: "vm-4"}
	st.Checks = slices.Grow(st.Checks, 1)[:1]
	st.Checks[0].Check, st.Checks[0].Passed, st.Checks[0].Detail = spec.Check{Type: "HTTP", Port: 80, Path: "/"}, true, "200 from the guest: "+Hostile[0]
	for i := range st.Disks {
		root := fmt.Sprintf("%064x", 0xabc0+i)
		k := &st.Disks[i]
		k.Acquired, k.Imported, k.Proved = true, true, true
		k.Manifest = &transfer.Manifest{Format: "raw", Size: k.Size, Root: root, Data: k.Size / 4, Zero: k.Size / 4 * 3}
		k.Artifact = &engine.Artifact{Format: "raw", Digest: root, Length: k.Size}
		k.Delivered, k.Sent = root, k.Size
	}
	d.Slim[m.UID] = engine.Line{Since: Noon.Add(-30 * time.Minute)}
	a := PowerOff(m.UID, "build-agent")
	a.Answer, a.By, a.From, a.AnsweredAt, a.Closed = "hard", "ben", "pts/3 10.9.8.7", Noon.Add(-41*time.Minute), Noon.Add(-40*time.Minute)
	d.Decided = append(d.Decided, a)
	f := d.Migrate("fa11ed", d.VMs[7], engine.Failed, 70*time.Minute)
	f.Status.Times.Completed, f.Status.Reason, f.Status.Message = Noon.Add(-time.Hour), "SizeChanged", "disk 0 has 9 GiB and had 8 GiB"
	f.Status.Left = []engine.Held{{Kind: "datavolume", Where: "vms", Name: "vm-11-0", Since: Noon.Add(-65 * time.Minute), Note: "forbidden: " + Hostile[1]}}
	d.Slim[f.UID] = engine.Line{Since: Noon.Add(-time.Hour)}
}

// Many is a desk with n VMs.
func Many(now func() time.Time, n int) *Desk {
	d := NewDesk(now)
	d.Sources = []engine.Endpoint{{Name: "vcenter", Taken: Noon, Target: spec.Destination{Context: "prod"}}}
	for i := range n {
		d.VMs = append(d.VMs, VM(i, fmt.Sprintf("vm-%05d-%s", i*7919%n, []string{"web", "db", "app", "cache"}[i%4])))
	}
	return d
}
