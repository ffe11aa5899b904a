package preflight

import (
	"fmt"
	"slices"
	"strings"

	"landfall/engine/machine"
	"landfall/engine/spec"
)

var vmRules = []Rule{
	{"vm.name.missing", Blocker, "Without a name and a stable id the VM cannot be told from another.", "Refresh the inventory; re-register the VM on its host.",
		func(f Facts) []hit {
			return one(f.VM.Name == "" || f.VM.Ref.Zero(), "vm", fmt.Sprintf("name %q, id %q", f.VM.Name, f.VM.Ref))
		}},
	{"vm.template", Blocker, "A template cannot be powered and is not a running service.", "Convert it to a VM, or deploy a VM from it.",
		func(f Facts) []hit { return one(f.VM.Template, "vm", "is a template") }},
	{"vm.connection", Blocker, "A VM that its host cannot reach cannot be read.", "Bring the host or datastore back, or re-register the VM.",
		func(f Facts) []hit {
			if f.VM.Connection == "" {
				return cannot("vm", "the connection state is not known")
			}
			return one(f.VM.Connection != "connected", "vm", "connection state "+f.VM.Connection)
		}},
	{"vm.question", Blocker, "The VM waits for an answer and will not change its power state.", "Answer the question in the host's own console.",
		func(f Facts) []hit { return one(f.VM.Question != "", "vm", "waits on: "+f.VM.Question) }},
	{"vm.suspended", Decide, "A suspended VM's disks are not consistent without its memory.", "Resume it and shut it down; or accept that its memory is lost.",
		byPower(func(f Facts) []hit { return one(f.VM.Power == machine.Suspended, "vm", "is suspended") })},
	{"vm.tools.missing", Decide, "Without running tools the guest cannot be asked to shut down: only a hard power-off remains.", "Start VMware Tools or open-vm-tools in the guest, or shut it down by hand.",
		whenOn(func(f Facts) []hit {
			switch tools := f.VM.Tools; {
			case f.Spec.Source.PowerOffPolicy == spec.Never || tools == machine.ToolsRunning:
				return nil
			case tools == machine.ToolsUnknown || tools == "":
				return cannot("vm", "the state of the tools is not known")
			default:
				return one(true, "vm", "powered on, tools "+string(tools))
			}
		})},
	{"vm.power.policy", Blocker, "The spec forbids every power-off and the disks can only be read when the VM is off.", "Shut the VM down, or choose another powerOffPolicy.",
		func(f Facts) []hit {
			if f.Spec.Source.PowerOffPolicy != spec.Never {
				return nil
			}
			return byPower(func(f Facts) []hit {
				return one(f.VM.Power != machine.Off, "vm", "power "+string(f.VM.Power)+", powerOffPolicy Never")
			})(f)
		}},
	{"vm.hostname.empty", Warning, "Nothing names the guest from inside; checks by name will not work.", "Set a host name in the guest, and start its tools.",
		whenOn(func(f Facts) []hit { return one(f.VM.HostName == "", "vm", "no guest host name known") })},
	{"vm.hostname.default", Warning, "The guest was never given a name of its own; checks by name will not work.", "Set a host name in the guest.",
		func(f Facts) []hit {
			first, _, _ := strings.Cut(strings.ToLower(f.VM.HostName), ".")
			return one(first == "localhost", "vm", fmt.Sprintf("guest host name %q", f.VM.HostName))
		}},
	{"vm.ip.missing", Warning, "The guest's addresses are not known, so what is lost cannot be listed.", "Start the tools in the guest.",
		whenOn(func(f Facts) []hit { return one(len(f.VM.Addresses) == 0, "vm", "no guest addresses known") })},
	{"vm.guest.unsupported", Warning, "The guest is none that a conversion prepares (RHEL 7 to 10 and kin, Debian, Ubuntu, SUSE, Windows 10 and 11, Server 2016 to 2025): its drivers, boot loader and network are left as they are.", "Prepare the guest for virtio, or try it with a copy of the VM first.",
		func(f Facts) []hit {
			if f.VM.GuestID == "" {
				return cannot("vm", "the source does not say which guest it is")
			}
			return one(!convertible(f.VM.GuestID), "vm", strings.TrimSpace("guest "+f.VM.GuestID+" "+f.VM.Guest))
		}},
	{"vm.cpu.affinity", Warning, "Pinning to processors is not carried over.", "Ask for dedicated CPUs in KubeVirt where it matters.",
		pinned("cpu")},
	{"vm.numa.affinity", Warning, "Pinning to memory nodes is not carried over.", "Ask for NUMA passthrough in KubeVirt where it matters.",
		pinned("numa", "memory")},
	{"vm.host.affinity", Warning, "Rules that keep the VM on a host, or away from other VMs, are not carried over.", "Recreate them with node selectors or affinities where they matter.",
		pinned("host")},
	{"vm.hotplug", Info, "Hot-add of CPU or memory is not carried over.", "",
		func(f Facts) []hit { return one(f.VM.HotAdd, "vm", "hot-add is on") }},
	{"vm.cpu.topology", Warning, "The processors cannot be laid out as they were; some licences count sockets.", "Change cores per socket on the source.",
		func(f Facts) []hit {
			c := f.VM.CoresPerSocket
			return one(c > 0 && f.VM.CPUs%c != 0, "vm", fmt.Sprintf("%d vCPU at %d cores per socket: rendered as %d sockets of one core", f.VM.CPUs, c, f.VM.CPUs))
		}},
	{"vm.ft", Blocker, "A fault-tolerant VM has a shadow that writes with it.", "Turn fault tolerance off.",
		func(f Facts) []hit { return one(f.VM.FaultTolerance, "vm", "fault tolerance is on") }},
	{"vm.encrypted", Blocker, "Its disks can only be read with its key.", "Decrypt the VM.",
		func(f Facts) []hit { return one(f.VM.Encrypted, "vm", "is encrypted") }},
	{"vm.tpm", Decide, "The contents of a vTPM are not moved; BitLocker would ask for its recovery key.", "Suspend BitLocker and keep its key at hand; then accept.",
		func(f Facts) []hit { return one(f.VM.TPM, "vm", "has a virtual TPM") }},
	{"vm.firmware.secureboot", Info, "Rendered as EFI with secure boot and SMM.", "",
		func(f Facts) []hit { return one(f.VM.SecureBoot, "vm", "EFI with secure boot") }},
	{"vm.nested", Info, "Nested virtualisation depends on the node and is not asked for.", "",
		func(f Facts) []hit { return one(f.VM.NestedHV, "vm", "exposes hardware virtualisation") }},
	{"vm.snapshot", Decide, "Only the current state is moved; the snapshots stay behind. A warm migration needs the VM without any: a blocker then.", "Remove the snapshots, or accept; or migrate it cold.",
		func(f Facts) []hit {
			h := hit{subject: "vm", found: "has snapshots"}
			if n := len(f.VM.SnapshotNames); n > 0 {
				h.found = fmt.Sprintf("%d snapshots: %s", n, strings.Join(f.VM.SnapshotNames, ", "))
			} else if !f.VM.Snapshots {
				return nil
			}
			if f.warm() {
				h.level = Blocker
			}
			return []hit{h}
		}},
	{"vm.consolidation", Decide, "Left-over delta files may hold the VM's newest data.", "Consolidate the disks on the source.",
		func(f Facts) []hit {
			if !f.VM.Consolidate {
				return nil
			}
			return []hit{{subject: "vm", found: "consolidation is needed", remedy: consolidation()}}
		}},
	{"vm.autostart", Warning, "The host starts the VM by itself, after a restart of the host or at once: then both run.", "Take it out of the host's automatic start.",
		func(f Facts) []hit { return one(f.VM.Autostart, "vm", "is started with its host") }},
	{"vm.duplicate.uuid", Warning, "Another VM of the source has the same BIOS UUID: tools that know a VM by it take one for the other. Here it is known by its id and its instance UUID.", "Give one of the two a new UUID, where anything else relies on it.",
		func(f Facts) []hit {
			if f.VM.BIOSUUID == "" {
				return nil
			}
			var same []string
			for _, o := range f.Neighbours {
				if strings.EqualFold(o.BIOSUUID, f.VM.BIOSUUID) && !sameVM(o, f.VM) {
					same = append(same, fmt.Sprintf("%q (%s)", o.Name, o.Ref))
				}
			}
			return one(len(same) > 0, "vm", "BIOS UUID "+f.VM.BIOSUUID+" is also that of "+strings.Join(same, ", "))
		}},
	{"vm.migrating.elsewhere", Blocker, "A VM is moved by one migration at a time.", "Wait for the other one, or cancel it.",
		func(f Facts) []hit {
			for _, o := range f.Beside {
				if !sameVM(o.VM, f.VM) || spec.Spelt(o.Spec.Source.Address) != spec.Spelt(f.Spec.Source.Address) {
					continue
				}
				if o.Migration == "" {
					return one(true, "vm", "is in this plan twice")
				}
				return one(true, "vm", "migration "+o.Migration+" moves it")
			}
			return nil
		}},
	{"vm.agent.vcls", Blocker, "The cluster's own agent VM belongs to vCenter.", "Leave it.",
		func(f Facts) []hit { return one(f.VM.Agent, "vm", "is a vCLS agent VM") }},
}

// byPower runs a rule that depends on the power state, which may not be known.
func byPower(check func(Facts) []hit) func(Facts) []hit {
	return func(f Facts) []hit {
		switch f.VM.Power {
		case machine.On, machine.Off, machine.Suspended:
			return check(f)
		}
		return cannot("vm", "the power state is not known")
	}
}

// whenOn runs a rule on a VM that is powered on.
func whenOn(check func(Facts) []hit) func(Facts) []hit {
	return byPower(func(f Facts) []hit {
		if f.VM.Power != machine.On {
			return nil
		}
		return check(f)
	})
}

func consolidation() *Remedy {
	return &Remedy{ID: Consolidate, Label: "Consolidate", Outside: true,
		Effect: "the source merges the left-over delta files into the disks; it may take long, and a running VM may stand still for a moment"}
}

// pinned finds the affinities of the kinds.
func pinned(kinds ...string) func(Facts) []hit {
	return func(f Facts) []hit {
		var found []string
		for _, p := range f.VM.Pinned {
			if kind, _, _ := strings.Cut(p, " "); slices.Contains(kinds, kind) {
				found = append(found, p)
			}
		}
		return one(len(found) > 0, "vm", strings.Join(found, ", "))
	}
}

func (f Facts) warm() bool { return f.Spec.Strategy.Type == "Warm" }

// sameVM tells whether both are one VM of one source. What has no identity yet is known by its name.
func sameVM(a, b machine.VM) bool {
	switch {
	case a.Ref.InstanceUUID != "" && b.Ref.InstanceUUID != "":
		return strings.EqualFold(a.Ref.InstanceUUID, b.Ref.InstanceUUID)
	case a.Ref.MoRef != "" && b.Ref.MoRef != "":
		return a.Ref.MoRef == b.Ref.MoRef
	}
	return a.Name != "" && a.Name == b.Name
}
