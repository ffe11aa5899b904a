package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/resource"
	virt "kubevirt.io/api/core/v1"
)

// instance has one disk on each bus, a card on the pod's network and one on another, and what change makes of it.
func instance(change func(*virt.VirtualMachineInstance)) *virt.VirtualMachineInstance {
	first := uint(1)
	memory := resource.MustParse("64Mi")
	disk := func(name string, bus virt.DiskBus, order *uint) virt.Disk {
		return virt.Disk{Name: name, BootOrder: order, Serial: "s,1", DiskDevice: virt.DiskDevice{Disk: &virt.DiskTarget{Bus: bus}}}
	}
	vmi := &virt.VirtualMachineInstance{}
	vmi.Namespace, vmi.Name = "shop", "web"
	vmi.Spec.Domain.CPU, vmi.Spec.Domain.Memory = &virt.CPU{Sockets: 2, Cores: 2}, &virt.Memory{Guest: &memory}
	vmi.Spec.Domain.Devices.Disks = []virt.Disk{disk("a", virt.DiskBusVirtio, nil), disk("b", virt.DiskBusSATA, nil), disk("c", virt.DiskBusSCSI, &first), disk("d", virt.DiskBusUSB, nil)}
	vmi.Spec.Domain.Devices.Interfaces = []virt.Interface{{Name: "front", MacAddress: "00:50:56:01:02:03"}, {Name: "back", Model: "e1000e"}}
	vmi.Spec.Networks = []virt.Network{{Name: "front", NetworkSource: virt.NetworkSource{Pod: &virt.PodNetwork{}}},
		{Name: "back", NetworkSource: virt.NetworkSource{Multus: &virt.MultusNetwork{NetworkName: "vlan"}}}}
	if change != nil {
		change(vmi)
	}
	return vmi
}

func withEFI(secure bool) func(*virt.VirtualMachineInstance) {
	return func(vmi *virt.VirtualMachineInstance) {
		vmi.Spec.Domain.Firmware = &virt.Firmware{Bootloader: &virt.Bootloader{EFI: &virt.EFI{SecureBoot: &secure}}, UUID: "564d1c30-8a8f-4f5e-9d9b-0123456789ab", Serial: "VMware-56 4d"}
	}
}

func room(t *testing.T) machine {
	// A socket's path may not be long, and t.TempDir's is.
	dir, err := os.MkdirTemp("", "guest")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	m := machine{dir: dir, disks: map[string]string{}}
	for _, name := range []string{"a", "b", "c", "d"} {
		m.disks[name] = filepath.Join(dir, name+",1.img")
		if err := os.WriteFile(m.disks[name], make([]byte, 1<<20), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return m
}

// qemu itself is asked whether it takes each machine, and what became of it.
func TestMachineIsTaken(t *testing.T) {
	if _, err := exec.LookPath("qemu-system-x86_64"); err != nil {
		t.Skip("no qemu-system-x86_64")
	}
	for what, change := range map[string]func(*virt.VirtualMachineInstance){"BIOS": nil, "EFI": withEFI(false), "secure boot": withEFI(true)} {
		t.Run(what, func(t *testing.T) {
			m, vmi := room(t), instance(change)
			if efi(vmi) {
				var err error
				if m.code, m.vars, err = firmware(m.dir, secure(vmi)); err != nil {
					t.Skip(err)
				}
			}
			args, err := m.arguments(vmi)
			if err != nil {
				t.Fatal(err)
			}
			g := &guest{dir: m.dir, pod: pod{network: "/proc/self/ns/net"}, ended: make(chan struct{})}
			if err := g.run(append(args, "-S")); err != nil {
				t.Fatal(err)
			}
			defer g.cut()
			b, err := g.monitor(command{Execute: "query-block"})
			if err != nil {
				t.Fatal(err)
			}
			for _, file := range m.disks {
				if !strings.Contains(string(b), file) {
					t.Errorf("%s is not among qemu's disks: %s", file, b)
				}
			}
			if b, err = g.monitor(command{Execute: "query-cpus-fast"}); err != nil || strings.Count(string(b), "cpu-index") != 4 {
				t.Errorf("CPUs are %s, %v", b, err)
			}
			if b, err = g.monitor(command{Execute: "query-kvm"}); err != nil || !strings.Contains(string(b), `"enabled": false`) {
				t.Errorf("KVM is %s, %v", b, err)
			}
			if err := g.console("hostfwd_add net0 " + rule("tcp:7", "127.0.0.1", true)); err == nil {
				_, _ = g.monitor(command{"human-monitor-command", map[string]string{"command-line": "hostfwd_remove net0 " + rule("tcp:7", "127.0.0.1", false)}})
			} else {
				t.Errorf("a port of the pod's interface: %v", err)
			}
		})
	}
}

func TestBootOrder(t *testing.T) {
	args, err := room(t).arguments(instance(nil))
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(args, func(a string) bool { return strings.Contains(a, "bootindex=1,") })
	if i < 0 || !strings.HasPrefix(args[i], "scsi-hd,bus=scsi0.0,drive=disk2,") {
		t.Errorf("what is booted from is not disk c: %v", args)
	}
}

func TestMachinesThatAreRefused(t *testing.T) {
	for what, change := range map[string]func(*virt.VirtualMachineInstance){
		"a bus that is none":    func(v *virt.VirtualMachineInstance) { v.Spec.Domain.Devices.Disks[0].Disk.Bus = "ide" },
		"a card that is none":   func(v *virt.VirtualMachineInstance) { v.Spec.Domain.Devices.Interfaces[1].Model = "vmxnet3" },
		"a disk with no volume": func(v *virt.VirtualMachineInstance) { v.Spec.Domain.Devices.Disks[0].Name = "else" },
	} {
		if args, err := room(t).arguments(instance(change)); err == nil {
			t.Errorf("%s: %v", what, args)
		}
	}
}
