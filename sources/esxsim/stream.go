package esxsim

import (
	"bytes"
	"compress/zlib"
	"crypto/sha1"
	"encoding/binary"
	"fmt"
	"io"
	"strings"
)

const (
	sector        = 512
	grainSectors  = changeGrain / sector
	tableEntries  = 512
	markTable     = 1
	markDirectory = 2
	markFooter    = 3
)

// sparse writes a disk as hosts export it: a streamOptimized VMDK, whose
// grains are compressed and whose directory comes last.
type sparse struct {
	w       io.Writer
	at      uint64 // sectors written
	tables  []uint32
	entries []uint32 // of the table under way
	table   int64
	err     error
}

func writeStreamOptimized(w io.Writer, size int64, areas []Range, read func(p []byte, off int64) error) error {
	s := &sparse{w: w, table: 0, entries: make([]uint32, tableEntries)}
	count := (size + changeGrain - 1) / changeGrain
	s.tables = make([]uint32, (count+tableEntries-1)/tableEntries)
	descriptor := fmt.Sprintf("# Disk DescriptorFile\nversion=1\nCID=fffffffe\nparentCID=ffffffff\ncreateType=\"streamOptimized\"\n\n# Extent description\nRW %d SPARSE \"disk.vmdk\"\n\n# The Disk Data Base\n#DDB\n\nddb.adapterType = \"lsilogic\"\nddb.virtualHWVersion = \"19\"\n", size/sector)
	const descriptorSectors = 20
	s.header(size, ^uint64(0), descriptorSectors)
	s.padded([]byte(descriptor), descriptorSectors)
	s.padded(nil, 128-1-descriptorSectors)
	buf := make([]byte, changeGrain)
	for _, r := range areas {
		for off := r.Offset; off < r.Offset+r.Length && s.err == nil; off += changeGrain {
			clear(buf)
			if err := read(buf[:min(changeGrain, size-off)], off); err != nil {
				return err
			}
			if !bytes.Equal(buf, zeros[:changeGrain]) {
				s.grain(off/changeGrain, buf)
			}
		}
	}
	s.endTable()
	directory := make([]byte, (len(s.tables)*4+sector-1)/sector*sector)
	for i, t := range s.tables {
		binary.LittleEndian.PutUint32(directory[i*4:], t)
	}
	s.mark(uint64(len(directory)/sector), markDirectory)
	where := s.at
	s.padded(directory, len(directory)/sector)
	s.mark(1, markFooter)
	s.header(size, where, descriptorSectors)
	s.mark(0, 0)
	return s.err
}

func (s *sparse) header(size int64, directory uint64, descriptorSectors uint64) {
	b := make([]byte, sector)
	le := binary.LittleEndian
	copy(b, "KDMV")
	le.PutUint32(b[4:], 3)
	le.PutUint32(b[8:], 1|1<<16|1<<17) // newline test, compressed, markers
	le.PutUint64(b[12:], uint64(size/sector))
	le.PutUint64(b[20:], grainSectors)
	le.PutUint64(b[28:], 1)
	le.PutUint64(b[36:], descriptorSectors)
	le.PutUint32(b[44:], tableEntries)
	le.PutUint64(b[56:], directory)
	le.PutUint64(b[64:], 128) // overhead
	copy(b[73:], "\n \r\n")
	le.PutUint16(b[77:], 1) // deflate
	s.padded(b, 1)
}

func (s *sparse) grain(i int64, p []byte) {
	if t := i / tableEntries; t != s.table {
		s.endTable()
		s.table = t
	}
	var z bytes.Buffer
	head := make([]byte, 12)
	z.Write(head)
	c, _ := zlib.NewWriterLevel(&z, zlib.BestSpeed)
	_, _ = c.Write(p)
	_ = c.Close()
	b := z.Bytes()
	binary.LittleEndian.PutUint64(b, uint64(i*grainSectors))
	binary.LittleEndian.PutUint32(b[8:], uint32(len(b)-12))
	s.entries[i%tableEntries] = uint32(s.at)
	s.padded(b, (len(b)+sector-1)/sector)
}

// endTable writes the grain table under way, if it has any grain.
func (s *sparse) endTable() {
	b := make([]byte, tableEntries*4)
	used := false
	for i, e := range s.entries {
		used = used || e != 0
		binary.LittleEndian.PutUint32(b[i*4:], e)
	}
	clear(s.entries)
	if !used {
		return
	}
	s.mark(uint64(len(b)/sector), markTable)
	s.tables[s.table] = uint32(s.at)
	s.padded(b, len(b)/sector)
}

func (s *sparse) mark(sectors uint64, kind uint32) {
	b := make([]byte, sector)
	binary.LittleEndian.PutUint64(b, sectors)
	binary.LittleEndian.PutUint32(b[12:], kind)
	s.padded(b, 1)
}

func (s *sparse) padded(b []byte, sectors int) {
	if s.err != nil {
		return
	}
	p := make([]byte, sectors*sector)
	copy(p, b)
	s.at += uint64(sectors)
	_, s.err = s.w.Write(p)
}

// sha1Print is the thumbprint that vCenter tells of its hosts.
func sha1Print(der []byte) string {
	h := sha1.Sum(der)
	parts := make([]string, len(h))
	for i, b := range h {
		parts[i] = fmt.Sprintf("%02X", b)
	}
	return strings.Join(parts, ":")
}
