package preflight_test

import (
	"landfall/engine/machine"
	"landfall/engine/preflight"
	"landfall/engine/spec"
	"landfall/targets"
)

func policy(p spec.PowerPolicy) func(*preflight.Facts) {
	return func(f *preflight.Facts) { f.Spec.Source.PowerOffPolicy = p }
}

func tools(s machine.Tools) func(*preflight.Facts) { return vm(func(v *machine.VM) { v.Tools = s }) }

func backing(b machine.Backing) func(*preflight.Facts) {
	return disk(func(d *machine.Disk) { d.Backing = b })
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
	{rule: "vm.affinity", fires: situations{"pinned": vm(func(v *machine.VM) { v.Pinned = []string{"CPU 0,1"} })}, silent: situations{"free": asItIs}},
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
	}, silent: situations{"none": asItIs}},
	{rule: "vm.consolidation", fires: situations{"needed": vm(func(v *machine.VM) { v.Consolidate = true })}, silent: situations{"not needed": asItIs}},
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
	{rule: "disk.independent", fires: situations{"independent": disk(func(d *machine.Disk) { d.Independent = true })}, silent: situations{"dependent": asItIs}},
	{rule: "disk.shared", fires: situations{"shared": disk(func(d *machine.Disk) { d.Shared = true })}, silent: situations{"its own": asItIs}},
	{rule: "disk.controller.unknown", fires: situations{
		"unknown":   disk(func(d *machine.Disk) { d.Bus = machine.BusUnknown }),
		"not given": disk(func(d *machine.Disk) { d.Bus = "" }),
		"no bus":    disk(func(d *machine.Disk) { d.Bus = "usb" }),
	}, silent: situations{"scsi": asItIs, "nvme": disk(func(d *machine.Disk) { d.Bus = machine.NVMe })}},
	{rule: "disk.count", fires: situations{"166": disks(166)}, silent: situations{"165": disks(165)}},
	{rule: "disk.size.align", fires: situations{"half a MiB": disk(func(d *machine.Disk) { d.Capacity += 1 << 19 })}, silent: situations{"whole MiB": asItIs}},
	{rule: "source.reader", fires: situations{
		"on a snapshot": disk(func(d *machine.Disk) { d.Parent = true }), "sparse": backing(machine.SparseDelta), "raw device": backing(machine.RDMVirtual),
	}, silent: situations{"flat": asItIs, "other rules say it": backing(machine.RDMPhysical)}},
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
	{rule: "nic.mac.conflict", fires: situations{
		"used":                   used,
		"written in another way": both(used, nic(func(n *machine.NIC) { n.MAC = "00-50-56-AA-00-01" })),
		"used, others not seen":  both(used, notKnown(targets.FactMACs)["may not be looked up"]),
	}, silent: situations{
		"free":               asItIs,
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
