package kubevirt

import (
	"encoding/hex"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/types"
	virt "kubevirt.io/api/core/v1"
)

func (r *rendering) resources(d *virt.DomainSpec) {
	vm := r.in.VM
	if vm.CPUs <= 0 || vm.MemoryMiB <= 0 {
		r.fail("the source has %d CPUs and %d MiB of memory", vm.CPUs, vm.MemoryMiB)
		return
	}
	sockets, cores := uint32(vm.CPUs), uint32(1)
	if c := vm.CoresPerSocket; c > 0 {
		if vm.CPUs%c == 0 {
			sockets, cores = uint32(vm.CPUs/c), uint32(c)
		} else {
			r.note("%d CPUs are not a multiple of %d cores per socket: rendered as %d sockets of one core", vm.CPUs, c, vm.CPUs)
		}
	}
	d.CPU = &virt.CPU{Sockets: sockets, Cores: cores, Threads: 1}
	d.Memory = &virt.Memory{Guest: resource.NewQuantity(vm.MemoryMiB*mib, resource.BinarySI)}
}

func (r *rendering) firmware(d *virt.DomainSpec) {
	vm := r.in.VM
	kind := r.in.Spec.Destination.Firmware
	if kind == "" || kind == "auto" {
		kind = vm.Firmware
	}
	if vm.Firmware != "" && kind != vm.Firmware {
		r.note("firmware is %s as asked; the source has %s", kind, vm.Firmware)
	}
	yes := true
	on := func() *virt.FeatureState { return &virt.FeatureState{Enabled: &yes} }
	d.Features = &virt.Features{ACPI: *on(), APIC: &virt.FeatureAPIC{FeatureState: *on()}}
	if r.guest.kind == windowsGuest {
		retries := uint32(8191)
		d.Features.Hyperv = &virt.FeatureHyperv{
			Relaxed: on(), VAPIC: on(), VPIndex: on(), SyNIC: on(), Reset: on(), Runtime: on(), Frequencies: on(), IPI: on(), TLBFlush: &virt.TLBFlush{FeatureState: *on()},
			SyNICTimer: &virt.SyNICTimer{FeatureState: *on(), Direct: on()}, Spinlocks: &virt.FeatureSpinlocks{FeatureState: *on(), Retries: &retries},
		}
	}
	d.Firmware = &virt.Firmware{Bootloader: &virt.Bootloader{BIOS: &virt.BIOS{}}}
	if kind == "efi" {
		secure := vm.SecureBoot && vm.Firmware == "efi"
		d.Firmware.Bootloader = &virt.Bootloader{EFI: &virt.EFI{SecureBoot: &secure}}
		if secure {
			d.Features.SMM = on()
		}
	} else if vm.SecureBoot {
		r.note("secure boot is left out: it needs EFI")
	}
	if uuid, serial, ok := identity(vm.BIOSUUID); ok {
		d.Firmware.UUID, d.Firmware.Serial = types.UID(uuid), serial
	} else if vm.BIOSUUID != "" {
		r.note("the source's UUID %q is not a UUID: the cluster makes a new one", bounded(vm.BIOSUUID, 128))
	}
	if vm.TPM {
		d.Devices.TPM = &virt.TPMDevice{Persistent: &yes}
		r.note("the TPM starts empty: the guest may ask for a recovery key")
	}
}

// identity gives the SMBIOS UUID and the serial number as VMware shows it to the guest: the sixteen bytes in the order of
// the UUID's text, in two halves.
func identity(uuid string) (id, serial string, ok bool) {
	b, err := hex.DecodeString(strings.ReplaceAll(uuid, "-", ""))
	if err != nil || len(b) != 16 {
		return "", "", false
	}
	h := hex.EncodeToString(b)
	id = h[:8] + "-" + h[8:12] + "-" + h[12:16] + "-" + h[16:20] + "-" + h[20:]
	pairs := make([]string, 16)
	for i := range pairs {
		pairs[i] = h[2*i : 2*i+2]
	}
	return id, "VMware-" + strings.Join(pairs[:8], " ") + "-" + strings.Join(pairs[8:], " "), true
}

func (r *rendering) clock(d *virt.DomainSpec) {
	no := false
	d.Clock = &virt.Clock{
		ClockOffset: virt.ClockOffset{UTC: &virt.ClockOffsetUTC{}},
		Timer: &virt.Timer{
			HPET: &virt.HPETTimer{Enabled: &no},
			PIT:  &virt.PITTimer{TickPolicy: virt.PITTickPolicyDelay},
			RTC:  &virt.RTCTimer{TickPolicy: virt.RTCTickPolicyCatchup},
		},
	}
	if r.guest.kind == windowsGuest {
		d.Clock.Timer.Hyperv = &virt.HypervTimer{}
	}
	zone := r.in.Spec.Destination.TimeZone
	switch {
	case zone != "":
		z := virt.ClockOffsetTimezone(zone)
		d.Clock.ClockOffset = virt.ClockOffset{Timezone: &z}
	case r.guest.kind == windowsGuest:
		r.note("the clock is UTC; Windows keeps local time unless told otherwise: set spec.destination.timeZone, or RealTimeIsUniversal in the guest")
	}
}
