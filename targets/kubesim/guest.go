package kubesim

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	virtv1 "kubevirt.io/api/core/v1"
)

// A disk that boots in the simulation carries a boot signature in its first sector, as a real one does, and at GuestOffset
// a header: one line with the magic, then JSON, then zeros to the end of the header. Neither an MBR nor a GPT with
// partitions that start at 1 MiB uses that place. The header names a region elsewhere on the disk, with its SHA-256; the
// guest boots only when the bytes there are those, and serves its pages from them.
const (
	GuestOffset = 32 << 10
	guestHeader = 4 << 10
	guestMagic  = "KUBESIM-GUEST 1\n"
	maxRegion   = 4 << 20
)

// Guest is the operating system on a bootable disk.
type Guest struct {
	Port     int      `json:"port"`               // of the web server; 0 is 80
	Firmware string   `json:"firmware,omitempty"` // bios or efi; "" boots with either
	Buses    []string `json:"buses,omitempty"`    // disk buses it has drivers for; nil is any
	NICs     []string `json:"nics,omitempty"`     // NIC models it has drivers for; nil is any
	Agent    *Agent   `json:"agent,omitempty"`    // nil is a guest without the QEMU guest agent

	Pages map[string]Page `json:"-"` // by path; they live in the region
}

// Agent is what the guest agent reports.
type Agent struct {
	Hostname      string `json:"hostname"`
	ID            string `json:"id"` // as in os-release: debian, rhel, mswindows
	PrettyName    string `json:"prettyName"`
	Version       string `json:"version"`
	KernelRelease string `json:"kernelRelease"`
}

// Page is one answer of the web server.
type Page struct {
	Status int    `json:"status,omitempty"` // 0 is 200
	Type   string `json:"type,omitempty"`   // "" is text/html
	Body   string `json:"body"`
}

type guestBlock struct {
	Guest
	Region struct {
		Offset int64  `json:"offset"`
		Length int64  `json:"length"`
		SHA256 string `json:"sha256"`
	} `json:"region"`
}

// WriteGuest makes a disk bootable: it writes the boot signature, the header, and the pages at the given offset, which
// must lie behind the header; 0 is right behind it. Nothing else of the disk is touched.
func WriteGuest(disk io.WriterAt, g Guest, at int64) error {
	if at == 0 {
		at = GuestOffset + guestHeader
	}
	if at < GuestOffset+guestHeader {
		return fmt.Errorf("write guest: the pages at %d would lie on the header, which ends at %d", at, GuestOffset+guestHeader)
	}
	pages, err := json.Marshal(g.Pages)
	if err != nil {
		return fmt.Errorf("write guest: %w", err)
	}
	if len(pages) > maxRegion {
		return fmt.Errorf("write guest: the pages have %d bytes, more than %d", len(pages), maxRegion)
	}
	block := guestBlock{Guest: g}
	sum := sha256.Sum256(pages)
	block.Region.Offset, block.Region.Length, block.Region.SHA256 = at, int64(len(pages)), hex.EncodeToString(sum[:])
	raw, err := json.Marshal(block)
	if err != nil {
		return fmt.Errorf("write guest: %w", err)
	}
	if len(guestMagic)+len(raw) > guestHeader {
		return errors.New("write guest: the header does not fit into its 4 KiB")
	}
	header := make([]byte, guestHeader)
	copy(header[copy(header, guestMagic):], raw)
	for _, w := range []struct {
		at  int64
		raw []byte
	}{{510, []byte{0x55, 0xaa}}, {GuestOffset, header}, {at, pages}} {
		if _, err := disk.WriteAt(w.raw, w.at); err != nil {
			return fmt.Errorf("write guest at %d: %w", w.at, err)
		}
	}
	return nil
}

// ReadGuest boots a disk as far as its own contents decide: the error says why it would stop.
func ReadGuest(disk io.ReaderAt) (*Guest, error) {
	signature := make([]byte, 2)
	if _, err := disk.ReadAt(signature, 510); err != nil || !bytes.Equal(signature, []byte{0x55, 0xaa}) {
		return nil, errors.New("no bootable device: the first sector has no boot signature")
	}
	header := make([]byte, guestHeader)
	if _, err := disk.ReadAt(header, GuestOffset); err != nil || !bytes.HasPrefix(header, []byte(guestMagic)) {
		return nil, errors.New("no operating system that the simulation can run")
	}
	var block guestBlock
	if err := json.Unmarshal(bytes.TrimRight(header[len(guestMagic):], "\x00"), &block); err != nil {
		return nil, fmt.Errorf("the boot block is damaged: %w", err)
	}
	r := block.Region
	if r.Length < 0 || r.Length > maxRegion || r.Offset < 0 {
		return nil, errors.New("the boot block is damaged: its region is out of bounds")
	}
	raw := make([]byte, r.Length)
	if _, err := disk.ReadAt(raw, r.Offset); err != nil {
		return nil, fmt.Errorf("the root file system cannot be read at %d: %w", r.Offset, err)
	}
	sum := sha256.Sum256(raw)
	if hex.EncodeToString(sum[:]) != r.SHA256 {
		return nil, fmt.Errorf("the root file system at %d is damaged: SHA-256 is %x, should be %s", r.Offset, sum, r.SHA256)
	}
	g := block.Guest
	if err := json.Unmarshal(raw, &g.Pages); err != nil {
		return nil, fmt.Errorf("the root file system is damaged: %w", err)
	}
	if g.Port == 0 {
		g.Port = 80
	}
	return &g, nil
}

func (g *Guest) osInfo() virtv1.VirtualMachineInstanceGuestOSInfo {
	return virtv1.VirtualMachineInstanceGuestOSInfo{
		Name: g.Agent.PrettyName, ID: g.Agent.ID, PrettyName: g.Agent.PrettyName, Version: g.Agent.Version, VersionID: g.Agent.Version,
		KernelRelease: g.Agent.KernelRelease, Machine: "x86_64",
	}
}
