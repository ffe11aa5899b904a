package vsphere

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/klauspost/compress/zlib"

	"landfall/engine/fault"
)

const vmdkGrain = 64 << 10

// vmdkOf packs a disk as hosts do. Grains of zeros are left out.
func vmdkOf(disk []byte) []byte {
	b := vmdkHead(int64(len(disk)))
	for off := 0; off < len(disk); off += vmdkGrain {
		p := make([]byte, vmdkGrain)
		copy(p, disk[off:])
		if !bytes.Equal(p, make([]byte, vmdkGrain)) {
			b = append(b, packed(uint64(off/512), p)...)
		}
	}
	b = append(b, mark(4, 1, make([]byte, 2048))...)
	b = append(b, mark(1, 2, make([]byte, 512))...)
	b = append(b, mark(1, 3, vmdkHead(int64(len(disk)))[:512])...)
	return append(b, mark(0, 0, nil)...)
}

func vmdkHead(size int64) []byte {
	b := make([]byte, 128*512)
	le := binary.LittleEndian
	copy(b, "KDMV")
	le.PutUint32(b[4:], 3)
	le.PutUint32(b[8:], 1|1<<16|1<<17)
	le.PutUint64(b[12:], uint64(size/512))
	le.PutUint64(b[20:], vmdkGrain/512)
	le.PutUint32(b[44:], 512)
	le.PutUint64(b[56:], ^uint64(0))
	le.PutUint64(b[64:], 128)
	copy(b[73:], "\n \r\n")
	le.PutUint16(b[77:], 1)
	return b
}

func packed(sector uint64, p []byte) []byte {
	var z bytes.Buffer
	w := zlib.NewWriter(&z)
	_, _ = w.Write(p)
	_ = w.Close()
	b := make([]byte, (12+z.Len()+511)/512*512)
	binary.LittleEndian.PutUint64(b, sector)
	binary.LittleEndian.PutUint32(b[8:], uint32(z.Len()))
	copy(b[12:], z.Bytes())
	return b
}

func mark(sectors uint64, kind uint32, body []byte) []byte {
	b := make([]byte, 512)
	binary.LittleEndian.PutUint64(b, sectors)
	binary.LittleEndian.PutUint32(b[12:], kind)
	return append(b, body...)
}

func someDisk(size int) []byte {
	disk := make([]byte, size)
	_, _ = rand.NewChaCha8([32]byte{9}).Read(disk[vmdkGrain/2 : min(3*vmdkGrain, size)])
	disk[size-1] = 5
	return disk
}

func decoded(stream []byte, size int) ([]byte, error) {
	out := make([]byte, size)
	return out, decodeVMDK(bytes.NewReader(stream), int64(size), func(off int64, p []byte) error {
		copy(out[off:], p)
		return nil
	})
}

func TestStreamIsDecoded(t *testing.T) {
	for _, size := range []int{512, vmdkGrain - 512, vmdkGrain, 20*vmdkGrain + 512} {
		disk := make([]byte, size)
		if size > vmdkGrain {
			disk = someDisk(size)
		}
		disk[size-1] = 5
		got, err := decoded(vmdkOf(disk), size)
		if err != nil || !bytes.Equal(got, disk) {
			t.Errorf("%d bytes: %v", size, err)
		}
	}
}

// What qemu-img writes is read as the disk it was made of.
func TestStreamOfQemuIsDecoded(t *testing.T) {
	if _, err := exec.LookPath("qemu-img"); err != nil {
		t.Skip("qemu-img is not here")
	}
	disk := someDisk(70*vmdkGrain + 1024)
	dir := t.TempDir()
	raw, vmdk := filepath.Join(dir, "raw"), filepath.Join(dir, "vmdk")
	if err := os.WriteFile(raw, disk, 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("qemu-img", "convert", "-f", "raw", "-O", "vmdk", "-o", "subformat=streamOptimized", raw, vmdk).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	stream, err := os.ReadFile(vmdk)
	if err != nil {
		t.Fatal(err)
	}
	got, err := decoded(stream, len(disk))
	if err != nil || !bytes.Equal(got, disk) {
		t.Errorf("%v", err)
	}
}

func TestStreamCutAnywhereIsNoDisk(t *testing.T) {
	disk := someDisk(6 * vmdkGrain)
	stream := vmdkOf(disk)
	for at := 0; at < len(stream); at += 509 {
		_, err := decoded(stream[:at], len(disk))
		if fault.ClassOf(err) != fault.Transient || !fault.Is(err, fault.EarlyEnd) {
			t.Fatalf("cut at %d of %d: %v", at, len(stream), err)
		}
	}
}

func TestHostileStreams(t *testing.T) {
	const size = 6 * vmdkGrain
	grain := bytes.Repeat([]byte("data"), vmdkGrain/4)
	head := func(at int, p ...byte) []byte {
		b := vmdkHead(size)
		copy(b[at:], p)
		return b
	}
	after := func(parts ...[]byte) []byte { return append(vmdkHead(size), bytes.Join(parts, nil)...) }
	flipped := packed(0, grain)
	flipped[40] ^= 0xff
	short := packed(0, grain)
	binary.LittleEndian.PutUint32(short[8:], 20)
	for name, c := range map[string]struct {
		stream []byte
		reason string
	}{
		"not a VMDK":            {bytes.Repeat([]byte("<html>"), 400), fault.Damaged},
		"another disk's size":   {vmdkHead(size * 2), fault.SizeChanged},
		"a size beyond reason":  {head(12, 0, 0, 0, 0, 0, 0, 0, 0xff), fault.Damaged},
		"grains beyond reason":  {head(20, 0, 0, 0, 0x40), fault.Damaged},
		"grains of no size":     {head(20, 0, 0), fault.Damaged},
		"not compressed":        {head(8, 1, 0, 0, 0), fault.Damaged},
		"overhead of 2 TiB":     {head(64, 0xff, 0xff, 0xff, 0xff), fault.Damaged},
		"line ends changed":     {head(73, '\n', ' ', '\n', '\n'), fault.Damaged},
		"behind the end":        {after(packed(size/512, grain)), fault.Damaged},
		"between two grains":    {after(packed(3, grain)), fault.Damaged},
		"the same grain twice":  {after(packed(0, grain), packed(0, grain)), fault.Damaged},
		"out of order":          {after(packed(128, grain), packed(0, grain)), fault.Damaged},
		"a bomb":                {after(packed(0, make([]byte, 64<<20))), fault.Damaged},
		"a grain of 4 GiB":      {after([]byte{0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 0xff, 0xff}, make([]byte, 600)), fault.Damaged},
		"half a grain":          {after(packed(0, grain[:vmdkGrain/2])), fault.Damaged},
		"a bit turned over":     {after(flipped), fault.Damaged},
		"packed data cut short": {after(short), fault.Damaged},
		"a table of 8 EiB":      {after(mark(1<<62, 1, nil)), fault.Damaged},
		"a footer of another":   {after(mark(1, 3, vmdkHead(512)[:512])), fault.Damaged},
		"an unknown mark":       {after(mark(1, 9, make([]byte, 512))), fault.Damaged},
		"an end with a length":  {after(mark(7, 0, nil)), fault.Damaged},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := decoded(c.stream, size)
			if fault.ClassOf(err) != fault.Blocked || !fault.Is(err, c.reason) {
				t.Errorf("%s %s: %v", fault.ClassOf(err), fault.ReasonOf(err), err)
			}
		})
	}
}

func TestTheCallersErrorEndsTheStream(t *testing.T) {
	own := errors.New("the staging disk is full")
	err := decodeVMDK(bytes.NewReader(vmdkOf(someDisk(6*vmdkGrain))), 6*vmdkGrain, func(int64, []byte) error { return own })
	if !errors.Is(err, own) {
		t.Error(err)
	}
}

// Whatever comes, what is given lies within the disk, ascends, and the end is the end mark's.
func FuzzStream(f *testing.F) {
	const size = 3*vmdkGrain + 512
	disk := make([]byte, size)
	copy(disk[vmdkGrain/2:], bytes.Repeat([]byte("packs well "), 8000))
	disk[size-1] = 5
	small := func(b []byte) []byte { // nothing lies before the first grain, so that few bytes say much
		b = append(bytes.Clone(b[:512]), b[128*512:]...)
		b[64] = 1
		return b
	}
	whole := small(vmdkOf(disk))
	if _, err := decoded(whole, size); err != nil {
		f.Fatal(err)
	}
	f.Add(whole)
	f.Add(whole[:len(whole)-512])
	f.Add(small(append(vmdkHead(size), mark(4, 1, make([]byte, 2048))...)))
	f.Add(small(append(vmdkHead(size), packed(128, make([]byte, vmdkGrain))...)))
	f.Add([]byte("KDMV"))
	f.Fuzz(func(t *testing.T, stream []byte) {
		last := int64(-1)
		r := bytes.NewReader(stream)
		err := decodeVMDK(r, size, func(off int64, p []byte) error {
			if off <= last || off < 0 || len(p) == 0 || off+int64(len(p)) > size {
				t.Fatalf("%d bytes at %d after %d", len(p), off, last)
			}
			last = off + int64(len(p)) - 1
			return nil
		})
		if err == nil {
			read := len(stream) - r.Len()
			if end := stream[read-512 : read]; !bytes.Equal(end[:16], make([]byte, 16)) {
				t.Error("it ended without the end mark")
			}
		} else if fault.ClassOf(err) == "" && !errors.Is(err, io.EOF) {
			t.Errorf("%v has no class", err)
		}
	})
}

// BenchmarkStream is what decoding costs beside the network: half of the disk is data that packs to about a half.
func BenchmarkStream(b *testing.B) {
	disk := make([]byte, 64<<20)
	random := rand.New(rand.NewPCG(1, 1))
	for off := 0; off < len(disk)/2; off += 2 {
		disk[off] = byte(random.Uint32())
	}
	stream := vmdkOf(disk)
	b.SetBytes(int64(len(disk)))
	b.ReportMetric(float64(len(stream)), "packed-bytes")
	for b.Loop() {
		if err := decodeVMDK(bytes.NewReader(stream), int64(len(disk)), func(int64, []byte) error { return nil }); err != nil {
			b.Fatal(err)
		}
	}
}

// A few bytes turned over anywhere: an error with a class, or the disk.
func TestStreamsWithBytesTurnedOver(t *testing.T) {
	disk := make([]byte, 3*vmdkGrain)
	copy(disk[vmdkGrain/2:], bytes.Repeat([]byte("packs well "), 8000))
	whole := vmdkOf(disk)
	whole = append(whole[:512:512], whole[128*512:]...)
	whole[64] = 1
	for seed := range uint64(1000) {
		random := rand.New(rand.NewPCG(seed, 2))
		stream := bytes.Clone(whole)
		for range 1 + random.IntN(4) {
			stream[random.IntN(len(stream))] = byte(random.Uint32())
		}
		got, err := decoded(stream, len(disk))
		if err != nil && fault.ClassOf(err) == "" {
			t.Fatalf("seed %d: %v has no class", seed, err)
		}
		// What the packed grains vouch for by their checksum is the disk's, if it is at its place at all.
		for off := 0; err == nil && off < len(got); off += vmdkGrain {
			g := got[off : off+vmdkGrain]
			if !bytes.Equal(g, make([]byte, vmdkGrain)) && !bytes.Contains(disk, g) {
				t.Fatalf("seed %d: bytes that no grain held", seed)
			}
		}
	}
}
