package vsphere

import (
	"cmp"

	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/vim25/types"

	"landfall/engine/machine"
)

// leftBehind names the devices that a migration does not carry over, and whether there is a virtual TPM.
func leftBehind(devices object.VirtualDeviceList) (out []machine.Device, tpm bool) {
	for _, d := range devices {
		kind := ""
		switch d.(type) {
		case *types.VirtualTPM:
			tpm = true
		case *types.VirtualPCIPassthrough:
			kind = "pci"
		case *types.VirtualSCSIPassthrough:
			kind = "scsi"
		case *types.VirtualUSB:
			kind = "usb"
		case types.BaseVirtualSoundCard:
			kind = "sound"
		case *types.VirtualSerialPort:
			kind = "serial"
		case *types.VirtualParallelPort:
			kind = "parallel"
		case *types.VirtualFloppy:
			kind = "floppy"
		case *types.VirtualCdrom:
			kind = "cdrom"
		case *types.VirtualNVDIMM:
			kind = "nvdimm"
		}
		if kind != "" {
			v := d.GetVirtualDevice()
			out = append(out, machine.Device{Kind: kind, Label: label(v), Detail: detail(v.Backing)})
		}
	}
	return out, tpm
}

// detail is what a device is connected to, as far as its backing says.
func detail(b types.BaseVirtualDeviceBackingInfo) string {
	switch t := b.(type) {
	case types.BaseVirtualDeviceFileBackingInfo:
		return t.GetVirtualDeviceFileBackingInfo().FileName
	case types.BaseVirtualDeviceDeviceBackingInfo:
		return t.GetVirtualDeviceDeviceBackingInfo().DeviceName
	case types.BaseVirtualDeviceRemoteDeviceBackingInfo:
		return t.GetVirtualDeviceRemoteDeviceBackingInfo().DeviceName
	case types.BaseVirtualDeviceURIBackingInfo:
		return t.GetVirtualDeviceURIBackingInfo().ServiceURI
	case types.BaseVirtualDevicePipeBackingInfo:
		return t.GetVirtualDevicePipeBackingInfo().PipeName
	case *types.VirtualPCIPassthroughVmiopBackingInfo:
		return cmp.Or(t.Vgpu, "vGPU")
	}
	return ""
}
