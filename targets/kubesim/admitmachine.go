package kubesim

import (
	"fmt"
	"net"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"
	virtv1 "kubevirt.io/api/core/v1"
)

var runStrategies = []virtv1.VirtualMachineRunStrategy{
	virtv1.RunStrategyHalted, virtv1.RunStrategyManual, virtv1.RunStrategyAlways, virtv1.RunStrategyRerunOnFailure, virtv1.RunStrategyOnce,
}

// admitMachine is KubeVirt's webhook for VirtualMachines, as far as it looks at what a migration renders.
func admitMachine(t tx, o object) error {
	vm, err := typed[virtv1.VirtualMachine](o)
	if err != nil {
		return err
	}
	const webhook = "virtualmachine-validator.kubevirt.io"
	spec := &vm.Spec
	if spec.Template == nil {
		return denied(webhook, []cause{{Type: "FieldValueRequired", Message: "missing virtual machine template.", Field: "spec.template"}})
	}
	sized, causes := t.instancetype(vm)
	if len(causes) == 0 {
		causes = instanceCauses("spec.template.spec", &spec.Template.Spec, sized)
	}
	for i, d := range spec.DataVolumeTemplates {
		if !slices.ContainsFunc(spec.Template.Spec.Volumes, func(v virtv1.Volume) bool { return claimOf(v) == d.Name }) {
			field := fmt.Sprintf("spec.dataVolumeTemplate[%d]", i)
			causes = append(causes, invalidCause(field, "DataVolumeTemplate entry %s must be referenced in the VMI template's 'volumes' list", field))
		}
	}
	switch {
	case spec.Running != nil && spec.RunStrategy != nil:
		causes = append(causes, invalidCause("spec.running", "Running and RunStrategy are mutually exclusive. Note that Running is deprecated, please use RunStrategy instead"))
	case spec.Running == nil && spec.RunStrategy == nil:
		causes = append(causes, invalidCause("spec.running", "One of Running or RunStrategy must be specified"))
	case spec.RunStrategy != nil && !slices.Contains(runStrategies, *spec.RunStrategy):
		causes = append(causes, invalidCause("spec.runStrategy", "Invalid RunStrategy (%s)", *spec.RunStrategy))
	}
	return denied(webhook, causes)
}

// instancetype looks up what the VM refers to; sized says that CPU and memory come from there.
func (t tx) instancetype(vm *virtv1.VirtualMachine) (sized bool, causes []cause) {
	missing := func(field, what, n string, err string) {
		causes = append(causes, cause{Type: "FieldValueNotFound", Field: field, Message: fmt.Sprintf("Failure to find %s: %s %q not found", what, err, n)})
	}
	if m := vm.Spec.Instancetype; m != nil {
		k, ns := &clusterTypes, ""
		if strings.EqualFold(m.Kind, localTypes.name) {
			k, ns = &localTypes, vm.Namespace
		}
		if t.get(k, ns, m.Name) == nil {
			missing("spec.instancetype", "instancetype", m.Name, k.plural+"."+k.group)
		}
		sized = true
		d := vm.Spec.Template.Spec.Domain
		for field, taken := range map[string]bool{"cpu": d.CPU != nil && (d.CPU.Cores|d.CPU.Sockets|d.CPU.Threads) != 0, "memory": d.Memory != nil} {
			if taken {
				path := "spec.template.spec.domain." + field
				causes = append(causes, invalidCause(path, "VM field(s) %s conflicts with selected instance type", path))
			}
		}
	}
	if m := vm.Spec.Preference; m != nil {
		k, ns := &clusterPrefs, ""
		if strings.EqualFold(m.Kind, localPrefs.name) {
			k, ns = &localPrefs, vm.Namespace
		}
		p := t.get(k, ns, m.Name)
		if p == nil {
			missing("spec.preference", "preference", m.Name, k.plural+"."+k.group)
		}
		if p != nil && !sized {
			causes = append(causes, insufficient(p, vm)...)
		}
	}
	return sized, causes
}

// insufficient says where a VM does not meet what its preference requires.
func insufficient(p object, vm *virtv1.VirtualMachine) (causes []cause) {
	d := vm.Spec.Template.Spec.Domain
	has, memory := int64(1), resource.Quantity{}
	if c := d.CPU; c != nil {
		has = int64(max(c.Sockets, 1)) * int64(max(c.Cores, 1)) * int64(max(c.Threads, 1))
	}
	if d.Memory != nil && d.Memory.Guest != nil {
		memory = *d.Memory.Guest
	}
	const field = "spec.template.spec.domain."
	if need, ok := at(p, "spec", "requirements", "cpu", "guest").(int64); ok && has < need {
		causes = append(causes, invalidCause(field+"cpu", "failure checking preference requirements: insufficient CPU resources of %d vCPU provided by VirtualMachine, preference requires %d vCPU", has, need))
	}
	if need := str(p, "spec", "requirements", "memory", "guest"); need != "" && memory.Cmp(quantity(need)) < 0 {
		causes = append(causes, invalidCause(field+"memory", "failure checking preference requirements: insufficient Memory resources of %s provided by VirtualMachine, preference requires %s", memory.String(), need))
	}
	return causes
}

func admitInstance(o, old object) error {
	vmi, err := typed[virtv1.VirtualMachineInstance](o)
	if err != nil {
		return err
	}
	if old != nil {
		if !reflect.DeepEqual(o["spec"], old["spec"]) {
			return denied("virtualmachineinstances-update-validator.kubevirt.io", []cause{invalidCause("spec", "update of VMI object is restricted")})
		}
		return nil
	}
	return denied("virtualmachineinstances-create-validator.kubevirt.io", instanceCauses("spec", &vmi.Spec, false))
}

var (
	diskSerial = regexp.MustCompile(`^[A-Za-z0-9_.+-]+$`)
	diskBuses  = []virtv1.DiskBus{virtv1.DiskBusVirtio, virtv1.DiskBusSCSI, virtv1.DiskBusSATA, virtv1.DiskBusUSB}
	nicModels  = []string{"e1000", "e1000e", "igb", "ne2k_pci", "pcnet", "rtl8139", "virtio"}
)

func instanceCauses(field string, spec *virtv1.VirtualMachineInstanceSpec, sized bool) []cause {
	var causes []cause
	add := func(f, format string, args ...any) {
		causes = append(causes, invalidCause(field+"."+f, format, args...))
	}
	d := spec.Domain
	noMemory := (d.Memory == nil || d.Memory.Guest == nil && d.Memory.Hugepages == nil) && d.Resources.Requests.Memory().IsZero()
	if noMemory && !sized {
		add("domain.memory.guest", "no memory requested, at least one of 'memory.guest', 'memory.hugepages.size' or 'resources.requests.memory' must be set")
	}
	if d.Memory != nil && d.Memory.Guest != nil && d.Memory.Guest.Sign() <= 0 {
		add("domain.memory.guest", "%s.domain.memory.guest '%s': must be greater than 0.", field, d.Memory.Guest)
	}
	if spec.Architecture != "amd64" && spec.Architecture != "arm64" && spec.Architecture != "s390x" {
		add("architecture", "unsupported architecture: %s", spec.Architecture)
	}
	if fw := d.Firmware; fw != nil && fw.Bootloader != nil && fw.Bootloader.EFI != nil {
		secure := fw.Bootloader.EFI.SecureBoot == nil || *fw.Bootloader.EFI.SecureBoot
		smm := d.Features != nil && d.Features.SMM != nil && (d.Features.SMM.Enabled == nil || *d.Features.SMM.Enabled)
		if secure && !smm {
			add("domain.firmware.bootloader.efi.secureBoot", "%s.domain.firmware.bootloader.efi.secureBoot has SecureBoot enabled. Either set SecureBoot to false or enable SMM in the domain features", field)
		}
		if fw.Bootloader.BIOS != nil {
			add("domain.firmware.bootloader.efi", "%s.domain.firmware.bootloader has both EFI and BIOS configured, but they are mutually exclusive.", field)
		}
	}
	causes = append(causes, diskCauses(field, spec)...)
	causes = append(causes, networkCauses(field, spec)...)
	for i, in := range d.Devices.Inputs {
		if in.Bus != "" && in.Bus != virtv1.InputBusUSB && in.Bus != virtv1.InputBusVirtio {
			add(fmt.Sprintf("domain.devices.inputs[%d].bus", i), "Input device can have only virtio or usb bus.")
		}
		if in.Type != virtv1.InputTypeTablet {
			add(fmt.Sprintf("domain.devices.inputs[%d].type", i), "Input device can have only tablet type.")
		}
	}
	return causes
}

func diskCauses(field string, spec *virtv1.VirtualMachineInstanceSpec) []cause {
	var causes []cause
	orders, names, volumeNames := map[uint]bool{}, map[string]bool{}, map[string]bool{}
	for i, v := range spec.Volumes {
		f := fmt.Sprintf("%s.volumes[%d]", field, i)
		if volumeNames[v.Name] {
			causes = append(causes, invalidCause(f+".name", "%s.volumes must not have the same name for multiple volumes", field))
		}
		volumeNames[v.Name] = true
		set := 0
		for s, j := reflect.ValueOf(v.VolumeSource), 0; j < s.NumField(); j++ {
			if !s.Field(j).IsNil() {
				set++
			}
		}
		if set != 1 {
			causes = append(causes, invalidCause(f, "%s must have exactly one source type set", f))
		}
	}
	for i, disk := range spec.Domain.Devices.Disks {
		f := fmt.Sprintf("%s.domain.devices.disks[%d]", field, i)
		if names[disk.Name] {
			causes = append(causes, invalidCause(f+".name", "%s and %s must not have the same Name.", f, f))
		}
		names[disk.Name] = true
		if !volumeNames[disk.Name] {
			causes = append(causes, invalidCause(f+".name", "%s '%s' not found.", f+".Name", disk.Name))
		}
		bus, kind := busOf(disk)
		if bus == "ide" {
			causes = append(causes, invalidCause(f+"."+kind+".bus", "IDE bus is not supported"))
		} else if bus != "" && !slices.Contains(diskBuses, bus) {
			causes = append(causes, invalidCause(f+"."+kind+".bus", "%s is set with an unrecognized bus %s, must be one of: %v", f, bus, diskBuses))
		}
		if kind == "cdrom" && bus == virtv1.DiskBusVirtio {
			causes = append(causes, invalidCause(f+".cdrom.bus", "Bus type %s is invalid for CD-ROM device", bus))
		}
		if o := disk.BootOrder; o != nil {
			if *o < 1 {
				causes = append(causes, invalidCause(f+".bootOrder", "%s must have a boot order > 0, if supplied", f))
			} else if orders[*o] {
				causes = append(causes, invalidCause(f+".bootOrder", "Boot order for %s already set for a different device.", f+".bootOrder"))
			}
			orders[*o] = true
		}
		if disk.Serial != "" && !diskSerial.MatchString(disk.Serial) {
			causes = append(causes, invalidCause(f+".serial", "%s must be made up of the following characters [A-Za-z0-9_.+-], if specified", f))
		}
		if len(disk.Serial) > 256 {
			causes = append(causes, invalidCause(f+".serial", "%s must be less than or equal to 256 in length, if specified", f))
		}
	}
	for i, v := range spec.Volumes {
		if !names[v.Name] && v.Name != "" && v.MemoryDump == nil {
			f := fmt.Sprintf("%s.domain.volumes[%d].name", field, i)
			causes = append(causes, invalidCause(f, "%s '%s' not found.", f, v.Name))
		}
	}
	return causes
}

// busOf is the bus of a disk, and which of its device types is set.
func busOf(d virtv1.Disk) (virtv1.DiskBus, string) {
	switch {
	case d.LUN != nil:
		return d.LUN.Bus, "lun"
	case d.CDRom != nil:
		return d.CDRom.Bus, "cdrom"
	case d.Disk != nil:
		return d.Disk.Bus, "disk"
	}
	return "", "disk"
}

func networkCauses(field string, spec *virtv1.VirtualMachineInstanceSpec) []cause {
	var causes []cause
	byName, podNetworks := map[string]virtv1.Network{}, 0
	for i, n := range spec.Networks {
		f := fmt.Sprintf("%s.networks[%d]", field, i)
		if _, twice := byName[n.Name]; twice {
			causes = append(causes, cause{Type: "FieldValueDuplicate", Field: f + ".name", Message: fmt.Sprintf("Network with name %q already exists, every network must have a unique name", n.Name)})
		}
		byName[n.Name] = n
		switch {
		case n.Pod != nil && n.Multus != nil:
			causes = append(causes, invalidCause(f, "should have only one network type"))
		case n.Pod != nil:
			podNetworks++
		case n.Multus != nil && n.Multus.NetworkName == "":
			causes = append(causes, invalidCause(f+".multus", "CNI delegating plugin must have a networkName"))
		case n.Multus == nil:
			causes = append(causes, invalidCause(f, "should have a network type"))
		}
	}
	if podNetworks > 1 {
		causes = append(causes, cause{Type: "FieldValueDuplicate", Field: field + ".networks", Message: fmt.Sprintf("more than one interface is connected to a pod network in %s.networks", field)})
	}
	used, macs := map[string]bool{}, map[string]bool{}
	for i, in := range spec.Domain.Devices.Interfaces {
		f := fmt.Sprintf("%s.domain.devices.interfaces[%d]", field, i)
		network, ok := byName[in.Name]
		if !ok {
			causes = append(causes, invalidCause(f+".name", "%s '%s' not found.", f+".name", in.Name))
		}
		if used[in.Name] {
			causes = append(causes, cause{Type: "FieldValueDuplicate", Field: f + ".name", Message: "Only one interface can be connected to one specific network"})
		}
		used[in.Name] = true
		if in.Masquerade != nil && ok && network.Pod == nil {
			causes = append(causes, invalidCause(f+".name", "Masquerade interface only implemented with pod network"))
		}
		if in.Model != "" && !slices.Contains(nicModels, in.Model) {
			causes = append(causes, cause{Type: "FieldValueNotSupported", Field: f + ".model", Message: fmt.Sprintf("interface %s uses model %s that is not supported.", f+".name", in.Model)})
		}
		if in.MacAddress != "" {
			mac, err := net.ParseMAC(in.MacAddress)
			if err != nil || len(mac) != 6 {
				causes = append(causes, invalidCause(f+".macAddress", "interface %s has malformed MAC address (%s).", f+".name", in.MacAddress))
			} else if macs[mac.String()] {
				causes = append(causes, cause{Type: "FieldValueDuplicate", Field: f + ".macAddress", Message: fmt.Sprintf("interface %s has MAC address (%s) already in use.", f+".name", in.MacAddress)})
			}
			macs[mac.String()] = true
		}
	}
	for i, n := range spec.Networks {
		if !used[n.Name] {
			f := fmt.Sprintf("%s.networks[%d].name", field, i)
			causes = append(causes, cause{Type: "FieldValueRequired", Field: f, Message: fmt.Sprintf("%s '%s' not found.", f, n.Name)})
		}
	}
	return causes
}

// claimOf is the claim behind a volume; a DataVolume's claim has its name.
func claimOf(v virtv1.Volume) string {
	switch {
	case v.DataVolume != nil:
		return v.DataVolume.Name
	case v.PersistentVolumeClaim != nil:
		return v.PersistentVolumeClaim.ClaimName
	}
	return ""
}
