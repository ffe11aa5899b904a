package esxsim

import (
	"fmt"
	"io"
	"strings"
)

// Disk describes a virtual disk. Only Size is needed.
type Disk struct {
	Size       int64  `json:"size"`                 // bytes, a multiple of 512
	Thick      bool   `json:"thick,omitempty"`      // the allocated map of a thick disk is the whole disk
	Bus        string `json:"bus,omitempty"`        // scsi (default), sata, ide, nvme
	BusNumber  int32  `json:"busNumber,omitempty"`  // which controller of the bus
	Controller string `json:"controller,omitempty"` // of a scsi bus: pvscsi (default), lsilogic, lsilogic-sas, buslogic
	Unit       *int32 `json:"unit,omitempty"`       // default the next free
	Mode       string `json:"mode,omitempty"`       // persistent (default), independent_persistent, …
	Sharing    string `json:"sharing,omitempty"`    // sharingNone (default), sharingMultiWriter
	Datastore  string `json:"datastore,omitempty"`  // default the VM's
	Directory  string `json:"directory,omitempty"`  // default the VM's
	File       string `json:"file,omitempty"`       // descriptor, default NAME.vmdk, NAME_1.vmdk, …
	Extent     string `json:"extent,omitempty"`     // default derived from File; anything goes, as on vSAN
	UUID       string `json:"uuid,omitempty"`

	Contents Contents `json:"contents"`
	Bare     bool     `json:"bare,omitempty"` // descriptor only: nothing can be read
}

// Contents is what a disk holds when it is first made. At most one of From,
// File and Ranges is set; none means zeros. An extent that is already in Dir
// is never filled again.
type Contents struct {
	From   io.ReaderAt `json:"-"`                // read up to the disk's size
	File   string      `json:"file,omitempty"`   // a raw image; its holes stay holes
	Seed   uint64      `json:"seed,omitempty"`   // with Ranges: Pattern{Seed, Ranges}
	Ranges []Range     `json:"ranges,omitempty"` // where there is data
}

// Range is a stretch of a disk in bytes.
type Range struct {
	Offset int64 `json:"offset"`
	Length int64 `json:"length"`
}

func (d Disk) withDefaults(v VM, index int) (Disk, error) {
	if d.Size < 0 || d.Size%512 != 0 {
		return d, fmt.Errorf("vm %q disk %d: size %d is not a multiple of 512", v.Name, index, d.Size)
	}
	def(&d.Bus, "scsi")
	def(&d.Controller, "pvscsi")
	def(&d.Mode, "persistent")
	def(&d.Sharing, "sharingNone")
	def(&d.Datastore, v.Datastore)
	def(&d.Directory, v.Directory)
	if d.File == "" {
		d.File = fileName(v.Name) + ".vmdk"
		if index > 0 {
			d.File = fmt.Sprintf("%s_%d.vmdk", fileName(v.Name), index)
		}
	}
	def(&d.Extent, strings.TrimSuffix(d.File, ".vmdk")+"-flat.vmdk")
	def(&d.UUID, diskUUID(v.InstanceUUID, d.File))
	switch d.Bus {
	case "scsi", "sata", "ide", "nvme":
	default:
		return d, fmt.Errorf("vm %q disk %d: bus %q is unknown, use scsi, sata, ide or nvme", v.Name, index, d.Bus)
	}
	return d, nil
}

// diskUUID has the form that hosts give: 6000C29… .
func diskUUID(parts ...string) string {
	u := stableUUID(append(parts, "disk")...)
	return "6000c29" + u[7:]
}
