package main

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	virt "kubevirt.io/api/core/v1"
)

// machine is what qemu is to be like.
type machine struct {
	dir   string            // of this guest alone
	disks map[string]string // the file of each volume, by its name
	vars  string            // a copy of the firmware's variables, for EFI
	code  string            // the firmware, for EFI
}

const (
	podNetwork = "10.0.2.0/24" // as KubeVirt's masquerade: the guest is .2 behind .1
	gateway    = "10.0.2.1"
	guestIP    = "10.0.2.2"
	nameServer = "10.0.2.3"
)

// arguments are those that make qemu the machine that the instance asks for.
func (m machine) arguments(vmi *virt.VirtualMachineInstance) ([]string, error) {
	d := vmi.Spec.Domain
	// KVM may be there and yet hang the guest, where machines are nested.
	board := "q35,accel=tcg"
	if secure(vmi) {
		board += ",smm=on"
	}
	args := []string{
		"-machine", board, "-cpu", "max", "-smp", cpus(d.CPU), "-m", strconv.FormatInt(memory(vmi)>>20, 10),
		"-nodefaults", "-no-user-config", "-display", "none", "-rtc", clock(d.Clock), "-name", vmi.Namespace + "_" + vmi.Name,
		"-serial", "file:" + filepath.Join(m.dir, "console.log"),
		"-qmp", "unix:" + filepath.Join(m.dir, "qmp") + ",server=on,wait=off",
		"-device", "virtio-serial-pci", "-chardev", "socket,id=agent,server=on,wait=off,path=" + filepath.Join(m.dir, "agent"),
		"-device", "virtserialport,chardev=agent,name=org.qemu.guest_agent.0",
	}
	if f := d.Firmware; f != nil {
		if f.UUID != "" {
			args = append(args, "-uuid", string(f.UUID))
		}
		if f.Serial != "" {
			args = append(args, "-smbios", "type=1,serial="+comma(f.Serial))
		}
	}
	if efi(vmi) {
		if secure(vmi) {
			args = append(args, "-global", "driver=cfi.pflash01,property=secure,value=on")
		}
		args = append(args, "-drive", "if=pflash,format=raw,readonly=on,file="+comma(m.code), "-drive", "if=pflash,format=raw,file="+comma(m.vars))
	}
	disks, err := m.diskArguments(d.Devices.Disks)
	if err != nil {
		return nil, err
	}
	nics, err := nicArguments(vmi)
	return append(append(args, disks...), nics...), err
}

func (m machine) diskArguments(disks []virt.Disk) (args []string, err error) {
	order := slices.Clone(disks)
	slices.SortStableFunc(order, func(a, b virt.Disk) int { return cmp.Compare(bootOrder(a), bootOrder(b)) })
	usb, scsi, sata := false, false, 0
	for i, disk := range disks {
		file := m.disks[disk.Name]
		if file == "" {
			return nil, fmt.Errorf("disk %s has no volume of that name", disk.Name)
		}
		id := fmt.Sprintf("disk%d", i)
		rank := slices.IndexFunc(order, func(d virt.Disk) bool { return d.Name == disk.Name }) + 1
		device := fmt.Sprintf("drive=%s,bootindex=%d", id, rank)
		if disk.Serial != "" {
			device += ",serial=" + comma(disk.Serial)
		}
		bus, kind, readonly := busOf(disk)
		switch bus {
		case virt.DiskBusVirtio:
			device = "virtio-blk-pci," + device
		case virt.DiskBusSATA:
			device = fmt.Sprintf("ide-%s,bus=ide.%d,%s", kind, sata, device)
			sata++
		case virt.DiskBusSCSI:
			if !scsi {
				args, scsi = append(args, "-device", "virtio-scsi-pci,id=scsi0"), true
			}
			device = fmt.Sprintf("scsi-%s,bus=scsi0.0,%s", kind, device)
		case virt.DiskBusUSB:
			if !usb {
				args, usb = append(args, "-device", "qemu-xhci,id=usb0"), true
			}
			device = "usb-storage,bus=usb0.0," + device
		default:
			return nil, fmt.Errorf("disk %s is on bus %q, which this node does not have", disk.Name, bus)
		}
		drive := fmt.Sprintf("if=none,id=%s,format=raw,discard=unmap,file=%s", id, comma(file))
		if readonly {
			drive += ",readonly=on"
		}
		args = append(args, "-drive", drive, "-device", device)
	}
	return args, nil
}

func nicArguments(vmi *virt.VirtualMachineInstance) (args []string, err error) {
	for i, n := range vmi.Spec.Domain.Devices.Interfaces {
		id := fmt.Sprintf("net%d", i)
		model, ok := nicModels[cmp.Or(n.Model, virt.VirtIO)]
		if !ok {
			return nil, fmt.Errorf("interface %s is a %q, which this node does not have", n.Name, n.Model)
		}
		device := fmt.Sprintf("%s,netdev=%s,id=nic%d", model, id, i)
		if n.MacAddress != "" {
			device += ",mac=" + strings.ReplaceAll(n.MacAddress, "-", ":")
		}
		// A network that is not the pod's leads nowhere. On the pod's the guest must be told a way out, or it cannot answer
		// anyone who does not sit on it.
		backend := "user,ipv6=off,id=" + id
		if !onPod(vmi, n) {
			backend += ",restrict=on"
		} else {
			backend += fmt.Sprintf(",net=%s,host=%s,dns=%s,dhcpstart=%s", podNetwork, gateway, nameServer, guestIP)
		}
		args = append(args, "-netdev", backend, "-device", device)
	}
	return args, nil
}

var nicModels = map[string]string{
	virt.VirtIO: "virtio-net-pci", "e1000": "e1000", "e1000e": "e1000e", "igb": "igb", "ne2k_pci": "ne2k_pci", "pcnet": "pcnet", "rtl8139": "rtl8139",
}

// onPod tells whether the interface is the one on the pod's network.
func onPod(vmi *virt.VirtualMachineInstance, n virt.Interface) bool {
	return slices.ContainsFunc(vmi.Spec.Networks, func(w virt.Network) bool { return w.Name == n.Name && w.Pod != nil })
}

func busOf(d virt.Disk) (bus virt.DiskBus, kind string, readonly bool) {
	switch {
	case d.CDRom != nil:
		return cmp.Or(d.CDRom.Bus, virt.DiskBusSATA), "cd", true
	case d.LUN != nil:
		return cmp.Or(d.LUN.Bus, virt.DiskBusSATA), "hd", d.LUN.ReadOnly
	case d.Disk != nil:
		return cmp.Or(d.Disk.Bus, virt.DiskBusSATA), "hd", d.Disk.ReadOnly
	}
	return virt.DiskBusSATA, "hd", false
}

func bootOrder(d virt.Disk) uint {
	if d.BootOrder == nil {
		return ^uint(0)
	}
	return *d.BootOrder
}

func efi(vmi *virt.VirtualMachineInstance) bool {
	f := vmi.Spec.Domain.Firmware
	return f != nil && f.Bootloader != nil && f.Bootloader.EFI != nil
}

// secure is KubeVirt's own default where an EFI does not say.
func secure(vmi *virt.VirtualMachineInstance) bool {
	if !efi(vmi) {
		return false
	}
	s := vmi.Spec.Domain.Firmware.Bootloader.EFI.SecureBoot
	return s == nil || *s
}

func cpus(c *virt.CPU) string {
	one := func(n uint32) uint32 { return max(n, 1) }
	if c == nil {
		return "1"
	}
	s, k, t := one(c.Sockets), one(c.Cores), one(c.Threads)
	return fmt.Sprintf("%d,sockets=%d,cores=%d,threads=%d", s*k*t, s, k, t)
}

func memory(vmi *virt.VirtualMachineInstance) int64 {
	if m := vmi.Spec.Domain.Memory; m != nil && m.Guest != nil {
		return m.Guest.Value()
	}
	return vmi.Spec.Domain.Resources.Requests.Memory().Value()
}

func clock(c *virt.Clock) string {
	if c != nil && c.Timezone != nil {
		return "base=localtime"
	}
	return "base=utc"
}

// comma keeps qemu from taking part of a value for another option.
func comma(s string) string { return strings.ReplaceAll(s, ",", ",,") }
