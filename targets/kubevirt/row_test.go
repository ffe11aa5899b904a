package kubevirt

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	virt "kubevirt.io/api/core/v1"
	cdi "kubevirt.io/containerized-data-importer-api/pkg/apis/core/v1beta1"
	"sigs.k8s.io/yaml"

	"landfall/engine/machine"
	"landfall/engine/spec"
	"landfall/targets"
)

// made is what a plan makes, read back as strictly as the API reads it.
type made struct {
	plan  targets.Plan
	vm    virt.VirtualMachine
	disks []cdi.DataVolume
}

func (m made) domain() virt.DomainSpec { return m.vm.Spec.Template.Spec.Domain }
func (m made) noted(part string) bool {
	return strings.Contains(strings.Join(m.plan.Notes, "\n"), part)
}
func (m made) spec() virt.VirtualMachineInstanceSpec { return m.vm.Spec.Template.Spec }

// render renders and reads back every document; a field that the API does not know is an error.
func render(t *testing.T, in targets.Input) made {
	t.Helper()
	p, err := Render(in)
	if err != nil {
		t.Fatal(err)
	}
	m := made{plan: p}
	docs, err := Documents(in.Owner, p)
	if err != nil {
		t.Fatal(err)
	}
	for _, doc := range strings.Split(docs, "---\n") {
		var kind struct{ Kind string }
		if err := yaml.Unmarshal([]byte(doc), &kind); err != nil {
			t.Fatalf("%v in\n%s", err, doc)
		}
		switch kind.Kind {
		case "VirtualMachine":
			err = yaml.UnmarshalStrict([]byte(doc), &m.vm)
		case "DataVolume":
			var d cdi.DataVolume
			err = yaml.UnmarshalStrict([]byte(doc), &d)
			m.disks = append(m.disks, d)
		case "Service":
		default:
			t.Errorf("a document of kind %q:\n%s", kind.Kind, doc)
		}
		if err != nil {
			t.Fatalf("%v in\n%s", err, doc)
		}
	}
	if len(m.disks) != len(p.Volumes) {
		t.Fatalf("%d documents for %d volumes", len(m.disks), len(p.Volumes))
	}
	return m
}

// Every row of how a field of KubeVirt follows from one of VMware.
func TestRows(t *testing.T) {
	efi := func(in *targets.Input) { in.VM.Firmware = "efi" }
	windows := func(in *targets.Input) { in.VM.GuestID = "windows2019srv_64Guest" }
	both := func(list ...func(*targets.Input)) func(*targets.Input) {
		return func(in *targets.Input) {
			for _, f := range list {
				f(in)
			}
		}
	}
	for _, c := range []struct {
		row, what string
		change    func(*targets.Input)
		want      any
		got       func(made) any
	}{
		{"name", "from the VM's", nil, "web-01", func(m made) any { return m.vm.Name }},
		{"name", "asked for", func(in *targets.Input) { in.Spec.Destination.VMName = "shop" }, "shop", func(m made) any { return m.vm.Name }},
		{"name", "nothing left", func(in *targets.Input) { in.VM.Name = "服务器" }, "vm-52e0f3a1", func(m made) any { return m.vm.Name }},
		{"annotations", "who it was", nil, []string{"Web_01", "vm-42", "52e0f3a1-9c4b-11aa-2233-445566778899", "423EFD65-a73d-e159-a56d-dd25289f8b0c"}, func(m made) any {
			a := m.vm.Annotations
			return []string{a[annSourceName], a[annMoRef], a[annInstance], a[annBIOS]}
		}},
		{"annotations", "hostile", func(in *targets.Input) { in.VM.Name = "a\x1b[31m\nb" }, `a\x1b[31m\nb`, func(m made) any { return m.vm.Annotations[annSourceName] }},
		{"labels", "on machine, instance and disk", nil, []string{plain().Owner.UID, manager, plain().Owner.UID, plain().Owner.UID, "0123456789abcdef0123456789abcdef"}, func(m made) any {
			return []string{m.vm.Labels[targets.LabelMigration], m.vm.Labels[labelManager], m.vm.Spec.Template.ObjectMeta.Labels[targets.LabelMigration], m.disks[0].Labels[targets.LabelMigration], m.disks[0].Labels[labelDigest]}
		}},
		{"runStrategy", "halted whatever is asked", func(in *targets.Input) { in.Spec.Destination.RunStrategy = "Always" }, virt.RunStrategyHalted, func(m made) any { return *m.vm.Spec.RunStrategy }},
		{"instancetype", "neither CPU nor memory beside it", func(in *targets.Input) { in.Spec.Destination.Instancetype = "u1.small" }, []bool{true, true, true}, func(m made) any {
			return []bool{m.vm.Spec.Instancetype.Name == "u1.small", m.domain().CPU == nil, m.domain().Memory == nil}
		}},
		{"preference", "the guest's, in the cluster", func(in *targets.Input) { in.Preferences = map[string]targets.Preference{"debian": {}} }, "debian ", func(m made) any { return m.vm.Spec.Preference.Name + " " + m.vm.Spec.Preference.Kind }},
		{"preference", "the guest's, not in the cluster", func(in *targets.Input) { in.Preferences = map[string]targets.Preference{"fedora": {}} }, true, func(m made) any { return m.vm.Spec.Preference == nil }},
		{"preference", "nothing known of the cluster", nil, true, func(m made) any { return m.vm.Spec.Preference == nil }},
		{"preference", "asked for goes before the guest's", func(in *targets.Input) {
			in.Preferences = map[string]targets.Preference{"debian": {}}
			in.Spec.Destination.Preference = "mine"
		}, "mine", func(m made) any { return m.vm.Spec.Preference.Name }},
		{"preference", "none wanted", func(in *targets.Input) {
			in.Preferences = map[string]targets.Preference{"debian": {}}
			in.Spec.Destination.Preference = "none"
		}, true, func(m made) any { return m.vm.Spec.Preference == nil }},
		{"preference", "too much memory required", func(in *targets.Input) { in.Preferences = map[string]targets.Preference{"debian": {Memory: 5 * gib}} }, []bool{true, true}, func(m made) any {
			return []bool{m.vm.Spec.Preference == nil, m.noted("requires 5120 MiB")}
		}},
		{"preference", "measured by the instance type", func(in *targets.Input) {
			in.Preferences = map[string]targets.Preference{"debian": {CPUs: 2}}
			in.Instancetypes = map[string]targets.Instancetype{"small": {CPUs: 1, Memory: gib}}
			in.Spec.Destination.Instancetype = "small"
		}, true, func(m made) any { return m.vm.Spec.Preference == nil }},
		{"preference", "would add a TPM", both(windows, func(in *targets.Input) { in.Preferences = map[string]targets.Preference{"windows.2k19": {TPM: true}} }), []bool{true, true}, func(m made) any {
			return []bool{m.vm.Spec.Preference == nil, m.noted("adds a TPM")}
		}},
		{"preference", "for another architecture", func(in *targets.Input) {
			in.Preferences = map[string]targets.Preference{"debian": {Architecture: []string{"arm64"}}}
		}, true, func(m made) any { return m.vm.Spec.Preference == nil }},
		{"cpu", "2 sockets of 2", nil, virt.CPU{Sockets: 2, Cores: 2, Threads: 1}, func(m made) any { return *m.domain().CPU }},
		{"cpu", "6 at 4 per socket", func(in *targets.Input) { in.VM.CPUs, in.VM.CoresPerSocket = 6, 4 }, virt.CPU{Sockets: 6, Cores: 1, Threads: 1}, func(m made) any { return *m.domain().CPU }},
		{"cpu", "more cores per socket than CPUs", func(in *targets.Input) { in.VM.CPUs, in.VM.CoresPerSocket = 2, 4 }, virt.CPU{Sockets: 2, Cores: 1, Threads: 1}, func(m made) any { return *m.domain().CPU }},
		{"cpu", "cores per socket not told", func(in *targets.Input) { in.VM.CoresPerSocket = 0 }, virt.CPU{Sockets: 4, Cores: 1, Threads: 1}, func(m made) any { return *m.domain().CPU }},
		{"memory", "MiB", func(in *targets.Input) { in.VM.MemoryMiB = 6001 }, int64(6001 << 20), func(m made) any { return m.domain().Memory.Guest.Value() }},
		{"firmware", "BIOS", nil, []bool{true, true, true}, func(m made) any {
			b := m.domain().Firmware.Bootloader
			return []bool{b.BIOS != nil, b.EFI == nil, m.domain().Features.SMM == nil}
		}},
		{"firmware", "EFI", efi, []bool{true, false, true}, func(m made) any {
			b := m.domain().Firmware.Bootloader
			return []bool{b.BIOS == nil, *b.EFI.SecureBoot, m.domain().Features.SMM == nil}
		}},
		{"firmware", "secure boot", both(efi, func(in *targets.Input) { in.VM.SecureBoot = true }), []bool{true, true}, func(m made) any {
			return []bool{*m.domain().Firmware.Bootloader.EFI.SecureBoot, *m.domain().Features.SMM.Enabled}
		}},
		{"firmware", "BIOS asked for a source with secure boot", both(efi, func(in *targets.Input) { in.VM.SecureBoot, in.Spec.Destination.Firmware = true, "bios" }), []bool{true, true}, func(m made) any {
			return []bool{m.domain().Firmware.Bootloader.EFI == nil, m.noted("secure boot is left out")}
		}},
		{"firmware.uuid, serial", "as the guest saw them", nil, []string{"423efd65-a73d-e159-a56d-dd25289f8b0c", "VMware-42 3e fd 65 a7 3d e1 59-a5 6d dd 25 28 9f 8b 0c"}, func(m made) any {
			return []string{string(m.domain().Firmware.UUID), m.domain().Firmware.Serial}
		}},
		{"firmware.uuid, serial", "no UUID", func(in *targets.Input) { in.VM.BIOSUUID = "42" }, []string{"", ""}, func(m made) any {
			return []string{string(m.domain().Firmware.UUID), m.domain().Firmware.Serial}
		}},
		{"clock", "UTC for Linux", nil, []bool{true, true}, func(m made) any { c := m.domain().Clock; return []bool{c.UTC != nil, c.Timer.Hyperv == nil} }},
		{"clock", "Windows without a word", windows, []bool{true, true, true}, func(m made) any {
			c := m.domain().Clock
			return []bool{c.UTC != nil, c.Timer.Hyperv != nil, m.noted("spec.destination.timeZone")}
		}},
		{"clock", "Windows with a zone", both(windows, func(in *targets.Input) { in.Spec.Destination.TimeZone = "Asia/Tokyo" }), []any{true, "Asia/Tokyo"}, func(m made) any {
			c := m.domain().Clock
			return []any{c.UTC == nil, string(*c.Timezone)}
		}},
		{"hyperv", "for Windows alone", windows, []bool{true, true, true}, func(m made) any {
			h := m.domain().Features.Hyperv
			return []bool{*h.SyNICTimer.Direct.Enabled, *h.TLBFlush.Enabled, *h.IPI.Enabled}
		}},
		{"hyperv", "not for Linux", nil, true, func(m made) any { return m.domain().Features.Hyperv == nil }},
		{"tpm", "persistent", func(in *targets.Input) { in.VM.TPM = true }, []bool{true, true}, func(m made) any {
			return []bool{*m.domain().Devices.TPM.Persistent, m.noted("the TPM starts empty")}
		}},
		{"tpm", "none", nil, true, func(m made) any { return m.domain().Devices.TPM == nil }},
		{"disks", "in the source's order, booting from the first", func(in *targets.Input) { in.VM.DiskList = mixed(12) }, true, func(m made) any {
			for i, d := range m.domain().Devices.Disks {
				if (d.BootOrder != nil) != (i == 0) || d.Name != m.spec().Volumes[i].Name || m.spec().Volumes[i].DataVolume.Name != m.disks[i].Name || m.plan.Volumes[i].Disk != i {
					return false
				}
			}
			return len(m.domain().Devices.Disks) == 12
		}},
		{"disks", "virtio where the guest has it", nil, virt.DiskBusVirtio, func(m made) any { return m.domain().Devices.Disks[0].Disk.Bus }},
		{"disks", "sata where it has not", windows, virt.DiskBusSATA, func(m made) any { return m.domain().Devices.Disks[0].Disk.Bus }},
		{"disks", "virtio once converted", both(windows, func(in *targets.Input) { in.Spec.Strategy.Conversion = spec.ConvertVirtV2V }), virt.DiskBusVirtio, func(m made) any { return m.domain().Devices.Disks[0].Disk.Bus }},
		{"disks", "another format converts no guest", both(windows, func(in *targets.Input) { in.Spec.Strategy.Conversion = spec.ConvertQemuImg }), virt.DiskBusSATA, func(m made) any { return m.domain().Devices.Disks[0].Disk.Bus }},
		{"disks", "serial of 20", nil, "6000c29a1b2c3d4e5f60", func(m made) any { return m.domain().Devices.Disks[0].Serial }},
		{"volumes", "by a name that follows", nil, "web-01-disk-0", func(m made) any { return m.spec().Volumes[0].DataVolume.Name }},
		{"interfaces", "virtio, address in lower case", nil, []string{"virtio", "00:50:56:aa:bb:cc"}, func(m made) any {
			i := m.domain().Devices.Interfaces[0]
			return []string{i.Model, i.MacAddress}
		}},
		{"interfaces", "e1000e unconverted", windows, "e1000e", func(m made) any { return m.domain().Devices.Interfaces[0].Model }},
		{"interfaces", "new address", func(in *targets.Input) { no := false; in.Spec.PreserveMACAddress = &no }, []any{"", 0}, func(m made) any {
			return []any{m.domain().Devices.Interfaces[0].MacAddress, len(m.plan.MACs)}
		}},
		{"interfaces", "down", func(in *targets.Input) { in.VM.NICs[0].StartConnected = false }, virt.InterfaceStateLinkDown, func(m made) any { return m.domain().Devices.Interfaces[0].State }},
		{"interfaces", "no NIC, none added", func(in *targets.Input) { in.VM.NICs = nil }, false, func(m made) any { return *m.domain().Devices.AutoattachPodInterface }},
		{"networks", "pod by masquerade, Multus by bridge", func(in *targets.Input) {
			in.VM.NICs = append(in.VM.NICs, machine.NIC{MAC: "00:50:56:00:00:02", Network: "Backup"})
		}, []any{true, true, "infra/backup", true}, func(m made) any {
			i, n := m.domain().Devices.Interfaces, m.spec().Networks
			return []any{n[0].Pod != nil, i[0].Masquerade != nil, n[1].Multus.NetworkName, i[1].Bridge != nil}
		}},
		{"inputs", "a tablet on usb", nil, virt.Input{Name: "tablet", Type: virt.InputTypeTablet, Bus: virt.InputBusUSB}, func(m made) any { return m.domain().Devices.Inputs[0] }},
		{"DataVolume size", "whole MiB on Block", func(in *targets.Input) { in.VM.DiskList[0].Capacity = 10*gib + 1 }, int64(10*gib + mib), func(m made) any { return m.disks[0].Spec.PVC.Resources.Requests.Storage().Value() }},
		{"DataVolume size", "overhead in a file system", func(in *targets.Input) { in.VM.DiskList[0].Datastore = "nfs" }, true, func(m made) any {
			n := m.disks[0].Spec.PVC.Resources.Requests.Storage().Value()
			return targets.Usable(n, 0.06) == 10*gib
		}},
		{"DataVolume", "binds at once where the class waits", func(in *targets.Input) { in.VM.DiskList[0].Datastore = "nfs" }, "true", func(m made) any { return m.disks[0].Annotations[annBindNow] }},
		{"DataVolume", "otherwise not", nil, "", func(m made) any { return m.disks[0].Annotations[annBindNow] }},
		{"DataVolume", "standalone", nil, []any{0, 0, cdi.DataVolumeKubeVirt}, func(m made) any {
			return []any{len(m.vm.Spec.DataVolumeTemplates), len(m.disks[0].OwnerReferences), m.disks[0].Spec.ContentType}
		}},
		{"DataVolume", "upload", nil, []bool{true, true}, func(m made) any { s := m.disks[0].Spec.Source; return []bool{s.Upload != nil, s.HTTP == nil} }},
		{"scratch", "tight where a Block volume is fetched", func(in *targets.Input) { in.Spec.Strategy.Delivery = spec.DeliverHTTP }, true, func(m made) any { return m.noted("scratch volume of the same size") }},
		{"scratch", "not where a file system is", func(in *targets.Input) {
			in.Spec.Strategy.Delivery, in.VM.DiskList[0].Datastore = spec.DeliverHTTP, "nfs"
		}, false, func(m made) any { return m.noted("scratch") }},
		{"scratch", "nor where it is uploaded", nil, false, func(m made) any { return m.noted("scratch") }},
		{"DataVolume", "fetched", func(in *targets.Input) {
			in.Spec.Strategy.Delivery, in.Spec.Destination.ServeAddress = spec.DeliverHTTP, "h:1"
		}, "https://h:1/ web-01-disk-0-source web-01-disk-0-ca", func(m made) any {
			h := m.disks[0].Spec.Source.HTTP
			return h.URL + " " + h.SecretRef + " " + h.CertConfigMap
		}},
	} {
		t.Run(c.row+"/"+c.what, func(t *testing.T) {
			in := plain()
			if c.change != nil {
				c.change(&in)
			}
			if d := cmp.Diff(c.want, c.got(render(t, in))); d != "" {
				t.Error(d)
			}
		})
	}
}
