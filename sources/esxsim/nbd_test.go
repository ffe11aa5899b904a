package esxsim_test

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"testing"

	"github.com/vmware/govmomi/vim25/types"

	"landfall/sources/esxsim"
	"landfall/sources/nbd"
)

// TestRangesOfASnapshot: by NBD a disk is as the snapshot froze it, whatever the guest writes meanwhile.
func TestRangesOfASnapshot(t *testing.T) {
	vm := web(esxsim.On)
	vm.ChangeTracking = true
	vm.Writers = []esxsim.Writer{{Rate: 4 * mib, Seed: 1}}
	s := start(t, esxsim.Config{NBD: "127.0.0.1:0", VMs: []esxsim.VM{vm}})
	c := login(t, s)
	if err := s.TakeSnapshot("web", "a"); err != nil {
		t.Fatal(err)
	}
	frozen, err := s.DigestAt("web", 0, "a")
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, "the guest to write", func() bool { return digest(t, s) != frozen })
	props := properties(t, c, "web", "config.hardware.device", "snapshot")
	var key int32
	var size int64
	for _, d := range props.Config.Hardware.Device {
		if d, ok := d.(*types.VirtualDisk); ok {
			key, size = d.Key, d.CapacityInBytes
		}
	}
	uri := fmt.Sprintf("nbd://%s/%s/%d", s.NBDAddress(), props.Snapshot.CurrentSnapshot.Value, key)
	d, err := nbd.Open(t.Context(), uri, size)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	image := make([]byte, size)
	areas, err := d.Allocated(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	read := int64(0)
	for _, a := range areas {
		r, err := d.Open(t.Context(), a.Offset, a.Length)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.ReadFull(r, image[a.Offset:a.Offset+a.Length]); err != nil {
			t.Fatal(err)
		}
		r.Close()
		read += a.Length
	}
	if sum := sha256.Sum256(image); hex.EncodeToString(sum[:]) != frozen || read >= size {
		t.Errorf("%d of %d bytes read: %x, frozen %s", read, size, sum, frozen)
	}
	if _, err := d.Open(t.Context(), size, 1); err == nil {
		t.Error("read beyond the end")
	}
	for _, name := range []string{"none/2000", "web", "/", fmt.Sprintf("%s/%d", props.Snapshot.CurrentSnapshot.Value, key+1)} {
		if d, err := nbd.Open(t.Context(), "nbd://"+s.NBDAddress()+"/"+name, size); err == nil {
			d.Close()
			t.Errorf("export %q is there", name)
		}
	}
	if err := s.RemoveSnapshots("web", "a"); err != nil {
		t.Fatal(err)
	}
	r, err := d.Open(t.Context(), 0, 4096)
	if err == nil {
		_, err = io.ReadFull(r, image[:4096])
		r.Close()
	}
	if err == nil {
		t.Error("a removed snapshot is still read")
	}
}

// TestAGuestWritesFromTheStart: a writer of the configuration is at work when the host starts, and again after a restart.
func TestAGuestWritesFromTheStart(t *testing.T) {
	vm := web(esxsim.On)
	vm.Writers = []esxsim.Writer{{Rate: 4 * mib, Seed: 1}}
	cfg := esxsim.Config{Dir: t.TempDir(), VMs: []esxsim.VM{vm}}
	for range 2 {
		s := start(t, cfg)
		before := digest(t, s)
		eventually(t, "the guest to write", func() bool { return digest(t, s) != before })
		if err := s.SetPower("web", esxsim.Off); err != nil {
			t.Fatal(err)
		}
		if off := digest(t, s); off != digest(t, s) {
			t.Error("it writes while it is off")
		}
		if err := s.SetPower("web", esxsim.On); err != nil {
			t.Fatal(err)
		}
		s.Close()
	}
	cfg.VMs[0].Writers[0].Disk = 7
	if s, err := esxsim.Start(t.Context(), cfg); err == nil {
		s.Close()
		t.Error("a writer without a disk is taken")
	}
}
