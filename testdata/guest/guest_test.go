package guest_test

import (
	"context"
	"crypto/sha256"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"landfall/testdata/guest"
)

// A disk that is built serves its own token on every bus and under the
// firmware that it was built for, and booting does not change it.
func TestBoot(t *testing.T) {
	if _, err := exec.LookPath("qemu-system-x86_64"); err != nil {
		t.Skip("qemu-system-x86_64 is not installed")
	}
	for name, tc := range map[string]struct {
		image guest.Image
		boot  guest.BootOptions
		root  string
	}{
		"virtio": {
			guest.Image{Token: "guest-test"}, guest.BootOptions{}, "/dev/vda1",
		},
		"sata, an Intel card": {
			guest.Image{Token: "guest-test"}, guest.BootOptions{Bus: guest.SATA, NIC: "e1000e"}, "/dev/sda1",
		},
		"scsi, VMware's card": {
			guest.Image{Token: "guest-test"}, guest.BootOptions{Bus: guest.SCSI, NIC: "vmxnet3"}, "/dev/sda1",
		},
		"efi": {
			guest.Image{Token: "guest-test", Firmware: guest.EFI}, guest.BootOptions{Firmware: guest.EFI}, "/dev/vda2",
		},
	} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
			defer cancel()
			path, err := tc.image.Build(ctx)
			if err != nil {
				t.Fatal(err)
			}
			before := digest(t, path)

			tc.boot.Dir = t.TempDir()
			vm, err := guest.Boot(ctx, path, tc.boot)
			if err != nil {
				t.Fatal(err)
			}
			defer vm.Stop()
			start := time.Now()
			page, err := vm.Page(ctx, "/")
			if err != nil {
				t.Fatal(err)
			}
			t.Logf("page after %v", time.Since(start).Round(time.Millisecond))
			if !strings.Contains(page, "token: guest-test<") {
				t.Errorf("the page does not carry the token:\n%s", page)
			}
			hardware, err := vm.Page(ctx, "/cgi-bin/hardware")
			if err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(hardware, "root: "+tc.root+"\n") {
				t.Errorf("the root file system is not on %s:\n%s", tc.root, hardware)
			}
			vm.Stop()
			if digest(t, path) != before {
				t.Error("booting changed the image")
			}
		})
	}
}

// A disk that cannot start is reported with what the console said, not only
// as silence.
func TestBootOfAnEmptyDisk(t *testing.T) {
	if _, err := exec.LookPath("qemu-system-x86_64"); err != nil {
		t.Skip("qemu-system-x86_64 is not installed")
	}
	path := t.TempDir() + "/empty.img"
	if err := os.WriteFile(path, make([]byte, 1<<20), 0o600); err != nil {
		t.Fatal(err)
	}
	vm, err := guest.Boot(t.Context(), path, guest.BootOptions{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	defer vm.Stop()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	if page, err := vm.Page(ctx, "/"); err == nil {
		t.Errorf("an empty disk served a page: %q", page)
	}
}

func TestBuildRefusesATokenThatIsNotPlain(t *testing.T) {
	for _, token := range []string{"", "../x", "a b", "<script>", strings.Repeat("x", 65)} {
		if path, err := guest.Build(t.Context(), token); err == nil {
			t.Errorf("token %q was built into %s", token, path)
		}
	}
}

func digest(t *testing.T, path string) [sha256.Size]byte {
	t.Helper()
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	sum := sha256.New()
	if _, err := io.Copy(sum, file); err != nil {
		t.Fatal(err)
	}
	return [sha256.Size]byte(sum.Sum(nil))
}
