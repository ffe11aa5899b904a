package convert_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"landfall/engine"
	"landfall/engine/convert"
	"landfall/engine/fault"
)

// converted makes a file of three chunks, the last one short, with its description.
func converted(t *testing.T) (engine.Artifact, []byte) {
	t.Helper()
	b := bytes.Repeat([]byte("0123456789abcdef"), (2<<20+48)/16)
	a := engine.Artifact{Path: filepath.Join(t.TempDir(), "disk.qcow2"), Format: "qcow2", Length: int64(len(b))}
	sum := sha256.Sum256(b)
	a.Digest = hex.EncodeToString(sum[:])
	if err := os.WriteFile(a.Path, b, 0o600); err != nil {
		t.Fatal(err)
	}
	return a, b
}

// tamperings change a file in the ways that must be seen.
var tamperings = map[string]func(path string, b []byte) error{
	"a bit in the middle": func(path string, b []byte) error {
		b = bytes.Clone(b)
		b[1<<20+5] ^= 1
		return os.WriteFile(path, b, 0o600)
	},
	"the last byte": func(path string, b []byte) error {
		b = bytes.Clone(b)
		b[len(b)-1] ^= 0x80
		return os.WriteFile(path, b, 0o600)
	},
	"cut short":      func(path string, b []byte) error { return os.Truncate(path, int64(len(b)-1)) },
	"cut at a chunk": func(path string, _ []byte) error { return os.Truncate(path, 1<<20) },
	"emptied":        func(path string, _ []byte) error { return os.Truncate(path, 0) },
	"zeros by growth": func(path string, b []byte) error {
		return errors.Join(os.Truncate(path, 1<<20), os.Truncate(path, int64(len(b))))
	},
}

func TestTamperedFileIsNotOpened(t *testing.T) {
	tampered := map[string]func(string, []byte) error{
		"longer": func(path string, b []byte) error { return os.WriteFile(path, append(bytes.Clone(b), 0), 0o600) },
		"gone":   func(path string, _ []byte) error { return os.Remove(path) },
	}
	for name, f := range tamperings {
		tampered[name] = f
	}
	for name, tamper := range tampered {
		t.Run(name, func(t *testing.T) {
			a, b := converted(t)
			if err := tamper(a.Path, b); err != nil {
				t.Fatal(err)
			}
			d, err := convert.QemuImg{}.Open(t.Context(), a, 1<<30)
			if err == nil {
				_ = d.Close()
			}
			if fault.ReasonOf(err) != fault.Damaged || fault.ClassOf(err) != fault.Blocked || fault.HintOf(err) == "" {
				t.Errorf("got %v (%s, %s)", err, fault.ClassOf(err), fault.ReasonOf(err))
			}
		})
	}
}

func TestFileThatChangesAfterItWasOpened(t *testing.T) {
	for name, tamper := range tamperings {
		t.Run(name, func(t *testing.T) {
			a, b := converted(t)
			d, err := convert.QemuImg{}.Open(t.Context(), a, 1<<30)
			if err != nil {
				t.Fatal(err)
			}
			defer d.Close()
			if err := tamper(a.Path, b); err != nil {
				t.Fatal(err)
			}
			damaged, p := 0, make([]byte, 1<<20)
			for i := range d.Chunks() {
				n, zero, err := d.ReadChunk(i, p)
				switch {
				case fault.ReasonOf(err) == fault.Damaged:
					damaged++
				case err != nil || zero || !bytes.Equal(p[:n], b[i<<20:min(int64(len(b)), (i+1)<<20)]):
					t.Errorf("chunk %d: %d bytes, %v", i, n, err)
				}
			}
			if damaged == 0 {
				t.Error("no chunk is refused")
			}
			var sent bytes.Buffer
			n, err := d.WriteTo(&sent)
			if fault.ReasonOf(err) != fault.Damaged || n != int64(sent.Len()) || !bytes.HasPrefix(b, sent.Bytes()) {
				t.Errorf("%d bytes went out: %v", n, err)
			}
		})
	}
}

func TestChunksThatAreNot(t *testing.T) {
	a, _ := converted(t)
	d, err := convert.QemuImg{}.Open(t.Context(), a, 1<<30)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	for _, i := range []int64{-1, d.Chunks(), 1 << 62} {
		if _, _, err := d.ReadChunk(i, make([]byte, 1<<20)); err == nil {
			t.Errorf("chunk %d is there", i)
		}
	}
}

func TestOpenThatIsCancelled(t *testing.T) {
	a, _ := converted(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := (convert.QemuImg{}).Open(ctx, a, 1<<30); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}
