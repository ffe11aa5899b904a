package transfer_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"io"
	"os"
	"testing"
	"testing/iotest"

	"landfall/engine/fault"
	"landfall/engine/transfer"
	"landfall/sources"
	"landfall/targets"
)

var _ targets.Artifact = (*transfer.Artifact)(nil)

// copied makes an image of data.
func copied(t *testing.T, data []byte) (path string, ledger *memLedger) {
	t.Helper()
	path, ledger = imagePath(t), &memLedger{}
	mustCopy(t, transfer.Job{Disk: &memDisk{data: data, streams: 2}, Path: path, Ledger: ledger})
	return path, ledger
}

// damage changes one byte of a file.
func damage(t *testing.T, path string, off int64) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var b [1]byte
	if _, err := f.ReadAt(b[:], off); err != nil {
		t.Fatal(err)
	}
	b[0] ^= 0x10
	if _, err := f.WriteAt(b[:], off); err != nil {
		t.Fatal(err)
	}
}

func openArtifact(t *testing.T, path string, size int, ledger transfer.Ledger) *transfer.Artifact {
	t.Helper()
	a, err := transfer.OpenArtifact(t.Context(), nil, path, int64(size), ledger)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { a.Close() })
	return a
}

func TestArtifactGivesTheDisk(t *testing.T) {
	data := content(9*mib+700, 41)
	path, ledger := copied(t, data)
	a := openArtifact(t, path, len(data), ledger)
	var out bytes.Buffer
	if n, err := a.WriteTo(&out); err != nil || n != int64(len(data)) || !bytes.Equal(out.Bytes(), data) {
		t.Errorf("WriteTo wrote %d bytes of %d, %v", n, len(data), err)
	}
	if err := iotest.TestReader(a.NewReader(), data); err != nil {
		t.Error(err)
	}
	if sum, err := a.SHA256(t.Context()); err != nil || sum != sha256.Sum256(data) {
		t.Errorf("SHA256 gives %s, %v", sum, err)
	}
	var got []byte
	p := make([]byte, transfer.ChunkSize)
	for i := range a.Chunks() {
		for j := range p {
			p[j] = 0xaa
		}
		n, zero, err := a.ReadChunk(i, p)
		if err != nil {
			t.Fatal(err)
		}
		want := data[i*mib : min((i+1)*mib, int64(len(data)))]
		if zero != bytes.Equal(want, make([]byte, len(want))) || zero != a.Zero(i) {
			t.Errorf("chunk %d: zero is %v", i, zero)
		}
		if zero {
			got = append(got, make([]byte, n)...)
			if p[0] != 0xaa {
				t.Errorf("chunk %d of zeros was filled", i)
			}
			continue
		}
		got = append(got, p[:n]...)
	}
	if !bytes.Equal(got, data) {
		t.Error("the chunks together are not the disk")
	}
	if _, _, err := a.ReadChunk(a.Chunks(), p); !errors.Is(err, io.EOF) {
		t.Errorf("a chunk behind the end: %v", err)
	}
	if m := a.Manifest(); a.Size() != m.Size || a.Length() != m.Size || a.Format() != "raw" {
		t.Errorf("describes itself as %+v", m)
	}
}

func TestDamagedImageIsNeverSentToItsEnd(t *testing.T) {
	data := bytes.Repeat([]byte{1, 2, 3, 4}, 5*mib/4)
	for _, at := range []int64{0, 2*mib + 17, 5*mib - 1} {
		path, ledger := copied(t, data)
		damage(t, path, at)
		a := openArtifact(t, path, len(data), ledger)
		var out bytes.Buffer
		_, err := a.WriteTo(&out)
		wantFault(t, err, fault.Blocked, fault.Damaged)
		if int64(out.Len()) != at/mib*mib || !bytes.Equal(out.Bytes(), data[:out.Len()]) {
			t.Errorf("damaged at %d: %d bytes were sent", at, out.Len())
		}
		var d *transfer.Difference
		if !errors.As(err, &d) || d.Index != at/mib {
			t.Errorf("damaged at %d: %v", at, err)
		}
		if _, err := a.SHA256(t.Context()); err == nil {
			t.Error("a damaged image has a digest")
		}
		err = transfer.Verify(t.Context(), nil, path, int64(len(data)), ledger, nil)
		wantFault(t, err, fault.Blocked, fault.Damaged)
		if !errors.As(err, &d) || d.Index != at/mib {
			t.Errorf("verify, damaged at %d: %v", at, err)
		}
	}
}

func TestVerify(t *testing.T) {
	data := content(12*mib+4096, 43)
	for i := range data[3*mib : 4*mib] {
		data[3*mib+i] = 0
	}
	size := int64(len(data))
	path, ledger := copied(t, data)
	if err := transfer.Verify(t.Context(), nil, path, size, ledger, nil); err != nil {
		t.Errorf("a good image: %v", err)
	}
	damage(t, path, 3*mib+5) // in a hole
	wantFault(t, transfer.Verify(t.Context(), nil, path, size, ledger, nil), fault.Blocked, fault.Damaged)
	damage(t, path, 3*mib+5) // back
	if err := transfer.Verify(t.Context(), nil, path, size, ledger, nil); err != nil {
		t.Errorf("mended: %v", err)
	}
	if err := os.Truncate(path, size-1); err != nil {
		t.Fatal(err)
	}
	wantFault(t, transfer.Verify(t.Context(), nil, path, size, ledger, nil), fault.Blocked, fault.Damaged)
	if err := os.Truncate(path, size); err != nil {
		t.Fatal(err)
	}
	delete(ledger.sums, 0)
	wantFault(t, transfer.Verify(t.Context(), nil, path, size, ledger, nil), fault.Blocked, fault.Damaged)
}

func TestVerifySeesDataThatBecameAHole(t *testing.T) {
	data := bytes.Repeat([]byte{7}, 4*mib)
	path, ledger := copied(t, data)
	f, err := transfer.OS.Open(path, false)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(f.Punch(2*mib, mib), f.Close()); err != nil {
		t.Fatal(err)
	}
	err = transfer.Verify(t.Context(), nil, path, 4*mib, ledger, nil)
	var d *transfer.Difference
	if !errors.As(err, &d) || d.Index != 2 {
		t.Errorf("got %v", err)
	}
}

func TestProve(t *testing.T) {
	data := content(20*mib, 44)
	_, ledger := copied(t, data)
	progress := &transfer.Progress{}
	prove := func(data []byte, extents []sources.Extent) error {
		return transfer.Prove(t.Context(), transfer.Proof{
			Disk: &memDisk{data: data, streams: 3}, Ledger: ledger, Extents: extents, Progress: progress,
		})
	}
	if err := prove(data, nil); err != nil {
		t.Errorf("the same disk: %v", err)
	}
	if f := progress.Figures(); f.Vouched != 20*mib || f.ToRead != 20*mib {
		t.Errorf("figures %+v", f)
	}
	changed := bytes.Clone(data)
	changed[11*mib+3]++
	err := prove(changed, nil)
	wantFault(t, err, fault.Blocked, fault.Damaged)
	var d *transfer.Difference
	if !errors.As(err, &d) || d.Index != 11 {
		t.Errorf("got %v", err)
	}
	// A map that leaves out what was copied as data is no proof.
	for i := int64(0); i < 20; i++ {
		if s := ledger.sums[i]; s != transfer.ZeroSum(mib) {
			extents := []sources.Extent{{Offset: 0, Length: i * mib}, {Offset: (i + 1) * mib, Length: (19 - i) * mib}}
			wantFault(t, prove(data, extents), fault.Blocked, fault.Damaged)
			break
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	wantFault(t, transfer.Prove(ctx, transfer.Proof{Disk: &memDisk{data: data}, Ledger: ledger}), fault.Transient, fault.Interrupted)
}

func TestManifestFile(t *testing.T) {
	data := content(3*mib, 45)
	path, ledger := copied(t, data)
	m := openArtifact(t, path, len(data), ledger).Manifest()
	file := path + ".json"
	for range 2 { // replaced, too
		if err := m.Save(nil, file); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := transfer.LoadManifest(nil, file); err != nil || got != m {
		t.Errorf("read back %+v, %v", got, err)
	}
	for name, text := range map[string]string{
		"cut":       `{"format":"raw","size":31`,
		"bad sum":   `{"format":"raw","size":10,"chunkSize":1048576,"root":"` + m.Root + `","data":4,"zero":4}`,
		"no root":   `{"format":"raw","size":8,"chunkSize":1048576,"data":4,"zero":4}`,
		"not raw":   `{"format":"vmdk","size":8,"chunkSize":1048576,"root":"` + m.Root + `","data":4,"zero":4}`,
		"not hexes": `[]`,
	} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := transfer.LoadManifest(nil, file)
		if fault.ReasonOf(err) != fault.Damaged {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestInspect(t *testing.T) {
	data := content(5*mib, 46)
	path, ledger := imagePath(t), &memLedger{}
	look := func(want transfer.State) transfer.Found {
		t.Helper()
		f, err := transfer.Inspect(t.Context(), nil, path, int64(len(data)), ledger)
		if err != nil || f.State != want {
			t.Errorf("inspect gives %s %q, %v; want %s", f.State, f.Why, err, want)
		}
		return f
	}
	look(transfer.Absent)
	ctx, cancel := context.WithCancel(t.Context())
	progress := &transfer.Progress{}
	disk := &memDisk{data: data}
	disk.open = stopAt(progress, 2*mib, cancel)
	_, err := transfer.Copy(ctx, transfer.Job{Disk: disk, Path: path, Ledger: ledger, Progress: progress})
	wantFault(t, err, fault.Transient, fault.Interrupted)
	if f := look(transfer.Partial); f.Chunks != 2 || f.Image != nil {
		t.Errorf("found %+v", f)
	}
	res := mustCopy(t, transfer.Job{Disk: &memDisk{data: data}, Path: path, Ledger: ledger})
	if f := look(transfer.Complete); f.Image == nil || *f.Image != res.Manifest || f.Chunks != 5 {
		t.Errorf("found %+v", f)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	look(transfer.Broken)
	ledger.sums = nil
	look(transfer.Absent)
}
