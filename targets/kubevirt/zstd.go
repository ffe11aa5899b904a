package kubevirt

import (
	"encoding/binary"
	"runtime"
	"sync"

	"github.com/klauspost/compress/zstd"
)

// coding turns pieces of a raw image into a stream. Every piece becomes a frame of its own, so that pieces can be made in
// parallel; a decoder reads frames that follow each other as one stream.
type coding interface {
	// first gives the start of the stream.
	first(p []byte) []byte
	// data gives one piece, appended to dst. It may be called from several goroutines.
	data(dst, p []byte) []byte
	// zeros gives n zero bytes; n is at most maxZeros.
	zeros(n int64) []byte
}

const (
	// maxZeros is the longest run of zeros in one frame.
	maxZeros = 64 << 20
	// head is how much of the image starts the stream without compression.
	head = 4 << 10

	zstdMagic = 0xFD2FB528
	zstdBlock = 128 << 10 // the format's largest block
	blockRaw  = 0
	blockRLE  = 1
)

type zstdCoding struct{ enc *zstd.Encoder }

var newZstd = sync.OnceValue(func() zstdCoding {
	enc, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(runtime.GOMAXPROCS(0)),
		zstd.WithWindowSize(1<<20), zstd.WithEncoderCRC(true), zstd.WithLowerEncoderMem(true))
	if err != nil {
		panic(err) // the options are constants
	}
	return zstdCoding{enc}
})

func (z zstdCoding) data(dst, p []byte) []byte { return z.enc.EncodeAll(p, dst) }

// first stores its bytes as they are. Releases of CDI look at the format of the decompressed start in the very buffer from which
// the decoder still reads, and damage it; a first block that is longer than that buffer (512 bytes) is read whole before that.
func (zstdCoding) first(p []byte) []byte {
	out := frameHeader(nil)
	return append(blockHeader(out, len(p), blockRaw, true), p...)
}

// zeros says "zero, 128 KiB long" as often as needed: four bytes each.
func (zstdCoding) zeros(n int64) []byte {
	out := frameHeader(nil)
	for n > 0 {
		b := min(n, zstdBlock)
		n -= b
		out = append(blockHeader(out, int(b), blockRLE, n == 0), 0)
	}
	return out
}

// frameHeader starts a frame of unknown size with a window of 128 KiB.
func frameHeader(dst []byte) []byte {
	dst = binary.LittleEndian.AppendUint32(dst, zstdMagic)
	return append(dst, 0, 7<<3) // no size, checksum or dictionary; 1 KiB << 7
}

func blockHeader(dst []byte, size, kind int, last bool) []byte {
	h := uint32(size)<<3 | uint32(kind)<<1
	if last {
		h |= 1
	}
	return append(dst, byte(h), byte(h>>8), byte(h>>16))
}
