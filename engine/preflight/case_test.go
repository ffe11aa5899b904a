package preflight_test

import (
	"maps"
	"slices"
	"testing"

	"landfall/engine/machine"
	"landfall/engine/preflight"
	"landfall/engine/spec"
	"landfall/targets"
)

// situations change the facts of a good VM, each by its name.
type situations map[string]func(*preflight.Facts)

// ruleCases are what a rule was tried with.
type ruleCases struct {
	rule    string
	fires   situations
	silent  situations
	unknown situations                 // where it could not be checked
	levels  map[string]preflight.Level // of those that fire, where it is not the rule's own
}

// each evaluates the good VM as it is in each situation, and gives the rule's findings.
func (c ruleCases) each(t *testing.T, what string, s situations, judge func(t *testing.T, name string, hits []preflight.Finding)) {
	t.Helper()
	for _, name := range slices.Sorted(maps.Keys(s)) {
		t.Run(what+"/"+name, func(t *testing.T) {
			f := good()
			s[name](&f)
			all := preflight.Evaluate(f)
			judge(t, name, slices.DeleteFunc(all, func(h preflight.Finding) bool { return h.Rule != c.rule }))
		})
	}
}

func vm(change func(*machine.VM)) func(*preflight.Facts) {
	return func(f *preflight.Facts) { change(&f.VM) }
}

func disk(change func(*machine.Disk)) func(*preflight.Facts) {
	return func(f *preflight.Facts) { change(&f.VM.DiskList[0]) }
}

func nic(change func(*machine.NIC)) func(*preflight.Facts) {
	return func(f *preflight.Facts) { change(&f.VM.NICs[0]) }
}

func target(change func(*targets.Facts)) func(*preflight.Facts) {
	return func(f *preflight.Facts) { change(f.Target) }
}

// notKnown has a fact that the cluster did not give.
func notKnown(fact string) situations {
	return situations{"may not be looked up": target(func(f *targets.Facts) { f.Unknown[fact] = "forbidden" })}
}

// device is a device of a kind that stays behind.
func device(kind string) func(*preflight.Facts) {
	return vm(func(v *machine.VM) { v.Devices = []machine.Device{{Kind: kind, Label: "a device"}} })
}

func multus(name string, there map[string]bool) func(*preflight.Facts) {
	return func(f *preflight.Facts) {
		f.Spec.Network.Mappings[0].Type, f.Spec.Network.Mappings[0].Name = "Multus", name
		f.Target.Networks = there
	}
}

// second adds a card on a network of its own.
func second(n machine.NIC, m spec.NetworkMapping) func(*preflight.Facts) {
	return func(f *preflight.Facts) {
		f.VM.NICs = append(f.VM.NICs, n)
		f.Spec.Network.Mappings = append(f.Spec.Network.Mappings, m)
	}
}

func both(a, b func(*preflight.Facts)) func(*preflight.Facts) {
	return func(f *preflight.Facts) { a(f); b(f) }
}

var (
	asItIs       = func(*preflight.Facts) {}
	poweredOff   = vm(func(v *machine.VM) { v.Power = machine.Off })
	suspended    = vm(func(v *machine.VM) { v.Power = machine.Suspended })
	powerUnknown = situations{
		"power unknown":      vm(func(v *machine.VM) { v.Power = machine.PowerUnknown; v.HostName, v.Addresses = "", nil }),
		"power not given":    vm(func(v *machine.VM) { v.Power = ""; v.HostName, v.Addresses = "", nil }),
		"power never heard":  vm(func(v *machine.VM) { v.Power = "resetting" }),
		"policy forbids off": func(f *preflight.Facts) { f.VM.Power, f.Spec.Source.PowerOffPolicy = "", spec.Never },
	}
)

// cases has a row for every rule.
var cases = slices.Concat(vmCases, diskCases, nicCases, deviceCases, clusterCases)

var deviceCases = []ruleCases{
	{rule: "device.pci", fires: situations{"passed through": device("pci")}, silent: situations{"none": asItIs, "another": device("usb")}},
	{rule: "device.usb", fires: situations{"stick": device("usb")}, silent: situations{"none": asItIs, "another": device("pci")}},
	{rule: "device.serial", fires: situations{"port": device("serial")}, silent: situations{"none": asItIs, "another": device("parallel")}},
	{rule: "device.parallel", fires: situations{"port": device("parallel")}, silent: situations{"none": asItIs, "another": device("serial")}},
	{rule: "device.sound", fires: situations{"card": device("sound")}, silent: situations{"none": asItIs, "another": device("usb")}},
	{rule: "device.floppy", fires: situations{"drive": device("floppy")}, silent: situations{"none": asItIs, "another": device("cdrom")}},
	{rule: "device.cdrom.iso", fires: situations{"drive": device("cdrom")}, silent: situations{"none": asItIs, "another": device("floppy")}},
	{rule: "device.other", fires: situations{"memory": device("nvdimm"), "no kind": device("")}, silent: situations{"none": asItIs, "one with a rule": device("pci")}},
}

var clusterCases = []ruleCases{
	{rule: "source.license",
		fires: situations{
			"free, off": both(poweredOff, func(f *preflight.Facts) { f.Source.ReadOnly = "free licence" }),
			"free, on":  func(f *preflight.Facts) { f.Source.ReadOnly = "free licence" },
		},
		levels:  map[string]preflight.Level{"free, on": preflight.Blocker},
		silent:  situations{"full licence": asItIs},
		unknown: situations{"not looked at": func(f *preflight.Facts) { f.Source = nil }}},
	{rule: "target.reach",
		fires:   situations{"refused": func(f *preflight.Facts) { f.Target, f.TargetFailure = nil, "no such context" }},
		silent:  situations{"there": asItIs},
		unknown: situations{"not looked at": func(f *preflight.Facts) { f.Target = nil }}},
	{rule: "target.access", fires: situations{"verb missing": target(func(f *targets.Facts) { f.Denied = []string{"create datavolumes.cdi.kubevirt.io"} })},
		silent: situations{"all allowed": asItIs}, unknown: notKnown(targets.FactAccess)},
	{rule: "target.kubevirt", fires: situations{
		"deploying":     target(func(f *targets.Facts) { f.KubeVirtReady, f.KubeVirt.Wrong = false, []string{"Deploying"} }),
		"not installed": target(func(f *targets.Facts) { f.KubeVirtReady = false }),
		"too old": target(func(f *targets.Facts) {
			f.KubeVirt = targets.Component{Version: "v0.40.0", Old: true, Minimum: "v0.59.0", MinimumWhy: "the API v1"}
		}),
	},
		silent: situations{"ready": asItIs}, unknown: notKnown(targets.FactKubeVirt)},
	{rule: "target.cdi", fires: situations{"missing": target(func(f *targets.Facts) { f.CDIReady = false }), "too old": target(func(f *targets.Facts) {
		f.CDI = targets.Component{Version: "v1.30.0", Old: true, Minimum: "v1.50.0", MinimumWhy: "uploads"}
	})},
		silent: situations{"ready": asItIs}, unknown: notKnown(targets.FactCDI)},
	{rule: "target.namespace", fires: situations{"missing": target(func(f *targets.Facts) { f.NamespaceExists = false }), "going": target(func(f *targets.Facts) { f.NamespaceTerminating = true })},
		silent: situations{"there": asItIs}, unknown: notKnown(targets.FactNamespace)},
	{rule: "target.name.taken", fires: situations{"another's": target(func(f *targets.Facts) { f.NameTaken = "virtualmachine web" })},
		silent: situations{"free": asItIs}, unknown: notKnown(targets.FactName)},
	{rule: "target.name.changed", fires: situations{"upper case": func(f *preflight.Facts) { f.VM.Name = "WEB" }},
		silent: situations{"the same": asItIs, "not rendered": func(f *preflight.Facts) { f.Name = "" }}},
	{rule: "target.kvm", fires: situations{"no node": target(func(f *targets.Facts) { f.KVMNodes = 0 })},
		silent: situations{"one node": asItIs, "emulated": target(func(f *targets.Facts) { f.KVMNodes, f.Emulation = 0, true })}, unknown: notKnown(targets.FactKVM)},
	{rule: "target.preference", fires: situations{
		"chosen":                prefers("windows.2k19", 2, 1<<30),
		"not there":             func(f *preflight.Facts) { f.Spec.Destination.Preference = "nosuch" },
		"asks too much":         prefers("windows.2k19", 8, 1<<30),
		"instance type":         typed(4),
		"the guest's":           both(prefers("windows.2k19", 2, 1<<30), func(f *preflight.Facts) { f.Spec.Destination.Preference = "auto" }),
		"the guest's too large": both(prefers("windows.2k19", 8, 1<<30), func(f *preflight.Facts) { f.Spec.Destination.Preference = "" }),
		"no instance type":      func(f *preflight.Facts) { f.Spec.Destination.Instancetype = "nosuch" },
		"type is too little":    both(prefers("windows.2k19", 2, 1<<30), typed(1)),
	}, levels: map[string]preflight.Level{"not there": preflight.Blocker, "asks too much": preflight.Blocker, "no instance type": preflight.Blocker, "type is too little": preflight.Blocker},
		silent: situations{"none asked for": asItIs, "none wanted": both(prefers("windows.2k19", 2, 1<<30), func(f *preflight.Facts) { f.Spec.Destination.Preference = "none" })},
		unknown: situations{
			"preferences":    both(prefers("windows.2k19", 2, 1<<30), notKnown(targets.FactPreferences)["may not be looked up"]),
			"instance types": both(typed(4), notKnown(targets.FactInstancetypes)["may not be looked up"]),
		}},
	{rule: "target.psa", fires: situations{"restricted": target(func(f *targets.Facts) { f.PodSecurity = "restricted" })},
		silent: situations{"no label": asItIs, "baseline": target(func(f *targets.Facts) { f.PodSecurity = "baseline" })}, unknown: notKnown(targets.FactNamespace)},
	{rule: "target.name.collision",
		fires: situations{"another VM of the plan": besides(nil), "under way": besides(func(p *preflight.Planned) { p.Migration = "0a1b" })},
		silent: situations{"alone": asItIs,
			"another name":      besides(func(p *preflight.Planned) { p.Name = "web-2" }),
			"another namespace": besides(func(p *preflight.Planned) { p.Spec.Destination.Namespace = "others" }),
			"another cluster":   besides(func(p *preflight.Planned) { p.Spec.Destination.Context = "other" }),
		}},
	{rule: "storage.unmapped", fires: situations{"another datastore": disk(func(d *machine.Disk) { d.Datastore = "ds2" })},
		silent: situations{"mapped": asItIs, "mapped by the row for all": func(f *preflight.Facts) {
			f.VM.DiskList[0].Datastore, f.Spec.Storage.Mappings[0].Datastore = "ds2", "*"
		}}},
	{rule: "storage.class.missing", fires: situations{"no such class": func(f *preflight.Facts) { f.Spec.Storage.Mappings[0].StorageClass = "slow" }},
		silent: situations{"there": asItIs, "missing and not used": func(f *preflight.Facts) {
			f.Spec.Storage.Mappings = append(f.Spec.Storage.Mappings, spec.StorageMapping{Datastore: "ds2", StorageClass: "slow"})
		}}, unknown: notKnown(targets.FactClasses)},
	{rule: "storage.capacity",
		fires: situations{
			"disk too large":          room("", 0, 10<<30-1, none),
			"overhead too large":      room("Filesystem", 0.06, 10<<30+1<<29, none),
			"quota too small":         room("Block", 0, 1<<40, 10<<30-1),
			"quota without scratch":   both(room("Block", 0, 1<<40, 20<<30-1), func(f *preflight.Facts) { f.Spec.Strategy.Delivery = spec.DeliverHTTP }),
			"quota for two":           both(room("Block", 0, 1<<40, 20<<30-1), vm(func(v *machine.VM) { v.DiskList = append(v.DiskList, v.DiskList[0]) })),
			"left altogether":         both(room("Block", 0, 1<<40, none), class(func(c *targets.StorageClass) { n := int64(10<<30 - 1); c.Free = &n })),
			"quota of the class":      left("fast.storageclass.storage.k8s.io/requests.storage", 10<<30-1),
			"quota of claims":         left("persistentvolumeclaims", 0),
			"limit of one claim":      limited(targets.Limit{Type: "PersistentVolumeClaim", Resource: "storage", Max: bytes(10<<30 - 1)}),
			"least of one claim":      limited(targets.Limit{Type: "PersistentVolumeClaim", Resource: "storage", Min: bytes(11 << 30)}),
			"claims without scratch":  both(left("persistentvolumeclaims", 1), func(f *preflight.Facts) { f.Spec.Strategy.Delivery = spec.DeliverHTTP }),
			"scratch class too small": both(scratchIn("small", 1<<30), func(f *preflight.Facts) { f.Spec.Strategy.Delivery = spec.DeliverHTTP }),
		},
		silent: situations{
			"quota of another class":  left("slow.storageclass.storage.k8s.io/requests.storage", 0),
			"limit of pods":           limited(targets.Limit{Type: "Pod", Resource: "memory", Max: bytes(1)}),
			"scratch class, uploads":  scratchIn("small", 1<<30),
			"just fits":               room("Block", 0.06, 10<<30, 10<<30),
			"just fits with overhead": room("Filesystem", 0.06, 11<<30, 11<<30),
			"with scratch":            both(room("Block", 0, 10<<30, 20<<30), func(f *preflight.Facts) { f.Spec.Strategy.Conversion = spec.ConvertQemuImg }),
			"two in turn":             both(room("Block", 0, 10<<30, 20<<30), vm(func(v *machine.VM) { v.DiskList = append(v.DiskList, v.DiskList[0]) })),
		},
		unknown: situations{
			"the driver does not say": target(func(f *targets.Facts) { f.Classes["fast"] = targets.StorageClass{VolumeMode: "Block"} }),
			"limits":                  notKnown(targets.FactLimits)["may not be looked up"],
			"classes":                 notKnown(targets.FactClasses)["may not be looked up"],
			"capacity":                notKnown(targets.FactCapacity)["may not be looked up"],
			"quota":                   notKnown(targets.FactQuota)["may not be looked up"],
		}},
	{rule: "storage.wffc", fires: situations{"waits": target(func(f *targets.Facts) {
		f.Classes["fast"] = targets.StorageClass{WaitForFirstConsumer: true}
	})}, silent: situations{"at once": asItIs}, unknown: notKnown(targets.FactClasses)},
	{rule: "storage.overhead", fires: situations{"file system": room("Filesystem", 0.06, 1<<40, none)},
		silent: situations{"block": room("Block", 0.06, 1<<40, none), "none": room("Filesystem", 0, 1<<40, none)}, unknown: notKnown(targets.FactOverhead)},
	{rule: "host.space", fires: situations{"too little": func(f *preflight.Facts) { f.Host.Free = f.Host.Needed - 1 },
		"a file too large": func(f *preflight.Facts) { f.Host.Largest, f.Host.FileLimit = 10<<30, 4<<30-1 }},
		silent: situations{"just enough": func(f *preflight.Facts) { f.Host.Free = f.Host.Needed },
			"a file just small enough": func(f *preflight.Facts) { f.Host.Largest, f.Host.FileLimit = 4<<30-1, 4<<30-1 }},
		unknown: situations{
			"not looked at":  func(f *preflight.Facts) { f.Host = nil },
			"may not be had": func(f *preflight.Facts) { f.Host.Free = -1 },
		}},
	{rule: "tool.qemuimg", fires: situations{"missing": converts(spec.ConvertQemuImg, nil), "too old": converts(spec.ConvertQemuImg, func(h *preflight.Host) {
		h.QemuImg, h.QemuOld = "2.0", "4.0"
	}), "does not run": converts(spec.ConvertQemuImg, func(h *preflight.Host) { h.QemuImg, h.QemuError = "7.2", "killed" })},
		silent:  situations{"not asked for": asItIs, "there": converts(spec.ConvertQemuImg, func(h *preflight.Host) { h.QemuImg = "7.2.22" })},
		unknown: situations{"not looked at": converts(spec.ConvertQemuImg, func(h *preflight.Host) { *h = preflight.Host{Free: -2} })}},
	{rule: "tool.virtv2v", fires: situations{"missing": converts(spec.ConvertVirtV2V, nil), "too old": converts(spec.ConvertVirtV2V, func(h *preflight.Host) {
		h.VirtV2V, h.VirtV2VOld = "1.42", "2.0"
	})},
		silent:  situations{"not asked for": asItIs, "there": converts(spec.ConvertVirtV2V, func(h *preflight.Host) { h.VirtV2V = "2.2.0" })},
		unknown: situations{"not looked at": converts(spec.ConvertVirtV2V, func(h *preflight.Host) { *h = preflight.Host{Free: -2} })}},
}

const none = -1

func bytes(n int64) *int64 { return &n }

// converts has a conversion and this machine for it; one with a free space of -2 is not there.
func converts(c spec.Conversion, change func(*preflight.Host)) func(*preflight.Facts) {
	return func(f *preflight.Facts) {
		f.Spec.Strategy.Conversion = c
		if change != nil {
			change(f.Host)
		}
		if f.Host.Free == -2 {
			f.Host = nil
		}
	}
}

func class(change func(*targets.StorageClass)) func(*preflight.Facts) {
	return target(func(f *targets.Facts) {
		c := f.Classes["fast"]
		change(&c)
		f.Classes["fast"] = c
	})
}

func left(quota string, n int64) func(*preflight.Facts) {
	return target(func(f *targets.Facts) { f.QuotaLeft = map[string]int64{quota: n} })
}

func limited(l targets.Limit) func(*preflight.Facts) {
	return target(func(f *targets.Facts) { f.Limits = []targets.Limit{l} })
}

// scratchIn has CDI make scratch volumes in another class.
func scratchIn(name string, n int64) func(*preflight.Facts) {
	return target(func(f *targets.Facts) {
		f.ScratchClass = name
		f.Classes[name] = targets.StorageClass{Capacity: &n}
	})
}

func prefers(name string, cpus uint32, memory int64) func(*preflight.Facts) {
	return func(f *preflight.Facts) {
		f.Spec.Destination.Preference = name
		f.Target.Preferences = map[string]targets.Preference{name: {CPUs: cpus, Memory: memory}}
	}
}

func typed(cpus uint32) func(*preflight.Facts) {
	return func(f *preflight.Facts) {
		f.Spec.Destination.Instancetype = "u1.large"
		f.Target.Instancetypes = map[string]targets.Instancetype{"u1.large": {CPUs: cpus, Memory: 8 << 30}}
	}
}

// besides has another VM in the plan that goes to the same place.
func besides(change func(*preflight.Planned)) func(*preflight.Facts) {
	return func(f *preflight.Facts) {
		p := preflight.Planned{Name: f.Name, Spec: f.Spec, VM: machine.VM{Summary: machine.Summary{Name: "WEB", Ref: machine.Ref{MoRef: "vm-2"}}}}
		if change != nil {
			change(&p)
		}
		f.Beside = append(f.Beside, p)
	}
}

// room has a class with an overhead and room for volumes of a size, and a quota.
func room(mode string, overhead float64, largest, quota int64) func(*preflight.Facts) {
	return target(func(f *targets.Facts) {
		f.Classes["fast"] = targets.StorageClass{VolumeMode: mode, Overhead: overhead, Capacity: &largest}
		if quota != none {
			f.QuotaStorage, f.Quota = &quota, []string{"requests.storage"}
		}
	})
}
