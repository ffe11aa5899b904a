package vsphere

import (
	"cmp"
	"context"
	"slices"
	"strconv"
	"strings"

	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"

	"landfall/engine/machine"
)

// inspected are the properties that a whole VM is told from, beside those of its row.
var inspected = append(slices.Clone(listed),
	"config", "network", "snapshot", "runtime.question", "runtime.consolidationNeeded", "runtime.faultToleranceState", "runtime.device",
	"guest.net", "guest.hostName", "guest.ipAddress", "guest.disk")

// Inspect gives the whole VM as it is now.
func (s *Source) Inspect(ctx context.Context, ref machine.Ref) (machine.VM, error) {
	moref, b, err := s.look(ctx, ref, inspected...)
	// A VM whose hardware this user may not see must not look like one without disks.
	if err = cmp.Or(err, b.missing("config")); err != nil {
		return machine.VM{}, s.fail(err, "inspect VM %s on %s", ref, s.host)
	}
	vm := machine.VM{Summary: summary(moref, b)}
	var above bound
	vm.Folder, vm.Host, above = s.place(ctx, b)
	if c, ok := b["config"].(types.VirtualMachineConfigInfo); ok {
		configured(&vm, c)
		devices := object.VirtualDeviceList(c.Hardware.Device)
		vm.DiskList = disks(devices)
		vm.Encrypted = vm.Encrypted || anyEncrypted(devices)
		vm.NICs = nics(devices, s.networks(ctx, devices, b))
		direct(vm.NICs, get[types.ArrayOfVirtualMachineDeviceRuntimeInfo](b, "runtime.device").VirtualMachineDeviceRuntimeInfo)
		vm.Devices, vm.TPM = leftBehind(devices)
		vm.Disks = int32(len(vm.DiskList))
	}
	vm.Autostart, vm.Pinned = s.autostart(ctx, above.starter, moref), append(vm.Pinned, s.rules(ctx, above.parent, moref)...)
	guest(&vm, b)
	if info, ok := b["snapshot"].(types.VirtualMachineSnapshotInfo); ok {
		vm.SnapshotNames = snapshotNames(info.RootSnapshotList, nil)
		vm.Snapshots = len(info.RootSnapshotList) > 0 || info.CurrentSnapshot != nil
	}
	vm.Consolidate = get[bool](b, "runtime.consolidationNeeded")
	if q, ok := b["runtime.question"].(types.VirtualMachineQuestionInfo); ok {
		vm.Question = cmp.Or(q.Text, "a question without text")
	}
	ft := get[types.VirtualMachineFaultToleranceState](b, "runtime.faultToleranceState")
	vm.FaultTolerance = vm.FaultTolerance || ft != "" && ft != types.VirtualMachineFaultToleranceStateNotConfigured
	return vm, nil
}

// place tells folder and host. A user who may not see them still sees the VM.
func (s *Source) place(ctx context.Context, b bag) (folder, host string, at bound) {
	if parent, ok := parentOf(b); ok {
		folder = s.ancestry(ctx, parent).path(&parent)
	}
	if ref, ok := b["runtime.host"].(types.ManagedObjectReference); ok {
		content, err := s.retrieve(ctx, []types.ManagedObjectReference{ref}, []string{"name", "parent", "configManager.autoStartManager"})
		if err == nil && len(content) == 1 {
			h := bagOf(content[0])
			host = shown(get[string](h, "name"))
			at.parent, at.starter = refOf(h, "parent"), refOf(h, "configManager.autoStartManager")
		}
	}
	return folder, host, at
}

// ancestry is the tree from an object up to the root, read in one call, and one for each vApp; as much of it as can be
// seen.
func (s *Source) ancestry(ctx context.Context, ref types.ManagedObjectReference) tree {
	t := tree{}
	for ref.Type == "VirtualApp" && len(t) < deepest {
		content, err := s.retrieve(ctx, []types.ManagedObjectReference{ref}, []string{"name", "parentFolder", "parentVApp"})
		if err != nil || len(content) != 1 {
			return t
		}
		t.add(ref, bagOf(content[0]))
		up := t[ref].parent
		if up == nil {
			return t
		}
		ref = *up
	}
	entities, err := mo.Ancestors(ctx, s.vim, s.vim.ServiceContent.PropertyCollector, ref)
	if err != nil {
		return t
	}
	for _, e := range entities {
		t[e.Self] = node{name: shown(e.Name), raw: e.Name, parent: e.Parent}
	}
	return t
}

// configured fills what the configuration alone tells.
func configured(vm *machine.VM, c types.VirtualMachineConfigInfo) {
	vm.BIOSUUID = c.Uuid
	vm.HardwareVersion = hardwareVersion(c.Version)
	vm.Annotation = c.Annotation
	vm.CPUs, vm.MemoryMiB = c.Hardware.NumCPU, int64(c.Hardware.MemoryMB)
	if c.Hardware.NumCoresPerSocket != nil {
		vm.CoresPerSocket = *c.Hardware.NumCoresPerSocket
	}
	vm.GuestID, vm.Guest, vm.Template = c.GuestId, c.GuestFullName, c.Template
	vm.Firmware = c.Firmware
	vm.SecureBoot = c.BootOptions != nil && isTrue(c.BootOptions.EfiSecureBootEnabled)
	vm.Encrypted = c.KeyId != nil
	vm.FaultTolerance = c.FtInfo != nil
	vm.NestedHV = isTrue(c.NestedHVEnabled)
	vm.HotAdd = isTrue(c.CpuHotAddEnabled) || isTrue(c.MemoryHotAddEnabled)
	vm.ChangeTracking = isTrue(c.ChangeTrackingEnabled)
	vm.ConfigPath = c.Files.VmPathName
	vm.Pinned = pinned(c)
	vm.BootDisks = bootDisks(c.BootOptions)
	for _, o := range c.ExtraConfig {
		if v := o.GetOptionValue(); v != nil && strings.EqualFold(v.Key, "disk.EnableUUID") {
			text, _ := v.Value.(string)
			vm.DiskUUIDs = strings.EqualFold(strings.TrimSpace(text), "true")
		}
	}
}

// bootDisks are the disks that the VM's own boot order names.
func bootDisks(o *types.VirtualMachineBootOptions) (keys []int32) {
	if o == nil {
		return nil
	}
	for _, d := range o.BootOrder {
		if disk, ok := d.(*types.VirtualMachineBootOptionsBootableDiskDevice); ok && disk != nil {
			keys = append(keys, disk.DeviceKey)
		}
	}
	return keys
}

func isTrue(b *bool) bool { return b != nil && *b }

// hardwareVersion reads 19 out of "vmx-19".
func hardwareVersion(v string) int {
	n, err := strconv.Atoi(strings.TrimPrefix(v, "vmx-"))
	if err != nil {
		return 0
	}
	return n
}

// pinned names the affinities that bind the VM to parts of its host.
func pinned(c types.VirtualMachineConfigInfo) []string {
	var out []string
	set := func(what string, a *types.VirtualMachineAffinityInfo) {
		if a != nil && len(a.AffinitySet) > 0 {
			ids := make([]string, len(a.AffinitySet))
			for i, n := range a.AffinitySet {
				ids[i] = strconv.Itoa(int(n))
			}
			out = append(out, what+" "+strings.Join(ids, ","))
		}
	}
	set("cpu", c.CpuAffinity)
	set("memory", c.MemoryAffinity)
	for _, o := range c.ExtraConfig {
		if v := o.GetOptionValue(); v != nil && strings.EqualFold(v.Key, "numa.nodeAffinity") {
			if text, ok := v.Value.(string); ok && text != "" {
				out = append(out, "numa "+text)
			}
		}
	}
	return out
}

func snapshotNames(trees []types.VirtualMachineSnapshotTree, names []string) []string {
	for _, t := range trees {
		names = append(names, shown(t.Name))
		names = snapshotNames(t.ChildSnapshotList, names)
	}
	return names
}
