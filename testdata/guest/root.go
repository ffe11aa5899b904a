package guest

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"text/template"
)

// drivers are the kernel modules that a guest carries: the disks and network
// cards of ESXi and of KubeVirt, and what they rest on.
var drivers = []string{
	"fs/ext4", "fs/jbd2", "fs/mbcache.ko", "lib", "crypto", "arch",
	"drivers/ata", "drivers/scsi", "drivers/block", "drivers/message/fusion", "drivers/virtio", "drivers/acpi",
	"drivers/net/virtio_net.ko", "drivers/net/net_failover.ko", "drivers/net/vmxnet3", "drivers/net/mii.ko",
	"drivers/net/ethernet/intel", "drivers/net/ethernet/realtek", "drivers/pps", "drivers/ptp",
	"block", "net/core", "net/packet",
}

// early are those that the initramfs needs to reach the root file system.
var early = []string{
	"fs/ext4", "fs/jbd2", "fs/mbcache.ko", "lib", "crypto", "arch/x86/crypto",
	"drivers/ata/ahci.ko", "drivers/ata/libahci.ko", "drivers/ata/ata_piix.ko", "drivers/ata/libata.ko",
	"drivers/scsi/sd_mod.ko", "drivers/scsi/scsi_mod.ko", "drivers/scsi/scsi_common.ko",
	"drivers/scsi/scsi_transport_spi.ko", "drivers/scsi/vmw_pvscsi.ko", "drivers/scsi/virtio_scsi.ko",
	"drivers/message/fusion", "drivers/block/virtio_blk.ko", "drivers/virtio", "block",
}

// applets are the names under which busybox is called in a guest.
var applets = []string{
	"sh", "acpid", "awk", "basename", "cat", "findfs", "hostname", "httpd", "init", "ip", "modprobe", "mount",
	"poweroff", "readlink", "reboot", "sleep", "switch_root", "udhcpc", "umount", "uname",
}

// layRoot fills a folder with the root file system of a guest.
func layRoot(ctx context.Context, pkgs packages, root, token, uuid string) error {
	if err := layBase(ctx, pkgs, root, drivers); err != nil {
		return err
	}
	for name, file := range map[string]string{
		"inittab":        "etc/inittab",
		"rc":             "etc/rc",
		"udhcpc.script":  "etc/udhcpc.script",
		"power.sh":       "etc/acpi/PWRF/00000080",
		"hardware.cgi":   "srv/www/cgi-bin/hardware",
		"index.html":     "srv/www/index.html",
		"grub.cfg":       "boot/grub/grub.cfg",
		"initramfs-init": "usr/share/initramfs/init",
	} {
		var data any = token
		if name == "grub.cfg" {
			data = struct{ Kernel, UUID string }{pkgs.kernel, uuid}
		}
		if err := render(name, filepath.Join(root, file), data); err != nil {
			return err
		}
	}

	initramfs := root + ".initramfs"
	if err := layBase(ctx, pkgs, initramfs, early); err != nil {
		return err
	}
	if err := render("initramfs-init", filepath.Join(initramfs, "init"), nil); err != nil {
		return err
	}
	if err := archive(ctx, pkgs, initramfs, filepath.Join(root, "boot", "initrd.img-"+pkgs.kernel)); err != nil {
		return err
	}
	return os.Link(pkgs.path("boot", "vmlinuz-"+pkgs.kernel), filepath.Join(root, "boot", "vmlinuz-"+pkgs.kernel))
}

// layBase lays what the root file system and the initramfs have in common:
// folders, busybox and kernel modules with their index.
func layBase(ctx context.Context, pkgs packages, root string, modules []string) error {
	for _, dir := range []string{"bin", "boot", "dev", "etc", "proc", "root", "run", "sbin", "sys", "tmp", "var"} {
		if err := os.MkdirAll(filepath.Join(root, dir), 0o755); err != nil {
			return err
		}
	}
	if err := os.Link(pkgs.busybox(), filepath.Join(root, "bin", "busybox")); err != nil {
		return err
	}
	for _, applet := range applets {
		for _, dir := range []string{"bin", "sbin"} {
			if err := os.Symlink("/bin/busybox", filepath.Join(root, dir, applet)); err != nil {
				return err
			}
		}
	}

	from := pkgs.path("lib", "modules", pkgs.kernel)
	to := filepath.Join(root, "lib", "modules", pkgs.kernel)
	for _, name := range append(modules, "../modules.builtin", "../modules.order") {
		if err := linkTree(filepath.Join(from, "kernel", name), filepath.Join(to, "kernel", name)); err != nil {
			return err
		}
	}
	_, err := run(ctx, nil, root, pkgs.busybox(), "depmod", "-b", root, pkgs.kernel)
	return err
}

// linkTree copies a file or a folder by hard links. What a kernel does not
// have as a module it has built in.
func linkTree(from, to string) error {
	if _, err := os.Stat(from); os.IsNotExist(err) {
		return nil
	}
	return filepath.WalkDir(from, func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		place := filepath.Join(to, strings.TrimPrefix(name, from))
		if entry.IsDir() {
			return os.MkdirAll(place, 0o755)
		}
		if err := os.MkdirAll(filepath.Dir(place), 0o755); err != nil {
			return err
		}
		return os.Link(name, place)
	})
}

func render(name, path string, data any) error {
	page, err := template.ParseFS(recipe, "files/"+name)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	var text bytes.Buffer
	if err := page.Execute(&text, data); err != nil {
		return err
	}
	mode := fs.FileMode(0o644)
	if bytes.HasPrefix(text.Bytes(), []byte("#!")) {
		mode = 0o755
	}
	return os.WriteFile(path, text.Bytes(), mode)
}

// archive writes a folder as a compressed initramfs.
func archive(ctx context.Context, pkgs packages, dir, path string) error {
	var names, said bytes.Buffer
	err := filepath.WalkDir(dir, func(name string, _ fs.DirEntry, err error) error {
		fmt.Fprintln(&names, "."+strings.TrimPrefix(name, dir))
		return err
	})
	if err != nil {
		return err
	}
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	defer file.Close()
	packed := gzip.NewWriter(file)
	cmd := exec.CommandContext(ctx, pkgs.busybox(), "cpio", "-o", "-H", "newc")
	cmd.Dir, cmd.Stdin, cmd.Stdout, cmd.Stderr = dir, &names, packed, &said
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("packing the initramfs: %w: %s", err, said.String())
	}
	if err := packed.Close(); err != nil {
		return err
	}
	return file.Close()
}
