package guest

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/diskfs/go-diskfs"
	"github.com/diskfs/go-diskfs/disk"
	"github.com/diskfs/go-diskfs/filesystem"
	"github.com/diskfs/go-diskfs/partition"
	"github.com/diskfs/go-diskfs/partition/gpt"
	"github.com/diskfs/go-diskfs/partition/mbr"
)

const (
	sector   = 512
	mebibyte = 1 << 20
	espSize  = 36 * mebibyte // FAT32 is no smaller
)

// writeDisk makes a partitioned disk with a boot loader from the folder root,
// all of it in one file: no loop device, no mount, no privilege.
func writeDisk(ctx context.Context, pkgs packages, firmware Firmware, root, uuid, path string) error {
	start, end := int64(mebibyte), int64(Size)
	if firmware == EFI {
		start, end = start+espSize, end-mebibyte
	}
	image, err := diskfs.Create(path, Size, diskfs.SectorSize512)
	if err != nil {
		return err
	}
	defer image.Close()
	if err := image.Partition(table(firmware, start, end)); err != nil {
		return fmt.Errorf("writing the partition table: %w", err)
	}

	_, err = run(ctx, nil, filepath.Dir(path), "mke2fs", "-q", "-F", "-t", "ext4", "-L", "guest", "-U", uuid,
		"-O", "^orphan_file,^metadata_csum_seed", // newer than the boot loader
		"-E", fmt.Sprintf("offset=%d,root_owner=0:0,hash_seed=%s", start, uuid),
		"-d", root, path, fmt.Sprintf("%dk", (end-start)/1024))
	if err != nil {
		return err
	}
	if firmware == EFI {
		return installEFI(ctx, pkgs, image, uuid)
	}
	return installBIOS(ctx, pkgs, path, uuid)
}

func table(firmware Firmware, start, end int64) partition.Table {
	if firmware == BIOS {
		return &mbr.Table{
			LogicalSectorSize: sector, PhysicalSectorSize: sector,
			Partitions: []*mbr.Partition{
				{Bootable: true, Type: mbr.Linux, Start: uint32(start / sector), Size: uint32((end - start) / sector)},
			},
		}
	}
	return &gpt.Table{
		LogicalSectorSize: sector, PhysicalSectorSize: sector, ProtectiveMBR: true,
		Partitions: []*gpt.Partition{
			{Start: mebibyte / sector, End: uint64(start/sector) - 1, Type: gpt.EFISystemPartition, Name: "EFI"},
			{Start: uint64(start / sector), End: uint64(end/sector) - 1, Type: gpt.LinuxFilesystem, Name: "guest"},
		},
	}
}

// installBIOS writes the boot loader where GRUB's own installer would: its
// first sector around the partition table, the rest in the gap behind it. The
// image that grub-mkimage makes expects to lie there.
func installBIOS(ctx context.Context, pkgs packages, path, uuid string) error {
	core, err := grub(ctx, pkgs, filepath.Dir(path), uuid, "i386-pc", "biosdisk", "part_msdos")
	if err != nil {
		return err
	}
	if len(core) > mebibyte-sector {
		return fmt.Errorf("the boot loader of %d bytes does not fit in front of the partition", len(core))
	}
	boot, err := os.ReadFile(pkgs.path("usr", "lib", "grub", "i386-pc", "boot.img"))
	if err != nil {
		return err
	}
	file, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	defer file.Close()
	const code = 440 // the disk's signature and its partitions follow
	if _, err := file.WriteAt(boot[:code], 0); err != nil {
		return err
	}
	if _, err := file.WriteAt(core, sector); err != nil {
		return err
	}
	return file.Close()
}

func installEFI(ctx context.Context, pkgs packages, image *disk.Disk, uuid string) error {
	loader, err := grub(ctx, pkgs, pkgs.dir, uuid, "x86_64-efi", "part_gpt")
	if err != nil {
		return err
	}
	esp, err := image.CreateFilesystem(disk.FilesystemSpec{Partition: 1, FSType: filesystem.TypeFat32, VolumeLabel: "EFI"})
	if err != nil {
		return fmt.Errorf("making the EFI system partition: %w", err)
	}
	if err := esp.Mkdir("/EFI/BOOT"); err != nil {
		return err
	}
	file, err := esp.OpenFile("/EFI/BOOT/BOOTX64.EFI", os.O_CREATE|os.O_RDWR)
	if err != nil {
		return err
	}
	if _, err := io.Copy(file, strings.NewReader(string(loader))); err != nil {
		return err
	}
	return file.Close()
}

// grub returns a boot loader that finds the root file system by its UUID and
// goes on with the configuration that lies there.
func grub(ctx context.Context, pkgs packages, work, uuid, platform string, modules ...string) ([]byte, error) {
	config := filepath.Join(work, "early.cfg")
	text := fmt.Sprintf("search.fs_uuid %s root\nset prefix=($root)/boot/grub\nconfigfile $prefix/grub.cfg\n", uuid)
	if err := os.WriteFile(config, []byte(text), 0o644); err != nil {
		return nil, err
	}
	out := filepath.Join(work, "grub-"+platform)
	args := []string{
		"-O", platform, "-d", pkgs.path("usr", "lib", "grub", platform), "-c", config, "-p", "/boot/grub", "-o", out,
		"ext2", "linux", "normal", "configfile", "search_fs_uuid", "serial", "terminal", "echo", "boot",
	}
	libraries := "LD_LIBRARY_PATH=" + pkgs.path("lib", "x86_64-linux-gnu") + ":" + pkgs.path("usr", "lib", "x86_64-linux-gnu")
	if _, err := run(ctx, []string{libraries}, work, pkgs.path("usr", "bin", "grub-mkimage"), append(args, modules...)...); err != nil {
		return nil, err
	}
	return os.ReadFile(out)
}
