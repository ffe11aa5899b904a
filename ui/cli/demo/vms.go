package demo

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"landfall/sources/esxsim"
	"landfall/targets/kubesim"
)

// Page is in the page of every guest, with the guest's name behind it.
const Page = "served from the migrated disk of "

// Writing is the name of the VM whose guest keeps writing.
const Writing = "orders"

const mib = 1 << 20

// host is the simulated ESXi: a handful of VMs, each with a fate of its own.
func host(dir string) (esxsim.Config, error) {
	images := filepath.Join(dir, "images")
	if err := os.MkdirAll(images, 0o700); err != nil {
		return esxsim.Config{}, err
	}
	nic := []esxsim.NIC{{Network: "VM Network"}}
	vms := []esxsim.VM{
		{Name: "web-01", Power: esxsim.On, Hostname: "web-01", IPs: []string{"192.0.2.11"}, CPUs: 2, MemoryMiB: 2048, NICs: nic, ChangeTracking: true,
			Annotation: "shop front", Shutdown: esxsim.Shutdown{Answer: esxsim.Obeys, Delay: 2 * time.Second}, Disks: []esxsim.Disk{{Size: 1024 * mib}}},
		{Name: "DB primary", Power: esxsim.On, Hostname: "db", IPs: []string{"192.0.2.12"}, CPUs: 4, CoresPerSocket: 2, MemoryMiB: 8192, NICs: nic,
			Annotation: "its guest refuses to shut down", Shutdown: esxsim.Shutdown{Answer: esxsim.Refuses}, Disks: []esxsim.Disk{{Size: 256 * mib}}},
		{Name: "files-01", Power: esxsim.Off, BootOrder: []int{0}, CPUs: 2, MemoryMiB: 4096, NICs: nic, Firmware: "efi", ChangeTracking: true,
			Annotation: "three disks", Disks: []esxsim.Disk{{Size: 512 * mib}, {Size: 768 * mib}, {Size: 1024 * mib, Bus: "sata"}}},
		{Name: "legacy", Power: esxsim.On, Hostname: "legacy", IPs: []string{"192.0.2.14"}, NICs: nic, Snapshots: []esxsim.Snapshot{{Name: "before upgrade"}},
			Annotation: "has a snapshot", Disks: []esxsim.Disk{{Size: 128 * mib}}},
		{Name: "dmz-gw", Power: esxsim.Off, NICs: []esxsim.NIC{{Network: "VM Network"}, {Network: "DMZ 10"}},
			Annotation: "a NIC without mapping", Disks: []esxsim.Disk{{Size: 96 * mib}}},
		{Name: takenName, Power: esxsim.Off, NICs: nic, Annotation: "its name is taken in the cluster", Disks: []esxsim.Disk{{Size: 96 * mib}}},
		{Name: "build\x1b[31m+[old]\u202e 100%", Power: esxsim.Off, NICs: nic, Annotation: "a hostile name", Disks: []esxsim.Disk{{Size: 96 * mib}}},
		{Name: Writing, Power: esxsim.On, Hostname: "orders", IPs: []string{"192.0.2.15"}, CPUs: 2, MemoryMiB: 4096, NICs: nic, ChangeTracking: true,
			Annotation: "its guest never stops writing", Shutdown: esxsim.Shutdown{Answer: esxsim.Obeys, Delay: time.Second},
			Disks:   []esxsim.Disk{{Size: 768 * mib}},
			Writers: []esxsim.Writer{{Rate: 512 << 10, Seed: 1, Area: esxsim.Range{Offset: 200 * mib, Length: 32 * mib}}}},
	}
	for i := range vms {
		for j := range vms[i].Disks {
			path := filepath.Join(images, fmt.Sprintf("vm-%d-disk-%d.raw", i, j))
			if err := image(path, vms[i], j); err != nil {
				return esxsim.Config{}, err
			}
			vms[i].Disks[j].Contents.File = path
		}
	}
	return esxsim.Config{Dir: filepath.Join(dir, "esxi"), NBD: "127.0.0.1:0", Password: Password, Networks: []string{"DMZ 10"}, VMs: vms, Rate: 24 * mib}, nil
}

// image makes a disk's contents once: a bootable guest on the first disk, and reproducible data here and there on each.
func image(path string, vm esxsim.VM, disk int) error {
	if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	part := path + ".partial"
	f, err := os.OpenFile(part, os.O_CREATE|os.O_TRUNC|os.O_RDWR, 0o600)
	if err != nil {
		return err
	}
	defer f.Close()
	size := vm.Disks[disk].Size
	if err := f.Truncate(size); err != nil {
		return err
	}
	for at := int64(8 * mib); at < size; at += size / 8 {
		if err := data(f, uint64(at)+uint64(len(vm.Name)), at, min(size/128+mib, size-at)); err != nil {
			return err
		}
	}
	if disk == 0 {
		guest := kubesim.Guest{Pages: map[string]kubesim.Page{"/": {Body: "<h1>" + Page + vm.Name + "</h1>"}},
			Agent: &kubesim.Agent{Hostname: vm.Hostname, ID: "debian", PrettyName: vm.GuestFullName}}
		if err := kubesim.WriteGuest(f, guest, size/2); err != nil {
			return err
		}
	}
	if err := f.Close(); err != nil {
		return err
	}
	return os.Rename(part, path)
}

func data(f *os.File, seed uint64, at, length int64) error {
	p := esxsim.Pattern{Seed: seed, Ranges: []esxsim.Range{{Offset: at, Length: length}}}
	buf := make([]byte, mib)
	for end := at + length; at < end; at += int64(len(buf)) {
		buf = buf[:min(int64(len(buf)), end-at)]
		if _, err := p.ReadAt(buf, at); err != nil {
			return err
		}
		if _, err := f.WriteAt(buf, at); err != nil {
			return err
		}
	}
	return nil
}
