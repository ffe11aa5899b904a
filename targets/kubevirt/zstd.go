package kubevirt

import (
	"encoding/binary"
	"errors"
	"io"

	"github.com/klauspost/compress/zstd"
)

// coder turns a raw image into a compressed stream of exactly one frame. One, because the decoder that CDI uses takes a stream
// that breaks off between two frames for a whole one: a cut upload would pass for a finished one.
type coder interface {
	// Write adds bytes of the image.
	io.Writer
	// zeros adds n zero bytes.
	zeros(n int64) error
	// Close ends the frame; only then is the stream valid.
	Close() error
}

const (
	// head is how much of the image starts the stream as it is. Releases of CDI look at the format of the decompressed
	// start in the very buffer of 512 bytes from which the decoder still reads, and damage it; a first block that is longer
	// is read whole before that.
	head = 4 << 10

	zstdMagic  = 0xFD2FB528
	zstdWindow = 1 << 20
	zstdBlock  = 128 << 10 // the format's largest block
	// longRun is how long a run of zeros must be to be said rather than compressed.
	longRun = 512 << 10
)

// The kinds of blocks of the format.
const (
	blockRaw        = 0
	blockRLE        = 1
	blockCompressed = 2
)

// resetRun is a compressed block of nine zeros after zeros: three copies, from 8, 4 and 1 bytes before. It leaves the
// decoder's memory of recent distances as it is at the start of a frame, which is what a new run of the encoder counts on.
//
//	0x00        no literals
//	0x03 0x44   three sequences; literal and match lengths are one constant each, distances use the format's own table
//	0x00 0x00   no literals before a copy, copies of 3 bytes
//	3 bytes     the distances' states 5, 14, 14 with their extra bits 3, 3, 0, read from the end
var resetRun = []byte{0x00, 0x03, 0x44, 0x00, 0x00, 0xb8, 0xdd, 0x4a}

const resetLength = 9

// zstdStream writes one frame from several runs of the encoder, with runs of zeros between them that cost four bytes for
// 128 KiB.
type zstdStream struct {
	w       io.Writer
	enc     *zstd.Encoder
	blocks  blocks
	started bool // the frame
	running bool // the encoder
}

func newZstd(w io.Writer) (coder, error) {
	enc, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithWindowSize(zstdWindow), zstd.WithEncoderCRC(false))
	if err != nil {
		return nil, err
	}
	return &zstdStream{w: w, enc: enc}, nil
}

func (z *zstdStream) Write(p []byte) (int, error) {
	n := 0
	if !z.started {
		z.started = true
		n = min(len(p), head)
		// No size, checksum or dictionary; a window of 1 KiB << 10.
		start := append(binary.LittleEndian.AppendUint32(nil, zstdMagic), 0, 10<<3)
		start = append(blockHeader(start, n, blockRaw), p[:n]...)
		if _, err := z.w.Write(start); err != nil {
			return 0, err
		}
	}
	if n == len(p) {
		return n, nil
	}
	if !z.running {
		z.running = true
		z.blocks = blocks{w: z.w}
		z.enc.Reset(&z.blocks)
	}
	m, err := z.enc.Write(p[n:])
	return n + m, err
}

func (z *zstdStream) zeros(n int64) error {
	if !z.started {
		k := min(n, head)
		if _, err := z.Write(make([]byte, k)); err != nil {
			return err
		}
		n -= k
	}
	if n < longRun {
		_, err := z.Write(make([]byte, n))
		return err
	}
	if err := z.pause(); err != nil {
		return err
	}
	var out []byte
	for n -= resetLength; n > 0; n -= zstdBlock {
		out = append(blockHeader(out, int(min(n, zstdBlock)), blockRLE), 0)
	}
	out = append(blockHeader(out, len(resetRun), blockCompressed), resetRun...)
	_, err := z.w.Write(out)
	return err
}

// pause ends a run of the encoder but not the frame.
func (z *zstdStream) pause() error {
	if !z.running {
		return nil
	}
	z.running = false
	return z.enc.Close()
}

func (z *zstdStream) Close() error {
	if !z.started {
		return errors.New("compress: the image is empty")
	}
	if err := z.pause(); err != nil {
		return err
	}
	_, err := z.w.Write([]byte{1, 0, 0}) // an empty last block
	return err
}

func blockHeader(dst []byte, size, kind int) []byte {
	h := uint32(size)<<3 | uint32(kind)<<1
	return append(dst, byte(h), byte(h>>8), byte(h>>16))
}

// blocks passes on the blocks of a frame of the encoder's, without the frame's header and without the mark of its last
// block.
type blocks struct {
	w      io.Writer
	header []byte // what there is of a header that is not complete yet
	inside bool   // past the frame's header
	left   int    // of the block under way
}

func (b *blocks) Write(p []byte) (int, error) {
	total := len(p)
	for len(p) > 0 {
		if b.left > 0 {
			n := min(b.left, len(p))
			if _, err := b.w.Write(p[:n]); err != nil {
				return 0, err
			}
			b.left -= n
			p = p[n:]
			continue
		}
		b.header = append(b.header, p[0])
		p = p[1:]
		switch {
		case !b.inside && len(b.header) >= 5 && len(b.header) == frameHeader(b.header[4]):
			b.inside = true
			b.header = b.header[:0]
		case b.inside && len(b.header) == 3:
			b.header[0] &^= 1
			b.left = blockLength(b.header)
			if _, err := b.w.Write(b.header); err != nil {
				return 0, err
			}
			b.header = b.header[:0]
		}
	}
	return total, nil
}

// frameHeader is the length of a frame's header, which its fifth byte tells.
func frameHeader(descriptor byte) int {
	single := descriptor>>5&1 == 1
	n := 5
	if !single {
		n++ // the window
	}
	switch descriptor >> 6 {
	case 0:
		if single {
			n++
		}
	case 1:
		n += 2
	case 2:
		n += 4
	case 3:
		n += 8
	}
	return n + []int{0, 1, 2, 4}[descriptor&3]
}

func blockLength(h []byte) int {
	v := int(h[0]) | int(h[1])<<8 | int(h[2])<<16
	if v>>1&3 == blockRLE {
		return 1
	}
	return v >> 3
}
