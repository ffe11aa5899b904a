package esxsim

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"path/filepath"
	"strings"
)

// layer is one file pair of a disk's chain: the base, or a delta of a snapshot.
type layer struct {
	Descriptor string `json:"descriptor"` // file name in the disk's folder
	Extent     string `json:"extent"`
	Parent     int    `json:"parent"` // index in the disk's layers, -1 for the base
	// Of a delta: the change id as of the snapshot that it began, and whether
	// that snapshot is gone without it.
	ChangeID string `json:"changeID,omitempty"`
	Orphan   bool   `json:"orphan,omitempty"`
}

func (l layer) delta() bool { return l.Parent >= 0 }

// descriptorText is what a host writes into NAME.vmdk.
func descriptorText(d Disk, size int64, l layer, parent *layer, tracking bool) string {
	var b strings.Builder
	version, kind, extent, parentCID := 1, "vmfs", "VMFS", "ffffffff"
	if tracking {
		version = 3
	}
	if l.delta() {
		kind, extent, parentCID = "vmfsSparse", "VMFSSPARSE", contentID(d.UUID, parent.Descriptor)
	}
	fmt.Fprintf(&b, "# Disk DescriptorFile\nversion=%d\nencoding=\"UTF-8\"\nCID=%s\nparentCID=%s\nisNativeSnapshot=\"no\"\ncreateType=%q\n",
		version, contentID(d.UUID, l.Descriptor), parentCID, kind)
	if l.delta() {
		fmt.Fprintf(&b, "parentFileNameHint=\"%s\"\n", parent.Descriptor)
	}
	fmt.Fprintf(&b, "# Extent description\nRW %d %s \"%s\"\n\n", size/512, extent, l.Extent)
	if tracking {
		fmt.Fprintf(&b, "# Change Tracking File\nchangeTrackPath=\"%s\"\n\n", trackingFile(l.Descriptor))
	}
	adapter := "lsilogic"
	if d.Bus == "ide" {
		adapter = "ide"
	}
	fmt.Fprintf(&b, "# The Disk Data Base \n#DDB\n\nddb.adapterType = %q\n", adapter)
	if !l.delta() {
		fmt.Fprintf(&b, "ddb.geometry.cylinders = \"%d\"\nddb.geometry.heads = \"255\"\nddb.geometry.sectors = \"63\"\n", min(size/512/255/63, 65535))
	}
	fmt.Fprintf(&b, "ddb.longContentID = \"%s\"\n", strings.ReplaceAll(stableUUID(d.UUID, l.Descriptor), "-", ""))
	if !d.Thick && !l.delta() {
		b.WriteString("ddb.thinProvisioned = \"1\"\n")
	}
	if !l.delta() {
		fmt.Fprintf(&b, "ddb.uuid = \"%s\"\nddb.virtualHWVersion = \"19\"\n", spacedUUID(d.UUID))
	}
	return b.String()
}

func trackingFile(descriptor string) string {
	return strings.TrimSuffix(descriptor, ".vmdk") + "-ctk.vmdk"
}

func contentID(parts ...string) string {
	return fmt.Sprintf("%08x", crc32.ChecksumIEEE([]byte(strings.Join(parts, "\x00")))&0x7fffffff)
}

// spacedUUID has the form of a descriptor: "60 00 C2 9x xx xx xx xx-xx xx …".
func spacedUUID(u string) string {
	h := strings.ToLower(strings.ReplaceAll(u, "-", ""))
	var b strings.Builder
	for i := 0; i+2 <= len(h); i += 2 {
		switch i {
		case 0:
		case 16:
			b.WriteByte('-')
		default:
			b.WriteByte(' ')
		}
		b.WriteString(h[i : i+2])
	}
	return b.String()
}

// writeDescriptor replaces the descriptor of a layer.
func writeDescriptor(dir string, d Disk, size int64, layers []layer, index int, tracking bool) error {
	l := layers[index]
	var parent *layer
	if l.delta() {
		parent = &layers[l.Parent]
	}
	return writeFile(filepath.Join(dir, l.Descriptor), []byte(descriptorText(d, size, l, parent, tracking)))
}

// writeEmptyDelta makes the sparse extent of a snapshot taken just now: a
// header and a grain directory without grains.
func writeEmptyDelta(name string, size int64, parent string) error {
	const sector, tableSpan = 512, 4096
	sectors := uint32(size / sector)
	entries := (sectors + tableSpan - 1) / tableSpan
	b := make([]byte, 4*sector+(int(entries)*4+sector-1)/sector*sector)
	le := binary.LittleEndian
	copy(b, "COWD")
	le.PutUint32(b[4:], 1) // version
	le.PutUint32(b[8:], 3) // flags
	le.PutUint32(b[12:], sectors)
	le.PutUint32(b[16:], 1) // grain size
	le.PutUint32(b[20:], 4) // grain directory
	le.PutUint32(b[24:], entries)
	le.PutUint32(b[28:], uint32(len(b)/sector)) // first free sector
	copy(b[32:32+1023], parent)
	return writeFile(name, b)
}
