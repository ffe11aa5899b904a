package preflight_test

import (
	"time"

	"landfall/engine/machine"
	"landfall/engine/preflight"
	"landfall/engine/spec"
	"landfall/sources"
	"landfall/targets"
)

func policy(p spec.PowerPolicy) func(*preflight.Facts) {
	return func(f *preflight.Facts) { f.Spec.Source.PowerOffPolicy = p }
}

func tools(s machine.Tools) func(*preflight.Facts) { return vm(func(v *machine.VM) { v.Tools = s }) }

func backing(b machine.Backing) func(*preflight.Facts) {
	return disk(func(d *machine.Disk) { d.Backing = b })
}

// noon is when it is judged.
var noon = time.Date(2026, 3, 14, 12, 0, 0, 0, time.UTC)

// probe has a source that was probed and has nothing to say.
func probe(change func(*sources.Capabilities)) func(*preflight.Facts) {
	return func(f *preflight.Facts) {
		f.Now = noon
		f.Probe = &sources.Capabilities{Status: "green", Ports: []sources.Port{{Address: "esx1:443", For: "API"}}, Certificate: sources.Certificate{Seen: "aa"},
			Room: map[string]int64{"ds1": 100 << 30}, Unknown: map[string]string{}}
		if change != nil {
			change(f.Probe)
		}
	}
}

func notProbed(group string) situations {
	return situations{"may not be looked up": probe(func(c *sources.Capabilities) { c.Unknown[group] = "no permission" })}
}

func twoControllers(f *preflight.Facts) {
	f.VM.DiskList = append(f.VM.DiskList, machine.Disk{Key: 15000, Bus: machine.SATA, Capacity: 1 << 30, Backing: machine.Flat, Datastore: "ds1", Path: "[ds1] web/web_1.vmdk", ChangeID: "52 3d/1"})
}

func guestDisk(path string, free int64) func(*preflight.Facts) {
	return vm(func(v *machine.VM) { v.GuestDisks = []machine.GuestDisk{{Path: path, Capacity: 20 << 30, Free: free}} })
}

func guest(id string) func(*preflight.Facts) { return vm(func(v *machine.VM) { v.GuestID = id }) }

func pin(p ...string) func(*preflight.Facts) { return vm(func(v *machine.VM) { v.Pinned = p }) }

func warm(f *preflight.Facts) { f.Spec.Strategy.Type = "Warm" }

func large(f *preflight.Facts) { f.VM.DiskList[0].Capacity = 200 << 30; room("", 0, 1<<50, none)(f) }

func version(v string) func(*preflight.Facts) {
	return func(f *preflight.Facts) { f.Source.Version = v }
}

func sourceAt(address string) func(*preflight.Facts) {
	return func(f *preflight.Facts) { f.Spec.Source.Address = address }
}

// neighbour adds another VM to the source's list.
func neighbour(change func(*machine.VM)) func(*preflight.Facts) {
	return func(f *preflight.Facts) {
		v := machine.VM{Summary: machine.Summary{Name: "db", Ref: machine.Ref{MoRef: "vm-9"}}}
		change(&v)
		f.VM.BIOSUUID = "42ab"
		f.Neighbours = append(f.Neighbours, v)
	}
}

var vmCases = []ruleCases{
	{rule: "vm.name.missing", fires: situations{
		"no name": vm(func(v *machine.VM) { v.Name = "" }),
		"no id":   vm(func(v *machine.VM) { v.Ref = machine.Ref{} }),
	}, silent: situations{"both": asItIs, "by UUID": vm(func(v *machine.VM) { v.Ref = machine.Ref{InstanceUUID: "u"} })}},
	{rule: "vm.template", fires: situations{"template": vm(func(v *machine.VM) { v.Template = true })}, silent: situations{"VM": asItIs}},
	{rule: "vm.connection", fires: situations{
		"disconnected": vm(func(v *machine.VM) { v.Connection = "disconnected" }),
		"orphaned":     vm(func(v *machine.VM) { v.Connection = "orphaned" }),
	}, silent: situations{"connected": asItIs}, unknown: situations{"not given": vm(func(v *machine.VM) { v.Connection = "" })}},
	{rule: "vm.question", fires: situations{"asks": vm(func(v *machine.VM) { v.Question = "moved or copied?" })}, silent: situations{"asks nothing": asItIs}},
	{rule: "vm.suspended", fires: situations{"suspended": suspended}, silent: situations{"on": asItIs, "off": poweredOff}, unknown: powerUnknown},
	{rule: "vm.tools.missing", fires: situations{
		"not running": tools(machine.ToolsNotRunning), "not installed": tools(machine.ToolsMissing),
	}, silent: situations{
		"running": asItIs, "off": both(poweredOff, tools(machine.ToolsMissing)), "never powered off": both(policy(spec.Never), tools(machine.ToolsMissing)),
	}, unknown: situations{
		"tools unknown": tools(machine.ToolsUnknown), "tools not given": tools(""), "power unknown": powerUnknown["power unknown"],
	}},
	{rule: "vm.power.policy", fires: situations{"on": policy(spec.Never), "suspended": both(suspended, policy(spec.Never))},
		silent:  situations{"off": both(poweredOff, policy(spec.Never)), "may be shut down": policy(spec.Graceful)},
		unknown: situations{"power unknown": powerUnknown["policy forbids off"]}},
	{rule: "vm.hostname.empty", fires: situations{"empty": vm(func(v *machine.VM) { v.HostName = "" })},
		silent:  situations{"named": asItIs, "off": both(poweredOff, vm(func(v *machine.VM) { v.HostName = "" }))},
		unknown: situations{"power unknown": powerUnknown["power unknown"]}},
	{rule: "vm.hostname.default", fires: situations{
		"with domain": vm(func(v *machine.VM) { v.HostName = "localhost.localdomain" }),
		"bare":        vm(func(v *machine.VM) { v.HostName = "LocalHost" }),
	}, silent: situations{"named": asItIs, "named alike": vm(func(v *machine.VM) { v.HostName = "localhost-db.example" })}},
	{rule: "vm.ip.missing", fires: situations{"none": vm(func(v *machine.VM) { v.Addresses = nil })},
		silent:  situations{"known": asItIs, "off": both(poweredOff, vm(func(v *machine.VM) { v.Addresses = nil }))},
		unknown: situations{"power unknown": powerUnknown["power unknown"]}},
	{rule: "vm.guest.unsupported", fires: situations{
		"RHEL 6": guest("rhel6_64Guest"), "Windows 7": guest("windows7_64Guest"), "Server 2012": guest("windows8Server64Guest"),
		"FreeBSD": guest("freebsd13_64Guest"), "never heard of": guest("quantum1Guest"),
	}, silent: situations{
		"RHEL 7": guest("rhel7_64Guest"), "RHEL 10": guest("rhel10_64Guest"), "CentOS 8": guest("centos8_64Guest"), "Oracle 9": guest("oracleLinux9_64Guest"), "Rocky": guest("rockylinux_64Guest"),
		"Debian": guest("debian12_64Guest"), "Ubuntu": guest("ubuntu64Guest"), "SUSE": guest("sles15_64Guest"), "Windows 10": guest("windows9_64Guest"),
		"Windows 11": guest("windows11_64Guest"), "2016": guest("windows9Server64Guest"), "2019": asItIs, "2022": guest("windows2019srvNext_64Guest"), "2025": guest("windows2022srvNext_64Guest"),
	}, unknown: situations{"not given": guest("")}},
	{rule: "vm.cpu.affinity", fires: situations{"pinned": pin("cpu 0,1")}, silent: situations{"free": asItIs, "only memory": pin("memory 0")}},
	{rule: "vm.numa.affinity", fires: situations{"numa": pin("numa 1"), "memory": pin("cpu 0", "memory 0")}, silent: situations{"free": asItIs, "only processors": pin("cpu 0,1")}},
	{rule: "vm.host.affinity", fires: situations{"a rule": pin("host must run on esx1")}, silent: situations{"free": asItIs, "only processors": pin("cpu 0,1")}},
	{rule: "vm.hotplug", fires: situations{"on": vm(func(v *machine.VM) { v.HotAdd = true })}, silent: situations{"off": asItIs}},
	{rule: "vm.cpu.topology", fires: situations{"odd": vm(func(v *machine.VM) { v.CoresPerSocket = 3 })},
		silent: situations{"even": asItIs, "not given": vm(func(v *machine.VM) { v.CoresPerSocket = 0 })}},
	{rule: "vm.ft", fires: situations{"on": vm(func(v *machine.VM) { v.FaultTolerance = true })}, silent: situations{"off": asItIs}},
	{rule: "vm.encrypted", fires: situations{"with a key": vm(func(v *machine.VM) { v.Encrypted = true })}, silent: situations{"plain": asItIs}},
	{rule: "vm.tpm", fires: situations{"has one": vm(func(v *machine.VM) { v.TPM = true })}, silent: situations{"none": asItIs}},
	{rule: "vm.firmware.secureboot", fires: situations{"on": vm(func(v *machine.VM) { v.SecureBoot = true })}, silent: situations{"off": asItIs}},
	{rule: "vm.nested", fires: situations{"exposed": vm(func(v *machine.VM) { v.NestedHV = true })}, silent: situations{"hidden": asItIs}},
	{rule: "vm.snapshot", fires: situations{
		"named":   vm(func(v *machine.VM) { v.SnapshotNames = []string{"before"} }),
		"unnamed": vm(func(v *machine.VM) { v.Snapshots = true }),
		"warm":    both(warm, vm(func(v *machine.VM) { v.SnapshotNames = []string{"before"} })),
	}, levels: map[string]preflight.Level{"warm": preflight.Blocker}, silent: situations{"none": asItIs, "none, warm": warm}},
	{rule: "vm.consolidation", fires: situations{"needed": vm(func(v *machine.VM) { v.Consolidate = true })}, silent: situations{"not needed": asItIs}},
	{rule: "vm.autostart", fires: situations{"on": vm(func(v *machine.VM) { v.Autostart = true })}, silent: situations{"off": asItIs}},
	{rule: "vm.duplicate.uuid", fires: situations{"a clone": neighbour(func(v *machine.VM) { v.BIOSUUID = "42AB" })},
		silent: situations{"nobody else": asItIs, "another's": neighbour(func(v *machine.VM) { v.BIOSUUID = "43" }), "itself": neighbour(func(v *machine.VM) { v.BIOSUUID, v.Ref = "42ab", machine.Ref{MoRef: "vm-1"} })}},
	{rule: "vm.migrating.elsewhere", fires: situations{
		"by another migration": besides(func(p *preflight.Planned) { p.VM.Ref.MoRef, p.Migration = "vm-1", "0a1b" }),
		"twice in the plan":    besides(func(p *preflight.Planned) { p.VM.Ref.MoRef = "vm-1" }),
		"by name, not found yet": besides(func(p *preflight.Planned) {
			p.VM.Ref, p.VM.Name, p.Migration = machine.Ref{}, "web", "0a1b"
		}),
		"the address is written otherwise": both(func(f *preflight.Facts) { f.Spec.Source.Address = "https://ESX1:443/sdk" }, besides(func(p *preflight.Planned) {
			p.VM.Ref.MoRef, p.Spec.Source.Address = "vm-1", "esx1"
		})),
	}, silent: situations{"another VM": besides(nil), "of another source": besides(func(p *preflight.Planned) {
		p.VM.Ref.MoRef, p.Spec.Source.Address = "vm-1", "esx2"
	})}},
	{rule: "vm.agent.vcls", fires: situations{"agent": vm(func(v *machine.VM) { v.Agent = true })}, silent: situations{"VM": asItIs}},
}

var diskCases = []ruleCases{
	{rule: "disk.none", fires: situations{"none": vm(func(v *machine.VM) { v.DiskList = nil })}, silent: situations{"one": asItIs}},
	{rule: "disk.capacity.invalid", fires: situations{
		"zero": disk(func(d *machine.Disk) { d.Capacity = 0 }), "negative": disk(func(d *machine.Disk) { d.Capacity = -1 }),
	}, silent: situations{"a size": asItIs}},
	{rule: "disk.datastore.missing", fires: situations{
		"no datastore": disk(func(d *machine.Disk) { d.Datastore = "" }), "no path": disk(func(d *machine.Disk) { d.Path = "" }),
	}, silent: situations{"known": asItIs}},
	{rule: "disk.backing.unknown", fires: situations{"unknown": backing(machine.BackingUnknown), "not given": backing(""), "never heard of": backing("pmem")},
		silent: situations{"flat": asItIs, "with a rule of its own": backing(machine.RDMVirtual)}},
	{rule: "disk.rdm.physical", fires: situations{"physical": backing(machine.RDMPhysical)}, silent: situations{"flat": asItIs, "virtual": backing(machine.RDMVirtual)}},
	{rule: "disk.rdm.virtual", fires: situations{"virtual": backing(machine.RDMVirtual)}, silent: situations{"flat": asItIs, "physical": backing(machine.RDMPhysical)}},
	{rule: "disk.independent", fires: situations{
		"independent": disk(func(d *machine.Disk) { d.Independent = true }), "warm": both(warm, disk(func(d *machine.Disk) { d.Independent = true })),
	}, levels: map[string]preflight.Level{"warm": preflight.Blocker}, silent: situations{"dependent": asItIs}},
	{rule: "disk.shared", fires: situations{
		"flagged":                          disk(func(d *machine.Disk) { d.Shared = true }),
		"in another VM without a flag":     neighbour(func(v *machine.VM) { v.DiskList = []machine.Disk{{Path: "[ds1] web/web.vmdk"}} }),
		"in another VM of the plan":        besides(func(p *preflight.Planned) { p.VM.DiskList = []machine.Disk{{Path: "[ds1] web/web.vmdk"}} }),
		"found in one, another not looked": both(neighbour(func(v *machine.VM) { v.Disks = 2 }), neighbour(func(v *machine.VM) { v.DiskList = []machine.Disk{{Path: "[ds1] web/web.vmdk"}} })),
	}, unknown: situations{"others that nobody looked into": neighbour(func(v *machine.VM) { v.Disks = 2 })},
		silent: situations{"its own": asItIs, "another's disks": neighbour(func(v *machine.VM) { v.DiskList = []machine.Disk{{Path: "[ds1] web/web_1.vmdk"}} }),
			"itself in the list": neighbour(func(v *machine.VM) {
				v.Ref, v.DiskList = machine.Ref{MoRef: "vm-1"}, []machine.Disk{{Path: "[ds1] web/web.vmdk"}}
			})}},
	{rule: "disk.controller.unknown", fires: situations{
		"unknown":   disk(func(d *machine.Disk) { d.Bus = machine.BusUnknown }),
		"not given": disk(func(d *machine.Disk) { d.Bus = "" }),
		"no bus":    disk(func(d *machine.Disk) { d.Bus = "usb" }),
	}, silent: situations{"scsi": asItIs, "nvme": disk(func(d *machine.Disk) { d.Bus = machine.NVMe })}},
	{rule: "disk.count", fires: situations{"166": disks(166)}, silent: situations{"165": disks(165)}},
	{rule: "disk.cbt.off", fires: situations{
		"off":                both(warm, vm(func(v *machine.VM) { v.ChangeTracking = false })),
		"set, nothing yet":   both(warm, disk(func(d *machine.Disk) { d.ChangeID = "" })),
		"set, not stunned":   both(warm, disk(func(d *machine.Disk) { d.ChangeID = "*" })),
		"id of another kind": both(warm, disk(func(d *machine.Disk) { d.ChangeID = "52 3c/*" })),
		"off, with consent": both(warm, func(f *preflight.Facts) {
			f.VM.ChangeTracking, f.Spec.Strategy.Warm.ChangeTracking = false, spec.EnableTracking
		}),
	}, levels: map[string]preflight.Level{"off, with consent": preflight.Info}, silent: situations{"on": warm, "cold": vm(func(v *machine.VM) { v.ChangeTracking = false })}},
	{rule: "disk.cbt.hardware", fires: situations{"version 4": both(warm, vm(func(v *machine.VM) { v.HardwareVersion = 4 }))},
		silent:  situations{"version 7": both(warm, vm(func(v *machine.VM) { v.HardwareVersion = 7 })), "cold": vm(func(v *machine.VM) { v.HardwareVersion = 4 })},
		unknown: situations{"not given": both(warm, vm(func(v *machine.VM) { v.HardwareVersion = 0 }))}},
	{rule: "disk.cbt.128g", fires: situations{"ESXi 5": both(warm, both(large, version("5.5.0"))), "ESXi 6.0": both(warm, both(large, version("6.0.0")))},
		silent:  situations{"ESXi 6.5": both(warm, both(large, version("6.5.0"))), "small": both(warm, version("5.5.0")), "cold": both(large, version("5.5.0"))},
		unknown: situations{"no release": both(warm, both(large, version("")))}},
	{rule: "disk.size.align", fires: situations{"half a MiB": disk(func(d *machine.Disk) { d.Capacity += 1 << 19 })}, silent: situations{"whole MiB": asItIs}},
	{rule: "disk.serial", fires: situations{"shown": both(vm(func(v *machine.VM) { v.DiskUUIDs = true }), disk(func(d *machine.Disk) { d.UUID = "6000C29a-1234-5678-9abc-def012345678" }))},
		silent: situations{"not shown": disk(func(d *machine.Disk) { d.UUID = "6000C29a-1234-5678-9abc-def012345678" }),
			"short": both(vm(func(v *machine.VM) { v.DiskUUIDs = true }), disk(func(d *machine.Disk) { d.UUID = "short" }))}},
	{rule: "disk.boot", fires: situations{"two controllers": twoControllers, "no such place": func(f *preflight.Facts) { f.Spec.Destination.BootDisk = "sata1:4" },
		"the order names what is gone": both(twoControllers, vm(func(v *machine.VM) { v.BootDisks = []int32{9999} }))},
		levels: map[string]preflight.Level{"no such place": preflight.Blocker},
		silent: situations{"one disk": asItIs, "one controller": disks(3), "chosen": both(twoControllers, func(f *preflight.Facts) { f.Spec.Destination.BootDisk = "sata0:0" }),
			"the VM's own order": both(twoControllers, vm(func(v *machine.VM) { v.BootDisks = []int32{15000} }))}},
	{rule: "disk.guest.freespace", fires: situations{
		"root full": both(guestDisk("/", 99<<20), converts(spec.ConvertVirtV2V, nil)), "boot full": both(guestDisk("/boot", 49<<20), converts(spec.ConvertVirtV2V, nil)),
		"C: full": both(guestDisk(`C:\`, 99<<20), converts(spec.ConvertVirtV2V, nil)), "another full": both(guestDisk("/data", 9<<20), converts(spec.ConvertVirtV2V, nil)),
		"not converted": guestDisk("/", 1),
	}, levels: map[string]preflight.Level{"not converted": preflight.Warning}, silent: situations{
		"just enough": both(guestDisk("/", 100<<20), converts(spec.ConvertVirtV2V, nil)), "another just enough": both(guestDisk("/data", 10<<20), converts(spec.ConvertVirtV2V, nil)), "not known, not converted": asItIs,
	}, unknown: situations{"not known": converts(spec.ConvertVirtV2V, nil)}},
	{rule: "source.privileges", fires: situations{"one missing": probe(func(c *sources.Capabilities) { c.Missing = []string{"VirtualMachine.Interact.PowerOff"} }),
		"a warm one's": both(warm, probe(func(c *sources.Capabilities) { c.MissingWarm = []string{"VApp.Export"} }))},
		silent: situations{"all there": probe(nil), "a warm one's, cold": probe(func(c *sources.Capabilities) { c.MissingWarm = []string{"VApp.Export"} })}, unknown: notProbed(sources.KnownPrivileges)},
	{rule: "source.maintenance", fires: situations{"in maintenance": probe(func(c *sources.Capabilities) { c.Maintenance = true })}, silent: situations{"at work": probe(nil)}, unknown: notProbed(sources.KnownHost)},
	{rule: "source.host.status", fires: situations{"yellow": probe(func(c *sources.Capabilities) { c.Status = "yellow" }), "red": probe(func(c *sources.Capabilities) { c.Status = "red" }), "gray": probe(func(c *sources.Capabilities) { c.Status = "gray" })},
		levels: map[string]preflight.Level{"red": preflight.Decide}, silent: situations{"green": probe(nil)},
		unknown: situations{"not given": probe(func(c *sources.Capabilities) { c.Status = "" }), "may not be looked up": notProbed(sources.KnownHost)["may not be looked up"]}},
	{rule: "source.ports", fires: situations{"closed": probe(func(c *sources.Capabilities) { c.Ports[0].Failure = "connection refused" }),
		"a warm one's": both(warm, probe(func(c *sources.Capabilities) { c.Ports[0].Failure, c.Ports[0].Warm = "connection refused", true }))},
		silent: situations{"open": probe(nil), "a warm one's, cold": probe(func(c *sources.Capabilities) { c.Ports[0].Failure, c.Ports[0].Warm = "connection refused", true }),
			"nothing needs it": probe(func(c *sources.Capabilities) { c.Ports[0].Closed = "connection refused" })}, unknown: notProbed(sources.KnownPorts)},
	{rule: "source.certificate", fires: situations{
		"changed": probe(func(c *sources.Capabilities) {
			c.Certificate.Failure, c.Certificate.Wanted = "it is another than the pinned one", "bb"
		}),
		"expired": probe(func(c *sources.Capabilities) { c.Certificate.Expires = noon }),
		"expired, but pinned": probe(func(c *sources.Capabilities) {
			c.Certificate.Expires, c.Certificate.Wanted = noon.Add(-time.Hour), "aa"
		}),
	}, levels: map[string]preflight.Level{"expired, but pinned": preflight.Warning}, silent: situations{"trusted": probe(nil), "expires later": probe(func(c *sources.Capabilities) { c.Certificate.Expires = noon.Add(time.Second) })}},
	{rule: "source.space.snapshot", fires: situations{"too little": both(warm, probe(func(c *sources.Capabilities) { c.Room["ds1"] = 1<<30 - 1 }))},
		silent:  situations{"enough": both(warm, probe(nil)), "cold": probe(func(c *sources.Capabilities) { c.Room["ds1"] = 0 })},
		unknown: situations{"not told": both(warm, probe(func(c *sources.Capabilities) { c.Room = nil })), "may not be looked up": both(warm, notProbed(sources.KnownRoom)["may not be looked up"])}},
	{rule: "source.reader", unknown: notProbed(sources.KnownReaders), fires: situations{
		"every reader refused": both(disk(func(d *machine.Disk) { d.Parent = true }), probe(func(c *sources.Capabilities) {
			c.Readers = []sources.Reading{{Disk: 2000, Reader: "folder", Said: "a chain"}, {Disk: 2000, Reader: "export", Said: "forbidden"}}
		})),
		"only a snapshot can be read, cold": probe(func(c *sources.Capabilities) {
			c.Readers = []sources.Reading{{Disk: 2000, Reader: "folder", Said: "a chain"}, {Disk: 2000, Reader: "export", Works: true, Warm: true}}
		}),
		"on a snapshot": disk(func(d *machine.Disk) { d.Parent = true }), "sparse": backing(machine.SparseDelta), "raw device": backing(machine.RDMVirtual),
	}, silent: situations{"flat": asItIs, "other rules say it": backing(machine.RDMPhysical), "a chain that one reader reads": both(disk(func(d *machine.Disk) { d.Parent = true }), probe(func(c *sources.Capabilities) {
		c.Readers = []sources.Reading{{Disk: 2000, Reader: "folder", Said: "a chain"}, {Disk: 2000, Reader: "export", Works: true}}
	}))}},
}

func disks(n int) func(*preflight.Facts) {
	return vm(func(v *machine.VM) {
		for len(v.DiskList) < n {
			v.DiskList = append(v.DiskList, v.DiskList[0])
		}
	})
}

var nicCases = []ruleCases{
	{rule: "nic.none", fires: situations{"none": vm(func(v *machine.VM) { v.NICs = nil })}, silent: situations{"one": asItIs}},
	{rule: "nic.unmapped", fires: situations{
		"another network": nic(func(n *machine.NIC) { n.Network = "DMZ" }),
		"only an id":      nic(func(n *machine.NIC) { n.Network, n.NetworkID = "", "dvportgroup-7" }),
	}, silent: situations{
		"by name": asItIs,
		"by id": func(f *preflight.Facts) {
			f.VM.NICs[0].NetworkID, f.Spec.Network.Mappings[0].PortGroup = "dvportgroup-7", "dvportgroup-7"
		},
		"no network":    nic(func(n *machine.NIC) { n.Network = "" }),
		"a row for all": func(f *preflight.Facts) { f.VM.NICs[0].Network, f.Spec.Network.Mappings[0].PortGroup = "DMZ", "*" },
	}},
	{rule: "nic.nonetwork", fires: situations{"none": nic(func(n *machine.NIC) { n.Network = "" })},
		silent: situations{"a network": asItIs, "a network without name": nic(func(n *machine.NIC) { n.Network, n.NetworkID = "", "opaque-1" })}},
	{rule: "nic.pod.multiple", fires: situations{
		"two on the pod network": second(machine.NIC{Network: "DMZ"}, spec.NetworkMapping{PortGroup: "DMZ", Type: "Pod"}),
		"one attachment, named twice": both(multus("lan", map[string]bool{"vms/lan": true}),
			second(machine.NIC{Network: "DMZ"}, spec.NetworkMapping{PortGroup: "DMZ", Type: "Multus", Name: "vms/lan"})),
	}, silent: situations{
		"pod and attachment": second(machine.NIC{Network: "DMZ"}, spec.NetworkMapping{PortGroup: "DMZ", Type: "Multus", Name: "lan"}),
		"second left out":    vm(func(v *machine.VM) { v.NICs = append(v.NICs, machine.NIC{}) }),
	}},
	{rule: "nic.nad.missing", fires: situations{
		"missing":              multus("lan", map[string]bool{"vms/lan": false}),
		"in another namespace": multus("other/lan", map[string]bool{"other/lan": true}),
	}, silent: situations{
		"there": multus("lan", map[string]bool{"vms/lan": true}), "in default": multus("default/lan", map[string]bool{"default/lan": true}), "pod network": asItIs,
	}, unknown: situations{
		"not looked for":       multus("lan", nil),
		"may not be looked up": both(multus("lan", nil), notKnown(targets.FactNetworks)["may not be looked up"]),
	}},
	{rule: "nic.sriov", fires: situations{"a function": nic(func(n *machine.NIC) { n.Model = "sriov" })}, silent: situations{"vmxnet3": nic(func(n *machine.NIC) { n.Model = "vmxnet3" })}},
	{rule: "nic.passthrough", fires: situations{"passed through": nic(func(n *machine.NIC) { n.Model = "passthrough" })}, silent: situations{"vmxnet3": nic(func(n *machine.NIC) { n.Model = "vmxnet3" })}},
	{rule: "net.overlap", fires: situations{
		"pods in the guest's network":     target(func(f *targets.Facts) { f.Ranges.Pods = []string{"10.0.0.0/14"} }),
		"nodes in the guest's network":    target(func(f *targets.Facts) { f.Ranges.Nodes = []string{"10.0.2.15/32"} }),
		"the source among the services":   both(sourceAt("https://10.96.3.4/sdk"), target(func(f *targets.Facts) { f.Ranges.Services = []string{"10.96.0.0/12"} })),
		"the source, with its port, IPv6": both(sourceAt("[fd00:96::7]:443"), target(func(f *targets.Facts) { f.Ranges.Services = []string{"fd00:96::/112"} })),
	}, silent: situations{
		"apart": target(func(f *targets.Facts) {
			f.Ranges = targets.Ranges{Pods: []string{"10.244.0.0/16"}, Services: []string{"10.96.0.0/12"}, Nodes: []string{"192.0.2.1/32"}}
		}),
		"no masquerade":      both(multus("lan", map[string]bool{"vms/lan": true}), target(func(f *targets.Facts) { f.Ranges.Pods = []string{"10.0.0.0/14"} })),
		"the source by name": both(sourceAt("esx1.example"), target(func(f *targets.Facts) { f.Ranges.Services = []string{"10.96.0.0/12"} })),
		"not a range":        target(func(f *targets.Facts) { f.Ranges.Pods = []string{"many"} }),
	}, unknown: notKnown(targets.FactPods)},
	{rule: "nic.mac.conflict", fires: situations{
		"twice in this VM":       vm(func(v *machine.VM) { v.NICs = append(v.NICs, v.NICs[0]) }),
		"another VM of the plan": besides(func(p *preflight.Planned) { p.VM.NICs = []machine.NIC{{MAC: "00-50-56-AA-00-01", Network: "DMZ"}} }),
		"used":                   used,
		"written in another way": both(used, nic(func(n *machine.NIC) { n.MAC = "00-50-56-AA-00-01" })),
		"used, others not seen":  both(used, notKnown(targets.FactMACs)["may not be looked up"]),
	}, silent: situations{
		"free": asItIs,
		"the plan makes new ones": both(besides(func(p *preflight.Planned) { p.VM.NICs = []machine.NIC{{MAC: "00:50:56:aa:00:01", Network: "DMZ"}} }), func(f *preflight.Facts) {
			no := false
			f.Beside[0].Spec.PreserveMACAddress = &no
		}),
		"in another cluster": besides(func(p *preflight.Planned) {
			p.VM.NICs, p.Spec.Destination.Context = []machine.NIC{{MAC: "00:50:56:aa:00:01", Network: "DMZ"}}, "other"
		}),
		"a new one is made":  both(used, func(f *preflight.Facts) { no := false; f.Spec.PreserveMACAddress = &no }),
		"card left out":      both(used, nic(func(n *machine.NIC) { n.Network = "" })),
		"nothing to ask for": both(notKnown(targets.FactMACs)["may not be looked up"], nic(func(n *machine.NIC) { n.MAC = "" })),
	}, unknown: notKnown(targets.FactMACs)},
	{rule: "nic.disconnected", fires: situations{"not at start": nic(func(n *machine.NIC) { n.StartConnected = false })},
		silent: situations{"at start": asItIs, "left out": nic(func(n *machine.NIC) { n.StartConnected, n.Network = false, "" })}},
	{rule: "nic.rename", fires: situations{
		"Linux":   vm(func(v *machine.VM) { v.GuestID = "debian12_64Guest" }),
		"Darwin":  vm(func(v *machine.VM) { v.GuestID = "darwin20_64Guest" }),
		"unknown": vm(func(v *machine.VM) { v.GuestID = "" }),
	}, silent: situations{"Windows": asItIs, "no card": vm(func(v *machine.VM) { v.GuestID, v.NICs = "debian12_64Guest", nil })}},
	{rule: "ip.static.lost", fires: situations{"pod network": nic(func(n *machine.NIC) { n.Addresses = []string{"192.0.2.7"} })},
		silent: situations{"no addresses": asItIs, "attachment": both(multus("lan", map[string]bool{"vms/lan": true}), nic(func(n *machine.NIC) { n.Addresses = []string{"192.0.2.7"} }))}},
}

func used(f *preflight.Facts) {
	f.Target.MACs = map[string]string{"00:50:56:aa:00:01": "vms/other"}
}
