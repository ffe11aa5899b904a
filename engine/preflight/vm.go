package preflight

import (
	"fmt"
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
	{"vm.affinity", Warning, "Pinning to processors, memory nodes or hosts is not carried over.", "Recreate it with KubeVirt's own means where it matters.",
		func(f Facts) []hit { return one(len(f.VM.Pinned) > 0, "vm", strings.Join(f.VM.Pinned, ", ")) }},
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
	{"vm.snapshot", Decide, "Only the current state is moved; the snapshots stay behind.", "Remove the snapshots, or accept.",
		func(f Facts) []hit {
			if len(f.VM.SnapshotNames) > 0 {
				return one(true, "vm", fmt.Sprintf("%d snapshots: %s", len(f.VM.SnapshotNames), strings.Join(f.VM.SnapshotNames, ", ")))
			}
			return one(f.VM.Snapshots, "vm", "has snapshots")
		}},
	{"vm.consolidation", Decide, "Left-over delta files may hold the VM's newest data.", "Consolidate the disks on the source.",
		func(f Facts) []hit { return one(f.VM.Consolidate, "vm", "consolidation is needed") }},
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
