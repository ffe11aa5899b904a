package vsphere

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/klauspost/compress/zlib"

	"landfall/engine/fault"
)

// What a stream of an export is made of: a header, then markers. A marker with a size is a compressed grain, others
// announce tables that repeat what the grains said, the footer, and the end.
const (
	sectorSize    = 512
	mostOverhead  = 64 << 10 // sectors before the first grain
	mostGrain     = 2048     // sectors: 1 MiB
	markEnd       = 0
	markTable     = 1
	markDirectory = 2
	markFooter    = 3
)

// vmdkHeader is what is believed of a stream, after it was checked.
type vmdkHeader struct {
	capacity int64 // bytes
	grain    int64 // bytes
	table    int64 // sectors of one grain table
	overhead int64 // sectors
}

// decodeVMDK reads a streamOptimized VMDK of a disk of size bytes and calls each for every grain, in ascending order. It
// keeps one grain in memory. A stream without its end mark is fault.EarlyEnd, one that is not as it should be
// fault.Damaged.
func decodeVMDK(r io.Reader, size int64, each func(offset int64, p []byte) error) error {
	h, err := readHeader(r)
	if err != nil {
		return err
	}
	if h.capacity != size {
		return changed("the export has %d bytes, the VM's hardware says %d", h.capacity, size)
	}
	if _, err := io.CopyN(io.Discard, r, (h.overhead-1)*sectorSize); err != nil {
		return cut(err)
	}
	d := &vmdkDecoder{r: r, h: h, last: -1, each: each, out: make([]byte, h.grain+1)}
	for {
		end, err := d.next()
		if err != nil || end {
			return err
		}
	}
}

func readHeader(r io.Reader) (vmdkHeader, error) {
	var b [sectorSize]byte
	if _, err := io.ReadFull(r, b[:]); err != nil {
		return vmdkHeader{}, cut(err)
	}
	return parseHeader(b[:])
}

func parseHeader(b []byte) (vmdkHeader, error) {
	le := binary.LittleEndian
	flags, sectors, grain := le.Uint32(b[8:]), le.Uint64(b[12:]), le.Uint64(b[20:])
	entries, overhead := le.Uint32(b[44:]), le.Uint64(b[64:])
	switch {
	case !bytes.HasPrefix(b, []byte("KDMV")):
		return vmdkHeader{}, spoilt("it does not begin as a VMDK")
	case le.Uint32(b[4:]) == 0 || le.Uint32(b[4:]) > 3:
		return vmdkHeader{}, spoilt("its version is %d", le.Uint32(b[4:]))
	case flags&(1<<16) == 0 || flags&(1<<17) == 0 || le.Uint16(b[77:]) != 1:
		return vmdkHeader{}, spoilt("it is not streamOptimized (flags %#x, compression %d)", flags, le.Uint16(b[77:]))
	case !bytes.Equal(b[73:77], []byte("\n \r\n")):
		return vmdkHeader{}, spoilt("its line ends were changed on the way")
	case sectors > 1<<53/sectorSize:
		return vmdkHeader{}, spoilt("it claims %d sectors", sectors)
	case grain < 8 || grain > mostGrain || grain&(grain-1) != 0:
		return vmdkHeader{}, spoilt("its grains have %d sectors", grain)
	case entries == 0 || entries > 4096 || overhead < 1 || overhead > mostOverhead:
		return vmdkHeader{}, spoilt("%d table entries, %d sectors of overhead", entries, overhead)
	}
	return vmdkHeader{int64(sectors) * sectorSize, int64(grain) * sectorSize, (int64(entries)*4 + sectorSize - 1) / sectorSize, int64(overhead)}, nil
}

type vmdkDecoder struct {
	r    io.Reader
	h    vmdkHeader
	last int64 // offset of the grain before
	each func(int64, []byte) error

	packed   []byte
	out      []byte // one byte longer than a grain, so that too much is seen
	inflater io.ReadCloser
}

// next reads one marker and what belongs to it.
func (d *vmdkDecoder) next() (end bool, err error) {
	var b [sectorSize]byte
	if _, err := io.ReadFull(d.r, b[:]); err != nil {
		return false, cut(err)
	}
	value, size, kind := binary.LittleEndian.Uint64(b[:]), binary.LittleEndian.Uint32(b[8:]), binary.LittleEndian.Uint32(b[12:])
	if size > 0 {
		return false, d.grain(value, int64(size), b[12:])
	}
	most := int64(0)
	switch kind {
	case markEnd:
		if value != 0 {
			return false, spoilt("an end mark of %d sectors", value)
		}
		return true, nil
	case markTable:
		most = d.h.table
	case markDirectory:
		tables := d.h.capacity/(d.h.grain*d.h.table*sectorSize/4) + 1
		most = (tables*4+sectorSize-1)/sectorSize + 1
	case markFooter:
		if value != 1 {
			return false, spoilt("a footer of %d sectors", value)
		}
		f, err := readHeader(d.r)
		if err == nil && f.capacity != d.h.capacity {
			err = spoilt("its footer says %d bytes, its header %d", f.capacity, d.h.capacity)
		}
		return false, err
	default:
		return false, spoilt("a mark of kind %d", kind)
	}
	if value > uint64(most) {
		return false, spoilt("a table of %d sectors", value)
	}
	_, err = io.CopyN(io.Discard, d.r, int64(value)*sectorSize)
	return false, cut(err)
}

// grain unpacks one. first is what the marker's sector already holds of it.
func (d *vmdkDecoder) grain(sector uint64, size int64, first []byte) error {
	if sector >= uint64(d.h.capacity/sectorSize) || int64(sector)*sectorSize%d.h.grain != 0 {
		return spoilt("a grain at sector %d", sector)
	}
	offset := int64(sector) * sectorSize
	switch {
	case offset <= d.last:
		return spoilt("a grain at byte %d behind one at %d", offset, d.last)
	case size > d.h.grain+d.h.grain/8+1024: // deflate grows what it cannot pack by far less
		return spoilt("a grain of %d bytes packed", size)
	}
	d.last = offset
	padded := (12+size+sectorSize-1)/sectorSize*sectorSize - 12
	if int64(cap(d.packed)) < padded {
		d.packed = make([]byte, padded)
	}
	p := d.packed[:padded]
	if n := int64(copy(p, first)); n < padded {
		if _, err := io.ReadFull(d.r, p[n:]); err != nil {
			return cut(err)
		}
	}
	n, err := d.inflate(p[:size])
	if err != nil {
		return spoilt("the grain at byte %d: %w", offset, err)
	}
	want := min(d.h.grain, d.h.capacity-offset)
	if int64(n) > d.h.grain || int64(n) < want {
		return spoilt("the grain at byte %d has %d bytes", offset, n)
	}
	return d.each(offset, d.out[:want])
}

func (d *vmdkDecoder) inflate(p []byte) (int, error) {
	var err error
	if d.inflater == nil {
		d.inflater, err = zlib.NewReader(bytes.NewReader(p))
	} else {
		err = d.inflater.(zlib.Resetter).Reset(bytes.NewReader(p), nil)
	}
	if err != nil {
		return 0, err
	}
	n, err := io.ReadFull(d.inflater, d.out)
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) && n < len(d.out) {
		// ReadFull calls both a short grain and a cut one unexpected; only the first ends well when asked again.
		if _, again := d.inflater.Read(d.out[n:]); errors.Is(again, io.EOF) {
			return n, nil
		}
		return n, io.ErrUnexpectedEOF
	}
	return n, err
}

// cut makes the end of a stream before its end mark an error of its own; others stay.
func cut(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return fault.Newf(fault.Transient, fault.EarlyEnd, "the stream ended before its end mark")
	}
	return err
}

func spoilt(format string, args ...any) error {
	return fault.Hint(fault.New(fault.Blocked, fault.Damaged, fmt.Errorf("the export is damaged: "+format, args...)),
		"try once more; if it comes again, migrate the VM cold")
}
