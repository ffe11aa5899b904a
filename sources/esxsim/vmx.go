package esxsim

import (
	"fmt"
	"strings"
)

// writeVMX writes the VM's configuration file.
func (m *machine) writeVMX() error {
	var b strings.Builder
	set := func(key, format string, a ...any) {
		fmt.Fprintf(&b, "%s = \"%s\"\n", key, vmxEscape(fmt.Sprintf(format, a...)))
	}
	v := m.spec
	set(".encoding", "UTF-8")
	set("config.version", "8")
	set("virtualHW.version", "%s", strings.TrimPrefix(v.HardwareVersion, "vmx-"))
	set("displayName", "%s", m.name)
	set("guestOS", "%s", strings.TrimSuffix(strings.ToLower(v.GuestID), "guest"))
	set("uuid.bios", "%s", spacedUUID(v.UUID))
	set("vc.uuid", "%s", spacedUUID(v.InstanceUUID))
	set("firmware", "%s", v.Firmware)
	if v.SecureBoot {
		set("uefi.secureBoot.enabled", "TRUE")
	}
	set("numvcpus", "%d", v.CPUs)
	set("cpuid.coresPerSocket", "%d", v.CoresPerSocket)
	set("memSize", "%d", v.MemoryMiB)
	if v.Annotation != "" {
		set("annotation", "%s", v.Annotation)
	}
	if m.tracking {
		set("ctkEnabled", "TRUE")
	}
	seen := map[string]bool{}
	for _, d := range m.disks {
		ctl := fmt.Sprintf("%s%d", d.spec.Bus, d.spec.BusNumber)
		if !seen[ctl] && d.spec.Bus != "ide" {
			seen[ctl] = true
			set(ctl+".present", "TRUE")
			if d.spec.Bus == "scsi" {
				set(ctl+".virtualDev", "%s", strings.Replace(d.spec.Controller, "-", "", 1))
			}
		}
		dev := fmt.Sprintf("%s:%d", ctl, d.unit)
		set(dev+".present", "TRUE")
		kind := "disk"
		if d.spec.Bus == "scsi" {
			kind = "scsi-hardDisk"
		}
		set(dev+".deviceType", "%s", kind)
		file := d.layers[d.top].Descriptor
		if d.store != m.home || d.spec.Directory != v.Directory {
			file = "/vmfs/volumes/" + d.store.spec.Name + "/" + d.spec.Directory + "/" + file
		}
		set(dev+".fileName", "%s", file)
	}
	for i, n := range v.NICs {
		dev := fmt.Sprintf("ethernet%d", i)
		model, net := n.Model, n.Network
		def(&model, "vmxnet3")
		def(&net, "VM Network")
		set(dev+".present", "TRUE")
		set(dev+".virtualDev", "%s", model)
		set(dev+".networkName", "%s", net)
	}
	return writeFile(m.home.abs(m.vmx().file), []byte(b.String()))
}

// vmxEscape encodes what would end the value, as a host does: |22 is a quote.
func vmxEscape(s string) string {
	var b strings.Builder
	for _, c := range []byte(s) {
		if c == '"' || c == '|' || c < 0x20 {
			fmt.Fprintf(&b, "|%02X", c)
			continue
		}
		b.WriteByte(c)
	}
	return b.String()
}
