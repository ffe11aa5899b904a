package kubevirt

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"os/exec"
	"syscall"
	"testing"
	"time"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"landfall/engine/fault"
	"landfall/targets/targettest"
)

var coders = map[string]func(io.Writer) (coder, error){"zstd": newZstd, "gzip": newGzip}

func decoder(t testing.TB, name string, r io.Reader) io.Reader {
	t.Helper()
	if name == "gzip" {
		z, err := gzip.NewReader(r)
		if err != nil {
			t.Fatal(err)
		}
		return z
	}
	z, err := zstd.NewReader(r)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(z.Close)
	return z
}

// images are disks as they come: the transitions between data and holes are what matters.
func images() map[string][]byte {
	r := rand.New(rand.NewPCG(7, 7))
	noise := func(b []byte) {
		for i := range b {
			b[i] = byte(r.Uint32())
		}
	}
	words := [][]byte{[]byte("the disk "), []byte("of a virtual machine "), []byte("/usr/lib/x86_64"), {0, 0, 0, 0, 0, 0, 0, 1}, {1, 1, 1, 1}, {255}}
	text := func(b []byte) {
		for i := 0; i < len(b); {
			i += copy(b[i:], words[r.IntN(len(words))])
		}
	}
	with := func(size int, fill func([]byte)) []byte {
		b := make([]byte, size)
		fill(b)
		return b
	}
	m := 1 << 20
	return map[string][]byte{
		"one sector":    with(512, text),
		"all zeros":     make([]byte, 5*m),
		"noise":         with(3*m, noise),
		"text":          with(3*m+777, text),
		"hole at start": with(4*m, func(b []byte) { text(b[3*m:]) }),
		"hole at end":   with(4*m, func(b []byte) { text(b[:m]) }),
		"boot sector":   with(6*m, func(b []byte) { text(b[:512]); noise(b[5*m:]) }),
		"holes everywhere": with(40*m, func(b []byte) {
			for i := 0; i < 40; i += 1 + r.IntN(3) {
				if r.IntN(2) == 0 {
					noise(b[i*m : i*m+r.IntN(m)])
				} else {
					text(b[i*m : (i+1)*m])
				}
			}
		}),
		"small holes": with(8*m, func(b []byte) {
			text(b)
			for range 50 {
				at := r.IntN(len(b) - 700<<10)
				clear(b[at : at+r.IntN(700<<10)])
			}
		}),
	}
}

func encoded(t testing.TB, name string, image []byte) []byte {
	t.Helper()
	var out bytes.Buffer
	c, err := coders[name](&out)
	if err != nil {
		t.Fatal(err)
	}
	if err := pour(t.Context(), targettest.NewImage(image), c, func(int64) {}); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func TestStreamIsTheImage(t *testing.T) {
	for name := range coders {
		for what, image := range images() {
			t.Run(name+" "+what, func(t *testing.T) {
				code := encoded(t, name, image)
				got, err := io.ReadAll(decoder(t, name, bytes.NewReader(code)))
				if err != nil || !bytes.Equal(got, image) {
					t.Fatalf("decoded %d of %d bytes differently: %v", len(got), len(image), err)
				}
				if what == "all zeros" && len(code) > len(image)/200 {
					t.Errorf("%d zeros took %d bytes", len(image), len(code))
				}
				reference(t, name, code, image)
			})
		}
	}
}

// reference asks the format's own tool, where this machine has it.
func reference(t *testing.T, name string, code, image []byte) {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		t.Logf("no %s here to ask too", name)
		return
	}
	cmd := exec.Command(path, "-d", "-c")
	cmd.Stdin = bytes.NewReader(code)
	got, err := cmd.Output()
	if err != nil || !bytes.Equal(got, image) {
		t.Errorf("%s reads it differently: %v", path, err)
	}
}

// A stream that broke off must never pass for a whole one, wherever it broke: the reader on the other side gets no more
// than an unexpected end.
func TestBrokenStreamIsNoImage(t *testing.T) {
	for name := range coders {
		image := images()["holes everywhere"][:3<<20]
		code := encoded(t, name, image)
		step := max(len(code)/200, 1)
		for n := 1; n < len(code); n += step {
			if _, err := io.Copy(io.Discard, failing(name, code[:n])); err == nil {
				t.Fatalf("%s: %d of %d bytes pass for the whole", name, n, len(code))
			}
		}
		for n := max(len(code)-100, 1); n < len(code); n++ { // the last blocks, byte by byte
			if _, err := io.Copy(io.Discard, failing(name, code[:n])); err == nil {
				t.Fatalf("%s: %d of %d bytes pass for the whole", name, n, len(code))
			}
		}
	}
}

func failing(name string, code []byte) io.Reader {
	r := io.MultiReader(bytes.NewReader(code), brokenOff{})
	if name == "gzip" {
		z, err := gzip.NewReader(r)
		if err != nil {
			return brokenOff{}
		}
		return z
	}
	z, err := zstd.NewReader(r, zstd.WithDecoderConcurrency(1))
	if err != nil {
		return brokenOff{}
	}
	return z
}

// brokenOff is a request's body whose connection ended.
type brokenOff struct{}

func (brokenOff) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }

// cdiHeaders reads a stream as CDI does: the format is looked for twice in one buffer, from which the decoder still reads.
func cdiHeaders(r io.Reader) ([]byte, error) {
	buf := make([]byte, 512)
	if _, err := io.ReadFull(r, buf); err != nil {
		return nil, err
	}
	z, err := zstd.NewReader(io.MultiReader(bytes.NewReader(buf), r))
	if err != nil {
		return nil, err
	}
	defer z.Close()
	if _, err := io.ReadFull(z, buf); err != nil {
		return nil, err
	}
	return io.ReadAll(io.MultiReader(bytes.NewReader(buf), z))
}

func TestStreamSurvivesCDIsLookAtTheStart(t *testing.T) {
	for what, image := range images() {
		if len(image) < 4096 {
			continue
		}
		t.Run(what, func(t *testing.T) {
			got, err := cdiHeaders(bytes.NewReader(encoded(t, "zstd", image)))
			if err != nil || !bytes.Equal(got, image) {
				t.Errorf("read %d of %d bytes differently: %v", len(got), len(image), err)
			}
		})
	}
}

func TestDamagedArtifactEndsNoStream(t *testing.T) {
	for name := range coders {
		bad := targettest.NewImage(images()["text"])
		bad.Damaged = bad.Chunks() - 1
		var out bytes.Buffer
		c, err := coders[name](&out)
		if err != nil {
			t.Fatal(err)
		}
		if err := pour(t.Context(), bad, c, func(int64) {}); !fault.Is(err, fault.Damaged) {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := io.Copy(io.Discard, failing(name, out.Bytes())); err == nil {
			t.Errorf("%s: what was put out before the damage passes for a whole", name)
		}
	}
}

func TestPourStopsWhenTheOtherSideDoes(t *testing.T) {
	stop := errors.New("enough")
	c, err := newZstd(writerFunc(func([]byte) (int, error) { return 0, stop }))
	if err != nil {
		t.Fatal(err)
	}
	if err := pour(t.Context(), targettest.NewImage(images()["noise"]), c, func(int64) {}); !errors.Is(err, stop) {
		t.Errorf("got %v", err)
	}
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }

// repeated is a large image from a small one: only what it costs to read and compress counts, not the start.
func repeated(image []byte, size int) []byte {
	b := make([]byte, size)
	for i := 0; i < size; {
		i += copy(b[i:], image)
	}
	return b
}

func BenchmarkStream(b *testing.B) {
	const size = 256 << 20
	all := images()
	thin := make([]byte, size) // a quarter of it in use, as disks are
	copy(thin[8<<20:], repeated(all["text"], size/8))
	copy(thin[128<<20:], repeated(all["noise"], size/8))
	for what, disk := range map[string][]byte{
		"all zeros": make([]byte, size), "noise": repeated(all["noise"], size), "text": repeated(all["text"], size), "thin": thin,
	} {
		for name := range coders {
			b.Run(name+"/"+what, func(b *testing.B) {
				image := targettest.NewImage(disk)
				b.SetBytes(image.Size())
				once := func() {
					c, err := coders[name](io.Discard)
					if err != nil {
						b.Fatal(err)
					}
					if err := pour(b.Context(), image, c, func(int64) {}); err != nil {
						b.Fatal(err)
					}
				}
				once() // memory that was never touched is slow
				start, loops := cpu(), 0
				for b.Loop() {
					loops++
					once()
				}
				b.ReportMetric(float64(cpu()-start)/float64(time.Second)/(float64(loops)*float64(image.Size())/gib), "cpu-s/GiB")
			})
		}
	}
}

// cpu is what this process has used so far: on a shared machine it says more than the clock.
func cpu() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
